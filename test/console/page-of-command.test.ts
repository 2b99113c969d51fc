import { expect, test } from "vitest";
import { html } from "../../src/console/html.ts";
import { pageOf, withCommands } from "../../src/console/page-of-command.ts";

test("a page names its own buttons in a hint, and a command where it has none", () => {
  const shown = html`${withCommands("Then `cryobridge reload`, `cryobridge orders retry ID` or `cryobridge check`.")}`;
  expect(shown.text).toBe(
    'Then “<a href="/workers">Reload the configuration</a>”, “Try now” or <code>cryobridge check</code>.',
  );
});

test("a page names a button whichever words and options stand around its command, and another record's command as one", () => {
  const both = "Find it, then `cryobridge orders resolve ID --request-id|--procedure-id N`.";
  expect(html`${withCommands(both)}`.text).toBe("Find it, then “Link it to what you found at the service”.");
  const turned = "Or so: `cryobridge orders retry o17 --reason TEXT --not-at-service`";
  expect(html`${withCommands(turned)}`.text).toBe("Or so: “It is not at the service: send it again”");
  const other = "`cryobridge orders cancel ORDER --reason TEXT`";
  expect(html`${withCommands(other)}`.text).toBe("<code>cryobridge orders cancel ORDER --reason TEXT</code>");
});

test("a page names its buttons also where a text has the very record, and those of the queues by their names", () => {
  const shown = html`${withCommands("`cryobridge orders retry o17 --not-at-service --reason TEXT`, `cryobridge queue resume track`")}`;
  expect(shown.text).toBe('“It is not at the service: send it again”, “<a href="/queue">Resume track</a>”');
});

test("a page names a button once where it does what either of two commands does, and breaks a code into lines behind its underscores", () => {
  const either =
    "`cryobridge orders resolve o17 --request-id N` or `cryobridge orders resolve o17 --procedure-id N` (CODE_OF_IT)";
  expect(html`${withCommands(either)}`.text).toBe(
    "“Link it to what you found at the service” (CODE_<wbr>OF_<wbr>IT)",
  );
  const each =
    "`cryobridge orders resolve o17 --request-id 7` or `cryobridge orders resolve o17 --request-id 8`";
  expect(html`${withCommands(each)}`.text).toMatch(/\(7\) or .*\(8\)$/);
});

test("a list that a text names is the menu's page, narrowed as the command is", () => {
  const shown = html`${withCommands("`cryobridge queue list`, `cryobridge orders list --state parked`")}`;
  expect(shown.text).toBe('“<a href="/queue">Queue</a>”, “<a href="/orders?state=parked">Orders</a>”');
  expect(pageOf("cryobridge alerts list")).toEqual({ to: "/alerts", name: "To the alerts" });
  expect(pageOf("cryobridge queue resume submit")).toEqual({ to: "/queue", name: "To the queue" });
  expect(pageOf("cryobridge check")).toBeUndefined();
});
