import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { html } from "../../src/console/html.ts";
import { buttonOf, withCommands } from "../../src/console/page-of-command.ts";
import { FAILURES } from "../../src/core/failures.ts";

const PAGES = new URL("../../src/console/", import.meta.url);
const text = [...readdirSync(new URL("pages", PAGES)).map((name) => `pages/${name}`), "layout.ts"]
  .map((name) => readFileSync(new URL(name, PAGES), "utf8"))
  .join("\n");

test("a button that a hint names instead of a command stands on a page", () => {
  const commands = Object.values(FAILURES).flatMap(
    ({ hint }) => hint.match(/(?<=`)cryobridge [^`]*(?=`)/g) ?? [],
  );
  const names = new Set(commands.flatMap((command) => buttonOf(command)?.name ?? []));
  expect(names.size).toBeGreaterThan(5);
  for (const name of names) expect(text).toMatch(new RegExp(`"${name}(…| \\(is recorded\\))?"`));
});

test("a page names its own buttons in a hint, and a command where it has none", () => {
  const shown = html`${withCommands("Then `cryobridge reload`, `cryobridge orders retry ID` or `cryobridge check`.")}`;
  expect(shown.text).toBe(
    'Then “<a href="/workers">Reload the configuration</a>”, “Try now” or <code>cryobridge check</code>.',
  );
});

test("another option of a command is not named where a button stands for both", () => {
  const text =
    "Find it, then `cryobridge orders resolve ID --request-id N` (external surface: `--procedure-id N`).";
  expect(html`${withCommands(text)}`.text).toBe("Find it, then “Link it to what you found at the service”.");
});

test("a page names its buttons also where a text has the very record, and those of the queues by their names", () => {
  const shown = html`${withCommands("`cryobridge orders retry o17 --not-at-service --reason TEXT`, `cryobridge queue resume track`")}`;
  expect(shown.text).toBe('“It is not at the service: send it again”, “<a href="/queue">Resume track</a>”');
});
