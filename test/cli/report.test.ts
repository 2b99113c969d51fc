import { describe, expect, it } from "vitest";
import { csvMessage, type Lab, PATIENT, withLab } from "./with-lab.ts";

/** A lab in which an order came in on a day that lies back, and a message was refused. */
function withDay(test: (lab: Lab) => Promise<void>): Promise<void> {
  return withLab(async (lab) => {
    await lab.take("bench", [
      csvMessage(1),
      csvMessage(2, { operation: "RETRIEVAL" }),
      csvMessage(3, { subject_code: "" }),
    ]);
    await lab.pool.query("update orders set received_at = $1", [new Date(2026, 2, 29, 12)]);
    await lab.pool.query("update messages set received_at = $1", [new Date(2026, 2, 29, 12)]);
    await lab.pool.query("update orders set state = 'cancelled' where operation = 'RETRIEVAL'");
    await test(lab);
  });
}

describe("a report", () => {
  it("says in tables what came in on a day, how it stands, and what was refused why", () =>
    withDay(async ({ cli }) => {
      const { status, stdout, stderr } = await cli(["report", "day", "2026-03-29"]);
      expect([status, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/^Report of 2026-03-29$/m);
      expect(stdout).toMatch(/bench +RETRIEVAL +1 +1$/m);
      expect(stdout).toMatch(/bench +STORE +1 +1$/m);
      expect(stdout).toMatch(/all +2 +1 +1$/m);
      expect(stdout).toMatch(/messages refused +1 +[A-Z_]+ +\w+/);
      for (const value of Object.values(PATIENT)) expect(stdout).not.toContain(value);
    }));

  it("of a month has the same in JSON, with the hours that the clocks take or give", () =>
    withDay(async ({ cli }) => {
      const document = JSON.parse((await cli(["report", "month", "2026-03", "--json"])).stdout);
      expect(document).toMatchObject({
        month: "2026-03",
        from: new Date(2026, 2, 1).toISOString(),
        to: new Date(2026, 3, 1).toISOString(),
        orders: [
          { connector: "bench", operation: "RETRIEVAL", all: 1, cancelled: 1, open: 0 },
          { connector: "bench", operation: "STORE", all: 1, cancelled: 0, open: 1 },
        ],
        stages: [],
        refusals: [{ what: "message", count: 1, meaning: expect.stringMatching(/\w/) }],
      });
    }));

  it("is one CSV text with a part in each row", () =>
    withDay(async ({ cli }) => {
      const { stdout } = await cli(["report", "day", "2026-03-29", "--csv"]);
      const [head, ...rows] = stdout.split("\r\n");
      expect(head).toBe(
        "part,connector,operation,end,stage,what,code,meaning,count,median_ms,p90_ms,p99_ms,max_ms",
      );
      expect(rows[0]).toBe("orders,bench,RETRIEVAL,cancelled,,,,,1,,,,");
      expect(rows.at(-2)).toMatch(/^refusals,,,,,message,[A-Z_]+,.*,1,,,,$/);
    }));

  it("is a page of its own, which asks for nothing else", () =>
    withDay(async ({ cli }) => {
      const { stdout } = await cli(["report", "day", "2026-03-29", "--html"]);
      expect(stdout).toMatch(/^<!doctype html>\n.*<h1>Report of 2026-03-29<\/h1>.*<\/html>\n$/s);
      expect(stdout).not.toMatch(/<script|<link|src=|url\(|class="badge/);
    }));

  it("of a day without messages says so", () =>
    withLab(async ({ cli }) => {
      expect((await cli(["report", "day", "2020-01-01"])).stdout).toMatch(
        /^Orders\n {2}No orders came in\.$/m,
      );
      expect((await cli(["report", "month"])).status).toBe(0);
    }));

  it("is not made of what is no day, or in two forms at once", () =>
    withLab(async ({ cli }) => {
      expect(await cli(["report", "day", "2026-02-30"])).toMatchObject({ status: 2 });
      const both = await cli(["report", "day", "--csv", "--html"]);
      expect([both.status, both.stderr]).toEqual([
        2,
        expect.stringContaining("--csv and --html: choose one"),
      ]);
    }));
});
