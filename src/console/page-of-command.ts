import { commandLine, type HintCommand, parseCommand, partsOf } from "../core/hint.ts";
import { QUEUE_NAMES } from "../jobs/queues.ts";
import type { SiteAct } from "../operator/site-act.ts";
import type { Thing } from "../operator/thing.ts";
import { TEST_PLACES } from "../operator/things/alerts.ts";
import { MESSAGES } from "../operator/things/messages.ts";
import { ORDERS } from "../operator/things/orders.ts";
import { MOVE } from "../operator/things/orphaned.ts";
import { QUEUE_ACTS } from "../operator/things/queues.ts";
import { RELEASE_AFTER_RESTORE } from "../operator/things/restored.ts";
import { RESULTS } from "../operator/things/results.ts";
import { TASKS } from "../operator/things/tasks.ts";
import { RELEASE } from "../operator/things/waiting.ts";
import { RELOAD } from "../operator/things/workers.ts";
import { type Content, type Html, html } from "./html.ts";
import { SECTIONS, type Section, sectionOfCommand } from "./sections.ts";

/** The page where a person does what a command does, such as `/orders?state=parked`; undefined where there is none. */
export function pageOf(command: string): { readonly to: string; readonly name: string } | undefined {
  const parsed = parseCommand(command);
  const [family, verb] = parsed.words;
  const [id] = parsed.operands;
  if (verb === "show" && id !== undefined && (family === "orders" || family === "results"))
    return { to: `/${family}/${id}`, name: family === "orders" ? "To the order" : "To the result" };
  const pressed = buttonOf(parsed);
  if (pressed?.to === undefined) return undefined;
  const section = SECTIONS[pressed.to.split("?")[0] as Section];
  return { to: pressed.to, name: `To the ${section.name.toLowerCase()}` };
}

/** The menu's page with what a command lists. */
function listOf({ words, options }: HintCommand): Pressed | undefined {
  const path = sectionOfCommand(words.join(" "));
  if (path === undefined) return undefined;
  const query = new URLSearchParams();
  for (const [option, value] of options) {
    if (value === undefined) continue;
    const key = option.slice(2);
    if (key === "since") query.set(key, value === "1d" ? "24h" : value);
    else for (const each of value.split(",")) query.append(key, each);
  }
  const { name } = SECTIONS[path];
  return { words: words.join(" "), name, to: query.size === 0 ? path : `${path}?${query}` };
}

/** What of a command says which button does the same: its words, and the option that makes an act of its own of it. */
interface Pressed {
  readonly words: string;
  readonly flag?: string | undefined;
  readonly name: string;
  /** The page that has it, where that is another one. */
  readonly to?: string | undefined;
}

/** The buttons that stand on the page of a record, or on the list of those that have none; first those of an option. */
const ACT_BUTTONS: readonly Pressed[] = [
  ...[...buttonsOf(ORDERS), ...buttonsOf(MESSAGES), ...buttonsOf(RESULTS), ...buttonsOf(TASKS)],
].sort((one, other) => Number(one.flag === undefined) - Number(other.flag === undefined));

function buttonsOf<Row, Found extends Row>({ acts, details, path }: Thing<Row, Found>): Pressed[] {
  const to = details === undefined ? path : undefined;
  return Object.values(acts).map(({ command, flag, button: name }) => ({
    words: command,
    flag: flag && `--${flag.name}`,
    ...{ name, to },
  }));
}

/** What a person presses here instead of other commands that a text names, and the page that it is on. */
const BUTTONS: readonly Pressed[] = [
  { words: "orders show", flag: "--show-phi", name: "Show the patient's data" },
  ...[siteButton(RELEASE_AFTER_RESTORE, "/orders"), siteButton(RELEASE, "/messages")],
  siteButton(MOVE, "/queue", { from: "", to: "" }),
  ...[siteButton(TEST_PLACES, "/alerts"), siteButton(RELOAD, "/workers")],
  ...QUEUE_NAMES.map((queue) => siteButton(QUEUE_ACTS.resume, "/queue", { queue }, queue)),
];

/** The button of an act without a record; `operand` is the word of its command for what it is done to. */
function siteButton<On extends object>(
  { command, button }: Pick<SiteAct<On>, "command" | "button">,
  to: string,
  on = {} as On,
  operand?: string,
): Pressed {
  const name = typeof button === "string" ? button : button(on);
  const words = operand === undefined ? command : `${command} ${operand}`;
  return { words, name: name.replace(/…$/, ""), to };
}

/** What stands on a page instead of a command; undefined where it is a command here, too. */
function buttonOf(command: HintCommand): Pressed | undefined {
  const { words, operands, options } = command;
  const typed = words.join(" ");
  const suits = ({ words: known, flag }: Pressed) =>
    known === typed && (flag === undefined || options.some(([name]) => name === flag));
  const ofRecord = IS_ID.test(operands.join(" ")) ? ACT_BUTTONS.find(suits) : undefined;
  return BUTTONS.find(suits) ?? ofRecord ?? listOf(command);
}

/** The record of the page, known or not yet; ORDER is another one. */
const IS_ID = /^(ID|[a-z][1-9]\d*)$/;

function linkedNumber({ options }: HintCommand): string | undefined {
  return options.find(([name, value]) => name.endsWith("-id") && /^\d+$/.test(value ?? ""))?.[1];
}

/** A text with its commands; where a page has a button for one, that is named instead, once where it does what both of two commands do. */
export function withCommands(text: string): Content {
  const shown = partsOf(text).map(inPlaceOf);
  return shown.flatMap((part, nth) => {
    const isAgain = (at: number) =>
      shown[at - 1] === " or " && shown[at - 2]?.toString() === shown[at]?.toString();
    if (isAgain(nth) || isAgain(nth + 1)) return [];
    return typeof part === "string" ? breakableCodes(part) : part;
  });
}

function inPlaceOf(part: ReturnType<typeof partsOf>[number]): string | Html {
  if (typeof part === "string") return part;
  if ("code" in part) return html`<code>${part.code}</code>`;
  const button = buttonOf(part);
  if (button === undefined) return html`<code>${commandLine(part)}</code>`;
  const { name, to } = button;
  const number = linkedNumber(part);
  const typed = number === undefined ? "" : ` (${number})`;
  return to === undefined ? html`“${name}”${typed}` : html`“<a href="${to}">${name}</a>”${typed}`;
}

/** A code may be broken into lines behind its underscores. */
function breakableCodes(text: string): Content {
  return text.split(/(?<=[A-Z]_)(?=[A-Z])/).map((part, nth) => html`${nth > 0 && html`<wbr>`}${part}`);
}
