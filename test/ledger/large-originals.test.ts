import { expect, test } from "vitest";
import type { MessageEcho } from "../../src/core/message-echo.ts";
import { phi } from "../../src/core/phi.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const ECHO = phi<MessageEcho>({ header: "MSH|^~\\&|LIMS", segments: ["PID|1"], groups: [] });

const MEGABYTE = 1024 * 1024;

test("outcomes of one message share what is repeated of it, however many there are", () =>
  withLedger(async ({ pool }) => {
    const numbers = ["A-1", "A-2", "A-3"];
    const orderIds = await commit(pool, [
      aRecord(
        1,
        numbers.map((placerOrderNumber) => anOrder({ placerOrderNumber })),
        { echo: ECHO },
      ),
    ]);
    const ended = orderIds.map((orderId) => ({ orderId, to: "cancelled", isReported: true }) as const);
    await changeOrders(pool, ended);
    const open = await listOpenOutcomes(pool, "lims", 100);
    expect(open).toHaveLength(1 + numbers.length);
    const [first, ...others] = open.map(({ outcome }) => outcome.message.echo);
    expect(first?.reveal()).toEqual(ECHO.reveal());
    for (const echo of others) expect(echo).toBe(first);
  }));

test("as many outcomes are composed together as there is room for what is repeated of their messages, and one at least", () =>
  withLedger(async ({ pool }) => {
    for (const n of [1, 2, 3]) await commit(pool, [aRecord(n, [anOrder({ placerOrderNumber: `A-${n}` })])]);
    const resize = (megabytes: number, most = 3) =>
      pool.query("update messages set echo = $2 || repeat(' ', $1) where id <= $3", [
        megabytes * MEGABYTE,
        JSON.stringify(ECHO.reveal()),
        most,
      ]);
    const count = async () => (await listOpenOutcomes(pool, "lims", 100)).length;
    expect(await count()).toBe(3);
    // To pack such texts would take seconds.
    await pool.query("alter table messages alter echo set storage external");
    await resize(30);
    expect(await count()).toBe(2);
    await resize(70, 1);
    expect(await count()).toBe(1);
  }));
