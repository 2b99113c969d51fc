import { describe, expect, it } from "vitest";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { csvMessage, hl7Message, type Lab, PATIENT, withLab } from "./with-lab.ts";

const TABLES = ["messages", "orders", "outcomes", "deliveries", "files", "result_numbers"];

/** What came through `bench` or `lims` came through connectors of another name, as if these had been renamed since. */
async function rename({ pool }: Lab, from: "bench" | "lims", to: string): Promise<void> {
  for (const table of TABLES)
    await pool.query(`update ${table} set connector = $2 where connector = $1`, [from, to]);
}

/** A result that the lab doesn't have, of the order with this id. */
async function aResult({ pool }: Lab, connector: string, name: string, orderId = 1): Promise<void> {
  await pool.query(
    `with made as (insert into deliveries (connector, file_name, bytes, next_at)
                   values ($1, $2, 'x', now() + interval '1 hour') returning id)
     update outcomes set is_composed = true, delivery_id = made.id from made where order_id = $3 or message_id = $3`,
    [connector, name, orderId],
  );
}

describe("what waits of a connector that is configured no more", () => {
  it("is shown by `queue list` with its old name and the way on, and not taken for the others'", () =>
    withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2)]);
      await lab.take("lims", [hl7Message(1)]);
      await rename(lab, "bench", "old-bench");
      const { stdout } = await lab.cli(["queue"]);
      expect(stdout).toContain("Connectors that are not configured");
      expect(stdout).toMatch(/^ *old-bench +2 +2 +0 +\S/m);
      expect(stdout).toContain("cryobridge queue move --from old-bench --to NAME");
      const { orphaned } = JSON.parse((await lab.cli(["queue", "list", "--json"])).stdout);
      expect(orphaned).toEqual([
        {
          ...{ connector: "old-bench", results: 2, orders: 2, messages: 0 },
          since: expect.any(String),
        },
      ]);
      for (const secret of Object.values(PATIENT)) expect(stdout).not.toContain(secret);
    }));

  it("is a warning of `check`", () =>
    withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      await rename(lab, "bench", "old-bench");
      const { stdout } = await lab.cli(["check"]);
      expect(stdout).toMatch(/connector old-bench.*names no connector old-bench/s);
    }));
});

describe("queue move", () => {
  it("has results, and what the orders lead to later, sent through the other connector", () =>
    withLab(async (lab) => {
      const { pool } = lab;
      await lab.take("bench", [csvMessage(1)]);
      await aResult(lab, "bench", "a.csv.results-1.csv");
      await lab.take("bench", [csvMessage(2)]);
      await rename(lab, "bench", "old");
      await pool.query(
        "insert into control_requests (connector, control, order_id, actor, state) values ('old', 'cancel', 1, 'kim', 'open')",
      );
      const { status, stdout } = await lab.cli(
        ["queue", "move", "--from", "old", "--to", "bench", "--reason", "renamed"],
        { answer: "yes" },
      );
      expect(stdout).toBe(
        "✓ 2 results go out through bench now, and so do later ones of the orders of old\n",
      );
      expect(status).toBe(0);
      const { rows } = await pool.query("select connector, next_at <= now() as is_due from deliveries");
      expect(rows).toEqual([{ connector: "bench", is_due: true }]);
      expect(await listOpenOutcomes(pool, "bench", 10)).toHaveLength(1);
      await changeOrders(pool, [{ orderId: 1, from: ["received"], to: "cancelled", isReported: true }]);
      const asked = await pool.query("select connector from control_requests");
      expect(asked.rows).toEqual([{ connector: "bench" }]);
      const waiting = await pool.query("select distinct connector from outcomes where not is_composed");
      expect(waiting.rows).toEqual([{ connector: "bench" }]);
      const audit = await pool.query("select action, target, detail from audit");
      expect(audit.rows).toEqual([
        { action: "move", target: "connector old", detail: { to: "bench", results: 2, reason: "renamed" } },
      ]);
      expect((await lab.cli(["queue"])).stdout).not.toContain("Connectors that are not configured");
      expect((await lab.cli(["check"])).stdout).not.toContain("connector old");
    }));

  it("asks first, and does nothing without a yes", () =>
    withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      await rename(lab, "bench", "old");
      const argv = ["queue", "move", "--from", "old", "--to", "bench"];
      expect((await lab.cli(argv)).status).toBe(2);
      expect((await lab.cli(argv, { answer: "no" })).status).toBe(1);
      expect((await lab.pool.query("select distinct connector from outcomes")).rows).toEqual([
        { connector: "old" },
      ]);
    }));

  it.each([
    ["a name that is configured", ["--from", "bench", "--to", "bench"], 2, "is configured"],
    ["a target that is not configured", ["--from", "old", "--to", "older"], 2, "lims, bench"],
    ["a connector of another type", ["--from", "old", "--to", "lims"], 1, "it was of type csv-drop"],
    ["a connector of which nothing waits", ["--from", "nobody", "--to", "bench"], 5, "nobody"],
  ])("refuses %s", (_words, names, expected, words) =>
    withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      await rename(lab, "bench", "old");
      const { status, stderr } = await lab.cli(["queue", "move", ...names, "--yes"]);
      expect(stderr).toContain(words);
      expect(status).toBe(expected);
      expect((await lab.pool.query("select from audit")).rowCount).toBe(0);
    }),
  );

  it("takes along what no file could be made of, to be made again for the other connector", () =>
    withLab(async (lab) => {
      const { pool } = lab;
      await lab.take("bench", [csvMessage(1)]);
      await aResult(lab, "bench", "(t1 could not be composed)");
      await pool.query("update deliveries set state = 'parked', bytes = null, failure_code = 'UNCLASSIFIED'");
      await rename(lab, "bench", "old");
      await lab.cli(["queue", "move", "--from", "old", "--to", "bench", "--yes"]);
      expect((await lab.cli(["queue", "retry", "d1"])).status).toBe(0);
      expect(await listOpenOutcomes(pool, "bench", 10)).toHaveLength(1);
    }));

  it("moves nothing when both have a result of the same name", () =>
    withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      await aResult(lab, "bench", "a.csv.results-1.csv");
      await rename(lab, "bench", "old");
      await lab.pool.query(
        "insert into deliveries (connector, file_name, bytes, state) values ('bench', 'a.csv.results-1.csv', 'y', 'delivered')",
      );
      const { status, stderr } = await lab.cli(["queue", "move", "--from", "old", "--to", "bench", "--yes"]);
      expect(stderr).toContain("CLI_MOVE_IMPOSSIBLE");
      expect(status).toBe(1);
      expect((await lab.pool.query("select from deliveries where connector = 'old'")).rowCount).toBe(1);
    }));

  it("has result files numbered after those of both", () =>
    withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      await rename(lab, "bench", "old");
      await lab.pool.query(
        "insert into result_numbers values ('old', 'a.csv', 7), ('bench', 'a.csv', 2), ('bench', 'b.csv', 3)",
      );
      await lab.cli(["queue", "move", "--from", "old", "--to", "bench", "--yes"]);
      const { rows } = await lab.pool.query(
        "select series, last_number from result_numbers where connector = 'bench' order by series",
      );
      expect(rows).toEqual([
        { series: "a.csv", last_number: 7 },
        { series: "b.csv", last_number: 3 },
      ]);
    }));
});
