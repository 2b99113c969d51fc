import type { Thing } from "../operator/thing.ts";
import { MESSAGES } from "../operator/things/messages.ts";
import { ORDERS } from "../operator/things/orders.ts";
import { RESULTS } from "../operator/things/results.ts";
import { TASKS } from "../operator/things/tasks.ts";
import { type Content, html } from "./html.ts";

/** The pages of the console that do what a command does, by its words. */
const PAGES: readonly (readonly [words: string, path: string, name: string])[] = [
  ["orders list", "/orders", "To the orders"],
  ["messages list", "/messages", "To the messages"],
  ["messages waiting", "/messages", "To the messages"],
  ["queue", "/queue", "To the queue"],
  ["tasks", "/tasks", "To the tasks"],
  ["workers", "/workers", "To the workers"],
  ["refills tanks", "/refills", "To the tanks"],
];

/** The page where a person does what a command does, such as `/orders?state=parked`; undefined where there is none. */
export function pageOf(command: string): { readonly to: string; readonly name: string } | undefined {
  const [, shown, id = ""] = /^cryobridge (orders|results) show ([od]\d+)$/.exec(command) ?? [];
  if (shown !== undefined)
    return { to: `/${shown}/${id}`, name: shown === "orders" ? "To the order" : "To the result" };
  const [, ...words] = command.split(" ");
  const at = words.findIndex((word) => word.startsWith("--"));
  const verb = words.slice(0, at === -1 ? undefined : at).join(" ");
  const page = PAGES.find(([known]) => verb === known || verb.startsWith(`${known} `));
  if (page === undefined) return undefined;
  const [, path, name] = page;
  const query = new URLSearchParams();
  for (const [index, word] of words.entries()) {
    const value = words[index + 1];
    if (!word.startsWith("--") || value === undefined) continue;
    const key = word.slice(2);
    if (key === "since") query.set(key, value === "1d" ? "24h" : value);
    else for (const each of value.split(",")) query.append(key, each);
  }
  return { to: query.size === 0 ? path : `${path}?${query}`, name };
}

/** The buttons that stand on the page of a record, or on the list of those that have none, by the command of their act. */
const ACT_BUTTONS = new Map(
  [...buttonsOf(ORDERS), ...buttonsOf(MESSAGES), ...buttonsOf(RESULTS), ...buttonsOf(TASKS)].map(
    ({ words, ...button }) => [words, button],
  ),
);

function buttonsOf<Row, Found extends Row>({ acts, details, path }: Thing<Row, Found>) {
  const to = details === undefined ? path : undefined;
  return Object.values(acts).map(({ command, flag, button: name }) => ({
    words: `${command} ID${flag === undefined ? "" : ` --${flag.name}`}`,
    ...{ name, to },
  }));
}

/** What a person presses here instead of other commands that a text names, and the page that it is on. */
const BUTTONS: Readonly<Record<string, readonly [button: string, path?: string]>> = {
  "orders show ID --show-phi": ["Show the patient's data"],
  "orders release-after-restore": ["Go on without comparing", "/orders"],
  "messages waiting": ["Messages", "/messages"],
  "messages release": ["Release", "/messages"],
  "queue resume submit": ["Resume submit", "/queue"],
  "queue resume track": ["Resume track", "/queue"],
  "queue resume deliver": ["Resume deliver", "/queue"],
  status: ["Overview", "/"],
  "tasks list": ["Tasks", "/tasks"],
  reload: ["Reload the configuration", "/workers"],
};

/**
 * What stands on a page instead of a command, such as `cryobridge orders retry o17`, and the service's number that is typed
 * there; undefined where it is a command here, too.
 */
function buttonOf(
  command: string,
): { readonly name: string; readonly to: string | undefined; readonly number?: string } | undefined {
  const [, number] = / --(?:request|procedure)-id (\d+)$/.exec(command) ?? [];
  const words = command
    .replace(/^cryobridge /, "")
    .replace(/ --(?:request|procedure)-id (?:\d+|N)$/, "")
    .replace(/ --reason TEXT$/, "")
    .replace(/ [a-z][1-9]\d*\b/, " ID");
  const [name, to] = BUTTONS[words] ?? [];
  const button = name === undefined ? ACT_BUTTONS.get(words) : { name, to };
  return button && { ...button, ...(number && { number }) };
}

/** Another option of the command before it, which a button needs not: `(external surface: --procedure-id N)`. */
const OTHER_OPTION = / \((?:external surface: )?`--[^`]*`\)/g;

/** Commands in a text stand between backticks; where a page has a button for one, that is named instead. */
export function withCommands(text: string): Content {
  return text
    .replace(OTHER_OPTION, "")
    .split("`")
    .map((part, index) => {
      if (index % 2 === 0) return part;
      const button = buttonOf(part);
      if (button === undefined) return html`<code>${part}</code>`;
      const { name, to, number } = button;
      const typed = number === undefined ? "" : ` (${number})`;
      return to === undefined ? html`“${name}”${typed}` : html`“<a href="${to}">${name}</a>”${typed}`;
    });
}
