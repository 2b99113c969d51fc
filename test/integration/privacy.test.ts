import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { type Echo, startEchoFront } from "../support/echo-front.ts";
import { eventually } from "../support/eventually.ts";
import { type LabOrder, labCsv, omlO33 } from "../support/lab-messages.ts";
import { type ChildSite, withChildSite, withPool } from "../support/with-child-site.ts";

/** Strings that stand nowhere else, each the mark of something that must stay where it belongs. */
const LAST = "Qzorblatt";
const FIRST = "Vexindra";
const BIRTH_FORMS = ["19310719", "1931-07-19", "19.07.1931", "07/19/1931", "19310799", "31.02.1931"];
const SUBJECT = "CNRYSUBJ";
const SECRET = "simulator-secret";
const PERSON = [LAST, FIRST, ...BIRTH_FORMS].map((text) => text.toLowerCase());
const PERSON_AND_CODE = [...PERSON, SUBJECT.toLowerCase(), SECRET];

const ECHOES: readonly Echo[] = [
  {
    mark: `${SUBJECT}-JSON`,
    method: "POST",
    path: "/api/procedure-requests",
    status: 422,
    contentType: "application/json",
    body: (sent) =>
      JSON.stringify({ code: "VALIDATION_ERROR", message: `cannot take ${LAST}, ${FIRST}: ${sent}` }),
  },
  {
    mark: `${SUBJECT}-HTML`,
    method: "POST",
    path: "/api/procedure-requests",
    status: 400,
    contentType: "text/html",
    body: (sent) => `<html><body><h1>Bad Request</h1><pre>${FIRST} ${LAST} ${sent}</pre></body></html>`,
  },
  {
    mark: `${SUBJECT}-REGISTER`,
    method: "POST",
    path: "/api/subjects",
    status: 409,
    contentType: "application/json",
    body: (sent) => JSON.stringify({ errors: [{ field: LAST, message: sent }] }),
  },
  {
    mark: `${SUBJECT}-NOID`,
    method: "POST",
    path: "/api/procedure-requests",
    status: 201,
    contentType: "application/json",
    body: (sent) => JSON.stringify({ id: `${FIRST} ${LAST}`, status: [sent], subject: sent }),
  },
  {
    mark: `${SUBJECT}-LIST`,
    method: "GET",
    path: "/api/subjects",
    status: 500,
    contentType: "text/html",
    body: (sent) => `<html>${sent} ${LAST}</html>`,
  },
  {
    mark: `${SUBJECT}-SHAPE`,
    method: "GET",
    path: "/api/subjects",
    status: 200,
    contentType: "application/json",
    body: () =>
      JSON.stringify([
        { id: LAST, code: `${SUBJECT}-SHAPE`, firstName: { was: FIRST }, dateOfBirth: BIRTH_FORMS },
      ]),
  },
];

const person = { firstName: FIRST, lastName: LAST, birth: "19310719" };
const hl7 = (number: string, parts: Partial<LabOrder> = {}) =>
  omlO33({ number, subject: `${SUBJECT}-${number}`, ...person, ...parts });
const csvRow = (number: string, parts: Partial<LabOrder> = {}): LabOrder => ({
  number,
  subject: `${SUBJECT}-${number}`,
  ...person,
  birth: "1931-07-19",
  ...parts,
});

/** Files with orders that go well and orders that fail in every way that could quote them. */
function files(): readonly (readonly [connector: "hl7" | "csv", name: string, content: string | Buffer])[] {
  const good = hl7("GOOD");
  return [
    ["hl7", `${LAST}_${FIRST}.hl7`, good],
    [
      "hl7",
      "refused.hl7",
      hl7("JSON") + hl7("HTML") + hl7("REGISTER") + hl7("NOID") + hl7("LIST") + hl7("SHAPE"),
    ],
    ["hl7", "mismatch.hl7", hl7("MISMATCH")],
    ["hl7", "date.hl7", hl7("DATE", { birth: "19310799" })],
    ["hl7", "no-pid.hl7", good.replace("GOOD", "NOPID").replace(/\rPID/, `\rZID|${LAST}`)],
    ["hl7", "no-msh.hl7", good.slice(good.indexOf("PID"))],
    ["hl7", "bytes.hl7", Buffer.concat([Buffer.from(hl7("BYTES")), Buffer.from([0xff, 0xfe, 0x00, 0xc3])])],
    ["hl7", "operation.hl7", good.replaceAll("GOOD", "OPER").replace("CRYO-STORE", "UNHEARD-OF")],
    ["csv", "day.csv", labCsv([csvRow("CSV"), csvRow("JSON-CSV"), csvRow("HTML-CSV")])],
    [
      "csv",
      "bad.csv",
      labCsv([csvRow("BADDATE", { birth: "31.02.1931" }), csvRow("NOLABEL", { labels: [""] })]),
    ],
    ["csv", "ragged.csv", `${labCsv([csvRow("RAGGED")])}X-1,${LAST},${FIRST},${SUBJECT},1931-07-19\r\n`],
    ["csv", "quote.csv", `${labCsv([csvRow("QUOTE")])}"${LAST},${SUBJECT}\r\n${FIRST}`],
    ["csv", "header.csv", `${LAST},${FIRST},1931-07-19\r\n${SUBJECT},a,b\r\n`],
  ];
}

/** Where a mark was found that has no business there: `place: mark`. */
function hits(places: ReadonlyMap<string, string>, marks: readonly string[]): string[] {
  return [...places].flatMap(([place, text]) => {
    const folded = text.toLowerCase();
    return marks.flatMap((mark) => {
      const at = folded.indexOf(mark);
      return at < 0 ? [] : [`${place}: …${text.slice(Math.max(0, at - 100), at + 60)}…`];
    });
  });
}

async function dumpTables(pool: pg.Pool, schema: string): Promise<string> {
  const { rows } = await pool.query<{ name: string }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = $1",
    [schema],
  );
  const texts: string[] = [];
  for (const { name } of rows) {
    const { rows: found } = await pool.query<{ row: string }>(`select t::text as row from ${name} t`);
    texts.push(name, ...found.map(({ row }) => row));
  }
  return texts.join("\n");
}

async function dumpQuery(pool: pg.Pool, query: string): Promise<string> {
  return JSON.stringify((await pool.query(query)).rows);
}

async function consoleUrl(site: ChildSite): Promise<string> {
  const line = (await readFile(site.logFile, "utf8"))
    .split("\n")
    .find((each) => each.includes('"msg":"console"'));
  return JSON.parse(line ?? "{}").url;
}

async function serverLogs(dataDir: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of await readdir(join(dataDir, "postgres/log"))) {
    found.set(`server log ${name}`, await readFile(join(dataDir, "postgres/log", name), "utf8"));
  }
  return found;
}

/** What the rest of the machine sees of a process. */
async function processTitle(pid: number): Promise<string> {
  return process.platform === "linux" ? await readFile(`/proc/${pid}/cmdline`, "utf8") : "";
}

test("names, birth dates and subject codes stay out of logs, jobs, metrics and error texts", () =>
  withChildSite(
    {
      front: (url) => startEchoFront(url, ECHOES),
      simulator: { staff: { reviewAfterMs: 50 }, device: { startAfterMs: 20, runMs: 50 } },
      config: { log: { level: "trace", pretty: false } },
    },
    async (site) => {
      const known = {
        facilityId: 12,
        code: `${SUBJECT}-MISMATCH`,
        firstName: "Other",
        lastName: "Person",
        dateOfBirth: "1950-01-01",
      };
      site.simulator.control.addSubject(known);
      const daemon = site.start();
      await daemon.running;
      await withPool(site.dataDir, async (pool) => {
        const jobs = new Map<string, string>();
        const watching = new AbortController();
        const watch = (async () => {
          while (!watching.signal.aborted) {
            jobs.set(`jobs, look ${jobs.size}`, await dumpTables(pool, "bullmq"));
            await systemClock.sleep(100, watching.signal).catch(() => undefined);
          }
        })();
        for (const [connector, name, content] of files()) await site.lab.drop(connector, name, content);
        const isOver = async () => {
          const { rows } = await pool.query<{ open: number; ended: number }>(
            `select count(*) filter (where state in ('submitting', 'submitted', 'accepted', 'in_progress'))::integer as open,
                    count(*) filter (where state in ('completed', 'parked'))::integer as ended from orders`,
          );
          const errors = await site.lab.read("csv", "error");
          return rows[0]?.open === 0 && rows[0].ended >= 8 && errors.size >= 6;
        };
        await eventually(isOver, { what: "the end of all orders" });
        watching.abort();
        await watch;

        const url = await consoleUrl(site);
        const read = async (path: string) => await (await fetch(url + path)).text();
        const closed = new Map([
          ["log", await readFile(site.logFile, "utf8")],
          ...jobs,
          ["metrics", await read("/metrics")],
          ["process title", await processTitle(daemon.pid)],
          ...(await serverLogs(site.dataDir)),
          ["orders.failure_text", await dumpQuery(pool, "select failure_code, failure_text from orders")],
          ["order_events.detail", await dumpQuery(pool, "select kind, detail from order_events")],
          [
            "deliveries.failure_text",
            await dumpQuery(pool, "select failure_code, failure_text from deliveries"),
          ],
          ["messages.problems", await dumpQuery(pool, "select place, problems from messages")],
          ["files.problems", await dumpQuery(pool, "select problems from files")],
          ["status", await read("/api/status")],
          ["readiness", await read("/readyz")],
        ]);
        for (const connector of ["hl7", "csv"] as const) {
          for (const [name, text] of await site.lab.read(connector, "error")) {
            if (/\.error\.(txt|json)$/.test(name)) closed.set(`error/${name}`, text);
          }
        }
        expect(jobs.size).toBeGreaterThan(3);
        expect([...closed.values()].every((text) => text.length > 0)).toBe(true);
        expect(hits(closed, PERSON_AND_CODE)).toEqual([]);
      });
    },
  ));
