import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { Control } from "../../../src/core/order-control.ts";
import { phi } from "../../../src/core/phi.ts";
import type { MessageRecord } from "../../../src/ledger/messages/record.ts";
import { releaseMessages } from "../../../src/ledger/messages/release.ts";
import { listMessages } from "../../../src/ledger/messages/views.ts";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { aCancel, aControl, answers } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { at } from "../../support/places.ts";
import { withLedger } from "../../support/with-ledger.ts";

const A1 = { placerOrderNumber: "A-1", subjectCode: phi("SUBJ-1") } as const;
const OTHER = anOrder({ containers: [{ label: "V-2", description: "straw" }] });

/** A message of the subject of order A-1 that waits for a code table; it brings or names this number. */
function waiting(ordinal: number, number: string): MessageRecord {
  return aRecord(ordinal, [], {
    verdict: "waiting",
    problems: [
      { code: "MAPPING_FACILITY_UNKNOWN", place: at("MSH-4"), message: "unknown", unknownCode: "WEST" },
    ],
    subjectCodes: [A1.subjectCode],
    orderNumbers: [number],
  });
}

const order = async (pool: pg.Pool) => (await findOrders(pool, "A-1"))[0];
const verdicts = async (pool: pg.Pool) =>
  (await listMessages(pool, { limit: 100 })).toReversed().map(({ verdict }) => verdict);

/** Order A-1, and behind it a message that waits. */
async function orderThen(pool: pg.Pool, waits: MessageRecord): Promise<number> {
  const [id] = (await commit(pool, [aRecord(1, [anOrder()])])) as [number];
  await commit(pool, [waits]);
  return id;
}

/** Maps the waiting messages anew: each to what is given for its place in its file. */
const release = (pool: pg.Pool, byOrdinal: Readonly<Record<number, MessageRecord>>) =>
  releaseMessages(pool, ({ ordinal }) => byOrdinal[ordinal]);

describe("an order that is here, while a message of its subject waits for a code table,", () => {
  test.each([
    ["another order", "A-2"],
    ["a change of it", "A-1"],
  ])("is cancelled at once, though the message is %s", (_, number) =>
    withLedger(async ({ pool }) => {
      await orderThen(pool, waiting(2, number));
      await commit(pool, [aCancel(3, [A1])]);
      expect((await order(pool))?.state).toBe("cancelled");
      expect(await answers(pool)).toEqual([["CR"]]);
    }),
  );

  test("is put on hold at once", () =>
    withLedger(async ({ pool }) => {
      await orderThen(pool, waiting(2, "A-1"));
      await commit(pool, [aControl(3, "hold", [A1])]);
      expect((await order(pool))?.heldAt).toBeInstanceOf(Date);
    }));

  test("can be asked about", () =>
    withLedger(async ({ pool }) => {
      await orderThen(pool, waiting(2, "A-1"));
      await commit(pool, [aControl(3, "status", [A1])]);
      expect(await answers(pool)).toEqual([["CR"]]);
    }));

  test("is cancelled by the number that we gave it as well", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderThen(pool, waiting(2, "A-2"));
      const request = { surface: "request", requestId: 7 } as const;
      await changeOrders(pool, [{ orderId, from: ["received"], to: "submitted", request }]);
      const ours = { fillerNumber: { kind: "request", id: 7 }, subjectCode: A1.subjectCode } as const;
      await commit(pool, [aCancel(3, [ours])]);
      const { rows } = await pool.query("select order_id from control_requests");
      expect(rows).toEqual([{ order_id: orderId }]);
    }));

  test("is not released before a change of it that waits, but before another order", () =>
    withLedger(async ({ pool }) => {
      await orderThen(pool, aControl(2, "hold", [A1]));
      await commit(pool, [waiting(3, "A-1")]);
      await commit(pool, [aControl(4, "release", [A1])]);
      expect(await verdicts(pool)).toEqual(["accepted", "accepted", "waiting", "waiting"]);
      expect((await order(pool))?.heldAt).toBeInstanceOf(Date);
      const change = aControl(3, "change", [{ ...A1, content: OTHER }]);
      await release(pool, { 3: change, 4: aControl(4, "release", [A1]) });
      expect(await order(pool)).toMatchObject({ heldAt: undefined, containers: [{ label: "V-2" }] });
      await commit(pool, [waiting(5, "A-2"), aControl(6, "hold", [A1]), aControl(7, "release", [A1])]);
      expect((await order(pool))?.heldAt).toBeUndefined();
    }));

  test("stays on hold where it was put on hold after the release that waited", () =>
    withLedger(async ({ pool }) => {
      await orderThen(pool, aControl(2, "hold", [A1]));
      await commit(pool, [waiting(3, "A-1"), aControl(4, "release", [A1]), aControl(5, "hold", [A1])]);
      const change = aControl(3, "change", [{ ...A1, content: OTHER }]);
      await release(pool, { 3: change, 4: aControl(4, "release", [A1]) });
      expect(await order(pool)).toMatchObject({
        heldAt: expect.any(Date),
        containers: [{ label: "V-2" }],
      });
      expect(await answers(pool)).toEqual([["CR"], ["CR"], ["CR"], ["CONTROL_TOO_LATE"]]);
    }));

  test("is changed after the message, in the order in which they came", () =>
    withLedger(async ({ pool }) => {
      await orderThen(pool, waiting(2, "A-2"));
      await commit(pool, [aControl(3, "change", [{ ...A1, content: OTHER }])]);
      expect(await verdicts(pool)).toEqual(["accepted", "waiting", "waiting"]);
    }));
});

describe("a request waits behind the message that brings its order", () => {
  test.each<[string, Control]>([
    ["to cancel it", "cancel"],
    ["to hold it", "hold"],
    ["to know its state", "status"],
  ])("%s", (_, control) =>
    withLedger(async ({ pool }) => {
      await commit(pool, [waiting(1, "A-1"), aControl(2, control, [A1])]);
      expect(await verdicts(pool)).toEqual(["waiting", "waiting"]);
    }),
  );

  test("beside an order that is here already", () =>
    withLedger(async ({ pool }) => {
      await orderThen(pool, waiting(2, "A-7"));
      const controlRequests = [{ control: "cancel", placerOrderNumber: "A-7" }] as const;
      await commit(pool, [aRecord(3, [anOrder()], { controlRequests })]);
      expect(await verdicts(pool)).toEqual(["accepted", "waiting", "waiting"]);
      expect(await answers(pool)).toEqual([]);
    }));

  test("where the order of that number which is here has ended", () =>
    withLedger(async ({ pool }) => {
      const [orderId] = (await commit(pool, [aRecord(1, [anOrder()])])) as [number];
      await changeOrders(pool, [{ orderId, from: ["received"], to: "cancelled" }]);
      const cancel = aCancel(3, [A1]);
      await commit(pool, [waiting(2, "A-1"), cancel]);
      expect(await verdicts(pool)).toEqual(["accepted", "waiting", "waiting"]);
      await release(pool, { 2: aRecord(2, [OTHER]), 3: cancel });
      // The message that waited has the number of the order that ended, and is refused for it.
      expect((await findOrders(pool, "A-1")).map(({ state }) => state)).toEqual(["parked", "cancelled"]);
    }));

  test("and lets other orders of its subject go on", () =>
    withLedger(async ({ pool }) => {
      const named = aRecord(1, [], { ...waiting(1, "A-9"), subjectCodes: [] });
      await commit(pool, [named, aCancel(2, [{ ...A1, placerOrderNumber: "A-9" }])]);
      await commit(pool, [aRecord(3, [anOrder()])]);
      expect(await verdicts(pool)).toEqual(["waiting", "waiting", "accepted"]);
    }));
});
