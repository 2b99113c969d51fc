import { expect, it } from "vitest";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { csvMessage, withLab } from "./with-lab.ts";

const MESSAGE = `
insert into messages (id, connector, ordinal, place, sha256, format, verdict, peer)
values (12, 'lims', 1, '{"message": 1}', '\\x00', 'hl7', 'refused', '10.0.0.9')`;
const TASKS = `
insert into tasks (message_id, delivery_id, kind, text)
values (12, null, 'refusal', 'its sender was not told'), (null, 4, 'taken_back', 'the lab system answered AE')`;

it("tasks about messages and results are listed with those, and done like any other", () =>
  withLab(async ({ cli, pool }) => {
    await pool.query(MESSAGE);
    await pool.query(
      "insert into deliveries (id, connector, file_name, state) values (4, 'lims', 'r', 'delivered')",
    );
    await pool.query(TASKS);
    const { stdout } = await cli(["tasks"]);
    expect(stdout).toMatch(/^k1 +m12 +.*its sender was not told$/m);
    expect(stdout).toMatch(/^k2 +d4 +.*the lab system answered AE$/m);
    const { tasks } = JSON.parse((await cli(["tasks", "list", "--json"])).stdout);
    expect(tasks).toMatchObject([
      { taskId: "k1", orderId: null, messageId: "m12", deliveryId: null, kind: "refusal" },
      { taskId: "k2", orderId: null, messageId: null, deliveryId: "d4", kind: "taken_back" },
    ]);
    expect((await cli(["tasks", "done", "k1", "k2"])).stdout).toBe("✓ k1 is done\n✓ k2 is done\n");
  }));

it("where a file of a task lies is shown to who asks for patients' data, which is written down", () =>
  withLab(async ({ cli, pool }) => {
    await pool.query(
      "insert into files (connector, file_name, sha256, size_bytes, status) values ('bench', 'a.csv', 'x', 1, 'taken')",
    );
    await pool.query(
      "insert into dropped_files (id, connector, file_name, file_id, path, size_bytes, modified) values ('1', 'csv', 'a.csv', 1, '/in/Quersack.csv', 1, '1')",
    );
    await pool.query("insert into tasks (file_id, kind, text) values (1, 'late_write', 'was written to')");
    const path = async (...more: string[]) =>
      JSON.parse((await cli(["tasks", "list", "--json", ...more])).stdout).tasks[0].file;
    expect((await cli(["tasks"])).stdout).toMatch(/ f1 .*•••• of connector bench: was written to$/m);
    expect(await path()).toEqual({ fileId: "f1", connector: "bench", path: "••••" });
    expect((await pool.query("select from audit")).rowCount).toBe(0);
    expect(await path("--show-phi")).toMatchObject({ path: "/in/Quersack.csv" });
    expect((await pool.query("select action, target from audit")).rows).toEqual([
      { action: "show-phi", target: "f1" },
    ]);
  }));

it("a task that the world has settled closes by itself, and the order's timeline says why; one that still stands stays", () =>
  withLab(async ({ take, cli, pool }) => {
    await take("bench", [csvMessage(1), csvMessage(2)]);
    await pool.query(
      "update orders set state = 'submitted', request_id = id, next_at = now() + interval '1 hour'",
    );
    await pool.query(
      "insert into tasks (order_id, kind, text) select id, kind, 'was to be stopped' from orders, unnest(array['cancel', 'hold', 'change']) kind",
    );
    await changeOrders(pool, [
      { orderId: 1, to: "cancelled" },
      { orderId: 2, to: "completed" },
    ]);
    const { tasks } = JSON.parse((await cli(["tasks", "list", "--json"])).stdout);
    expect(tasks.map(({ orderId, kind }: Record<string, string>) => `${orderId} ${kind}`).sort()).toEqual([
      "o1 change",
      "o1 hold",
      "o2 cancel",
      "o2 change",
      "o2 hold",
    ]);
    expect((await cli(["orders", "show", "o1"])).stdout).toMatch(
      /cryobridge has done task k\d: the order is cancelled/,
    );
  }));
