import { expect, test } from "vitest";
import { html } from "../../src/console/html.ts";
import { withCommands } from "../../src/console/page-of-command.ts";

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
