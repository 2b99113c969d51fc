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

test("a record that a text names by its id is a link to its page, and its patient's data are a button of that", () => {
  const shown = (text: string) => html`${withCommands(text)}`.text;
  expect(shown("It is m12: `cryobridge messages show m12`.")).toBe(
    'It is m12: “<a href="/messages/m12">To the message</a>”.',
  );
  expect(shown("`cryobridge files show f3`")).toBe('“<a href="/files/f3">To the file</a>”');
  expect(shown("`cryobridge messages show ID --show-phi`")).toBe("“Show the patient&#39;s data”");
  for (const command of ["orders show P-1", "messages show ID", "orders show m12", "profile show m12"])
    expect(shown(`\`cryobridge ${command}\``)).toBe(`<code>cryobridge ${command}</code>`);
  expect(pageOf("cryobridge messages show m12")).toEqual({ to: "/messages/m12", name: "To the message" });
  expect(pageOf("cryobridge results show d4")).toEqual({ to: "/results/d4", name: "To the result" });
});

test("a page names the button of every act that has one, by what its command is done to", () => {
  const shown = (command: string) => html`${withCommands(`\`cryobridge ${command}\``)}`.text;
  expect(shown("queue pause submit")).toBe('“<a href="/queue">Pause submit</a>”');
  expect(shown("workers --drain north")).toBe('“<a href="/workers">Stop north</a>”');
  expect(shown("alerts unsilence s3")).toBe('“<a href="/alerts">End it</a>”');
  expect(shown("queue resume NAME")).toBe("<code>cryobridge queue resume NAME</code>");
});

test("a list that a text names is the menu's page, narrowed as the command is", () => {
  const shown = html`${withCommands("`cryobridge queue list`, `cryobridge orders list --state parked`")}`;
  expect(shown.text).toBe('“<a href="/queue">Queue</a>”, “<a href="/orders?state=parked">Orders</a>”');
  expect(pageOf("cryobridge alerts list")).toEqual({ to: "/alerts", name: "To the alerts" });
  expect(pageOf("cryobridge queue resume submit")).toEqual({ to: "/queue", name: "To the queue" });
  expect(pageOf("cryobridge check")).toBeUndefined();
});
