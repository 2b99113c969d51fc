import { readFile, writeFile } from "node:fs/promises";
import { pino } from "pino";
import { expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import { systemClock } from "../../src/core/clock.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33, ormCancel } from "../support/lab-messages.ts";
import { type PassedCall, type Rewritten, startRewritingFront } from "../support/rewriting-front.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

/** Another patient, of whom the service speaks in all its words. */
const NAME = "Qzorblatt";
const NUMBER = "CNRY-4711";
const WORDS = `label taken by Vexindra ${NAME} (${NUMBER})`;
const CANARIES = /qzorblatt|vexindra|cnry|(?<!\d)4711(?!\d)/i;

const json = (body: unknown, status: number): Rewritten => ({
  status,
  contentType: "application/json",
  body: JSON.stringify(body),
});

/** Refusals in every form that the words can have; by the label of the order's container. */
const REFUSALS: Readonly<Record<string, Rewritten>> = {
  "V-MESSAGE": json({ code: "CONFLICT", message: WORDS }, 409),
  "V-NESTED": json(
    { error: { code: `TAKEN_BY_${NAME.toUpperCase()}`, message: WORDS, details: [WORDS] } },
    422,
  ),
  "V-CODE": json(
    { code: `PATIENT-4711`, error: NAME, errors: [{ code: NAME.toUpperCase(), field: NAME }] },
    400,
  ),
  "V-PROBLEM": json(
    { type: `https://x.example/problems/${NAME}`, title: WORDS, detail: WORDS, [NAME]: WORDS },
    403,
  ),
  "V-TEXT": { status: 400, contentType: "text/plain", body: WORDS },
  "V-HTML": { status: 400, contentType: "text/html", body: `<title>${WORDS}</title><h1>${WORDS}</h1>` },
  "V-TYPE": { status: 409, contentType: `text/${NAME}`, body: JSON.stringify({ message: WORDS }) },
  "V-SHAPE": json({ id: 0.5, status: WORDS, message: WORDS }, 201),
};

/** What of the service's answers the front makes its own. */
function rewrite({ method, url, sent, status, body }: PassedCall): Rewritten | undefined {
  if (method === "POST" && url.startsWith("/api/procedure-requests")) {
    if (url.endsWith("/cancel")) return json({ code: "CONFLICT", message: WORDS }, 409);
    const label = Object.keys(REFUSALS).find((each) => sent.includes(`"${each}"`));
    return label === undefined ? undefined : REFUSALS[label];
  }
  if (method !== "GET" || status !== 200) return undefined;
  const said = body
    .replaceAll(/"acceptedBy":"[^"]*"/g, `"acceptedBy":"${NAME}"`)
    .replaceAll(/"performedBy":"[^"]*"/g, `"performedBy":"${NAME}"`)
    .replaceAll(/"status":"IN_PROGRESS"/g, `"status":"waits for Vexindra ${NAME}, ${NUMBER}"`);
  return { body: said };
}

/** Everything that is open without `--show-phi`, by what it is. */
async function openSurfaces(site: Site, log: string, consoleUrl: string): Promise<Map<string, string>> {
  const cli = async (...words: string[]) => {
    const { stdout, stderr } = await runCli(["--config", site.configFile, ...words]);
    return stdout + stderr;
  };
  const rows = async (query: string) => JSON.stringify((await site.pool.query(query)).rows);
  const shown = (await site.orders()).filter(({ connector }) => connector === "hl7");
  const read = async (path: string) => (await fetch(consoleUrl + path)).text();
  return new Map([
    ["log", log],
    ["status", await read("/api/status")],
    ["metrics", await read("/metrics")],
    ["readiness", await read("/readyz")],
    ["orders list", await cli("orders", "list")],
    ["orders list --json", await cli("orders", "list", "--json")],
    ["tasks", await cli("tasks", "list")],
    ["status command", await cli("status")],
    ["queue", await cli("queue", "list", "--json")],
    ["service requests", await cli("service", "requests", "--facility", "NORTH")],
    ["service requests --json", await cli("service", "requests", "--facility", "NORTH", "--json")],
    ["service procedures", await cli("service", "procedures", "--facility", "NORTH", "--json")],
    ["check", await cli("check")],
    // What was refused in a row of a file is shown as what was refused in a message.
    ...(await Promise.all(
      shown.flatMap(({ id }) => [
        cli("orders", "show", `o${id}`).then((text) => [`orders show o${id}`, text] as const),
        cli("orders", "show", `o${id}`, "--json").then((text) => [`o${id} as JSON`, text] as const),
      ]),
    )),
    ...(await site.results("hl7")),
    ...(await site.results("csv")),
    ["orders", await rows("select failure_text, remote_status, procedure_code from orders")],
    ["order_events", await rows("select detail from order_events")],
    ["outcomes", await rows("select payload from outcomes")],
    ["tasks in the ledger", await rows("select text from tasks")],
    ["order control requests", await rows("select failure_text from control_requests")],
    ["codes of answers", await rows("select error_code, content_type from order_answers")],
  ]);
}

test("what the service says about another patient stays in the kept answers, and is shown to who asks for it", () => {
  const lines: string[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const config = {
    // An order of each format is refused with the same words, by their label.
    guards: { labelOfTwoSubjects: "allow" },
    service: {
      reconcile: { checks: ["50ms", "100ms"], giveUpAfter: "6s" },
      cancel: { method: "POST", path: "/api/procedure-requests/{id}/cancel" },
    },
  };
  const simulator = { staff: { auto: false }, device: { auto: false } } as const;
  return withSite({ logger, simulator, config, queues: "as configured" }, async (site) => {
    const front = await startRewritingFront(site.simulator.url, rewrite);
    try {
      const text = await readFile(site.configFile, "utf8");
      await writeFile(site.configFile, text.replaceAll(site.simulator.url, front.url));
      const daemon = await site.start();
      const running = await openConsole(daemon, { version: "1.2.3", logger, clock: systemClock });
      const labels = Object.keys(REFUSALS);
      const hl7 = labels.map((label) => omlO33({ number: `H-${label}`, labels: [label] })).join("");
      await site.drop("hl7", "a.hl7", hl7);
      await site.drop(
        "csv",
        "b.csv",
        labCsv(labels.map((label) => ({ number: `C-${label}`, labels: [label] }))),
      );
      for (const number of ["FAILS", "GOES", "STAYS"])
        await site.drop("hl7", `${number}.hl7`, omlO33({ number, labels: [`V-${number}`] }));
      const { control } = site.simulator;
      await eventually(async () => control.requests().length === 3 + 2 * labels.length, {
        what: "all requests",
      });
      const requests = control.requests();
      const requestOf = (label: string) =>
        requests.find((each) => JSON.stringify(each).includes(`V-${label}`))?.id ?? 0;
      const begin = (label: string) => {
        const { id } = control.acceptRequest(requestOf(label));
        control.startProcedure(id);
        return id;
      };
      begin("GOES");
      control.failProcedure(begin("FAILS"), WORDS);
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: "STAYS" }));

      const reported = await eventually(
        async () => {
          const orders = await site.orders();
          const texts = [...(await site.results("hl7")).values(), ...(await site.results("csv")).values()];
          const isDone =
            orders.filter(({ state }) => state === "parked").length >= 2 * (labels.length - 1) &&
            orders.some(({ state }) => state === "failed") &&
            orders.some(({ remoteStatus }) => remoteStatus === "(not a word)") &&
            texts.some((each) => each.includes("|UC|")) &&
            texts.some((each) => each.includes("PROCEDURE_FAILED"));
          return isDone && texts;
        },
        { what: "the end of all orders" },
      );
      expect(reported.join()).toContain("the service refused the call, status 409: CONFLICT");

      const open = await openSurfaces(site, lines.join(""), running.url).finally(() => running.close());
      const found = [...open].flatMap(([place, words]) => {
        const at = words.search(CANARIES);
        return at < 0 ? [] : [`${place}: …${words.slice(Math.max(0, at - 80), at + 60)}…`];
      });
      expect(found).toEqual([]);
      expect([...open.values()].filter((words) => words.length < 3)).toEqual([]);

      const shown = await runCli([
        "--config",
        site.configFile,
        "--show-phi",
        "orders",
        "show",
        "H-V-MESSAGE",
      ]);
      expect(shown.stdout).toContain(WORDS);
      const failed = await runCli(["--config", site.configFile, "--show-phi", "orders", "show", "FAILS"]);
      expect(failed.stdout).toContain(WORDS);
      const { rows } = await site.pool.query(
        "select count(*)::integer as n from audit where action = 'show-phi'",
      );
      expect(rows[0].n).toBe(2);
    } finally {
      await front.close();
    }
  });
});
