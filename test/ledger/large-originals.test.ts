import { expect, test } from "vitest";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const MEGABYTE = 1024 * 1024;

test("outcomes of one message share its text, however many there are", () =>
  withLedger(async ({ pool }) => {
    const numbers = ["A-1", "A-2", "A-3"];
    const orderIds = await commit(pool, [
      aRecord(
        1,
        numbers.map((placerOrderNumber) => anOrder({ placerOrderNumber })),
      ),
    ]);
    const ended = orderIds.map((orderId) => ({ orderId, to: "cancelled", isReported: true }) as const);
    await changeOrders(pool, ended);
    const open = await listOpenOutcomes(pool, "lims", 100);
    expect(open).toHaveLength(1 + numbers.length);
    const [first, ...others] = open.map(({ original }) => original?.raw);
    expect(first).toBeInstanceOf(Buffer);
    for (const raw of others) expect(raw).toBe(first);
  }));

test("as many outcomes are composed together as there is room for the texts of their messages, and one at least", () =>
  withLedger(async ({ pool }) => {
    for (const n of [1, 2, 3]) await commit(pool, [aRecord(n, [anOrder({ placerOrderNumber: `A-${n}` })])]);
    const resize = (megabytes: number, most = 3) =>
      pool.query("update messages set raw = convert_to(repeat('x', $1), 'UTF8') where id <= $2", [
        megabytes * MEGABYTE,
        most,
      ]);
    const count = async () => (await listOpenOutcomes(pool, "lims", 100)).length;
    expect(await count()).toBe(3);
    // To pack such texts would take seconds.
    await pool.query("alter table messages alter raw set storage external");
    await resize(30);
    expect(await count()).toBe(2);
    await resize(70, 1);
    expect(await count()).toBe(1);
  }));
