import fc from "fast-check";
import type pg from "pg";
import { expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { parseId } from "../../src/ledger/ids.ts";
import { commitMessages } from "../../src/ledger/messages/commit.ts";
import { findMessage } from "../../src/ledger/messages/views.ts";
import { findOrders, listEvents, listOrders } from "../../src/ledger/operator/views.ts";
import { discardOrder, retryOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { forgetOld } from "../../src/ledger/prune.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { presumeAll } from "../support/calls.ts";
import { A_REQUEST, claimNext, recordCall, takeDue } from "../support/hand-over.ts";
import { waitForLockWaiter } from "../support/lock-waiters.ts";
import { aCancel, aControl, reportedKinds } from "../support/order-control.ts";
import { aMessage, anOrder, aRecord, commit } from "../support/orders.ts";
import { at } from "../support/places.ts";
import { withLedger } from "../support/with-ledger.ts";

const OPERATOR = { actor: "test", reason: "the ward rang" };
const INCOMPLETE = { code: "SUBJECT_INCOMPLETE", text: "lacks its date of birth" } as const;
const ITS_NUMBER = [{ placerOrderNumber: "A-1" }] as const;

const bare = (label = "V-1") =>
  anOrder({ subject: { code: phi("SUBJ-1") }, containers: [{ label, description: "vial" }] });
const corrected = anOrder({ containers: [{ label: "V-2", description: "straw" }] });

async function commitParked(pool: pg.Pool): Promise<number> {
  const [orderId] = (await commit(pool, [aRecord(1, [bare()])])) as [number];
  await changeOrders(pool, [{ orderId, to: "parked", failure: INCOMPLETE, isReported: true }]);
  return orderId;
}

async function only(pool: pg.Pool) {
  const orders = await listOrders(pool, { limit: 10 });
  expect(orders).toHaveLength(1);
  return orders[0] as (typeof orders)[0];
}

const labelsOf = async (pool: pg.Pool, orderId: number) =>
  (await listOrders(pool, { limit: 100 }))
    .find(({ id }) => id === orderId)
    ?.containers.map(({ label }) => label);

test("a parked order that the lab sends again under its number asks for what it says now, and goes on", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    const before = await only(pool);
    expect(await commit(pool, [aRecord(2, [corrected])])).toEqual([orderId]);
    const after = await only(pool);
    expect(after).toMatchObject({ state: "received", failure: undefined, sharesNumber: false, attempts: 0 });
    expect(after.containers).toMatchObject([{ position: 1, label: "V-2", description: "straw" }]);
    expect(after.subject.dateOfBirth?.reveal()).toBe("1990-01-31");
    expect(after.mark).not.toBe(before.mark);
    expect(after.fence).not.toBe(before.fence);
    expect(await takeDue(pool)).toMatchObject([{ orderId }]);
  }));

test("the lab is answered as for a new order, and the timeline names the message", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    await commit(pool, [aRecord(2, [corrected])]);
    expect(await reportedKinds(pool)).toEqual(["acknowledged", "changed parked", "acknowledged"]);
    const { outcome } = (await listOpenOutcomes(pool, "lims", 10)).at(-1) ?? {};
    if (outcome?.kind !== "acknowledged") throw new TypeError("not acknowledged");
    expect(outcome).toMatchObject({ isDuplicate: false, orders: [{ state: "received" }] });
    const messageId = outcome.message.messageId;
    expect(await findMessage(pool, parseId("m", messageId) as number)).toMatchObject({
      ...{ verdict: "accepted", problems: [], orderIds: [`o${orderId}`] },
    });
    expect((await listEvents(pool, orderId)).at(-1)).toMatchObject({
      ...{ kind: "corrected", toState: "received", detail: { messageId } },
    });
  }));

test("what becomes of the order is reported as an answer to the message that corrected it", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    await commit(pool, [aRecord(2, [corrected])]);
    await changeOrders(pool, [{ orderId, to: "discarded", isReported: true }]);
    const last = (await listOpenOutcomes(pool, "lims", 10)).at(-1);
    expect(last?.outcome.message.messageControlId).toBe("C2");
  }));

test.each([
  ["of another subject", { code: "SUBJ-2" }],
  ["at another facility, where the code is another subject's", { facilityCode: "SOUTH", facilityId: 13 }],
  ["that asks for the opposite", { operation: "RETRIEVAL" }],
  ["of another assigning authority", { placerAuthority: { namespaceId: "WARD" } }],
] as const)("an order %s corrects nothing: it is refused and kept for a person", (_, parts) =>
  withLedger(async ({ pool }) => {
    const [orderId] = (await commit(pool, [
      aRecord(1, [{ ...bare(), placerAuthority: { namespaceId: "LIMS" } }]),
    ])) as [number];
    await changeOrders(pool, [{ orderId, to: "parked", failure: INCOMPLETE }]);
    const other = anOrder({ placerAuthority: { namespaceId: "LIMS" }, ...parts });
    await commit(pool, [aRecord(2, [other])]);
    const orders = await listOrders(pool, { limit: 10 });
    expect(orders.map(({ state, sharesNumber }) => [state, sharesNumber])).toEqual([
      ["parked", true],
      ["parked", false],
    ]);
    expect(await labelsOf(pool, orderId)).toEqual(["V-1"]);
  }),
);

test("another connector's order of the same number corrects nothing", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    const [other] = await commit(pool, [aRecord(2, [corrected])], "bench");
    expect(other).not.toBe(orderId);
    expect(await labelsOf(pool, orderId)).toEqual(["V-1"]);
  }));

test("one that says the same is a repeat, and stays parked", () =>
  withLedger(async ({ pool }) => {
    await commitParked(pool);
    await commit(pool, [aRecord(2, [bare()])]);
    expect(await only(pool)).toMatchObject({ state: "parked", failure: INCOMPLETE });
  }));

test("an order on hold is corrected and stays on hold", () =>
  withLedger(async ({ pool }) => {
    await commitParked(pool);
    await commit(pool, [aControl(2, "hold", ITS_NUMBER)]);
    await commit(pool, [aRecord(3, [corrected])]);
    expect(await only(pool)).toMatchObject({ state: "received", heldAt: expect.any(Date) });
    expect(await takeDue(pool)).toEqual([]);
    await commit(pool, [aControl(4, "release", ITS_NUMBER)]);
    expect(await takeDue(pool)).toHaveLength(1);
  }));

test("an order that was cancelled is not placed anew by what would have corrected it", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    // In one batch requests are carried out after all orders: the cancellation must not end what came after it.
    await commit(pool, [aCancel(2, ITS_NUMBER), aRecord(3, [corrected])]);
    const orders = await findOrders(pool, "A-1");
    expect(orders.map(({ state }) => state)).toEqual(["parked", "cancelled"]);
    expect(await labelsOf(pool, orderId)).toEqual(["V-1"]);
  }));

test("a correction and its cancellation in one batch leave it cancelled", () =>
  withLedger(async ({ pool }) => {
    await commitParked(pool);
    await commit(pool, [aRecord(2, [corrected]), aCancel(3, ITS_NUMBER)]);
    expect((await only(pool)).state).toBe("cancelled");
  }));

test("the correcting message that comes again names its order, and the first one changes nothing any more", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    await commit(pool, [aRecord(2, [corrected])]);
    expect(await commit(pool, [aRecord(2, [corrected])])).toEqual([orderId]);
    await commit(pool, [aRecord(1, [bare()])]);
    expect(await labelsOf(pool, orderId)).toEqual(["V-2"]);
  }));

test("of two orders of one message under one number none corrects the other's", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    await commit(pool, [aRecord(2, [corrected, bare("V-3")])]);
    expect(await only(pool)).toMatchObject({ id: orderId, state: "parked" });
    expect(await labelsOf(pool, orderId)).toEqual(["V-1"]);
  }));

test("a message with a correction and an order that contradicts another is refused whole", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    const taken = anOrder({ placerOrderNumber: "A-2" });
    await commit(pool, [aRecord(5, [taken])]);
    const contradicting = { ...taken, containers: [{ label: "V-8", description: "" }] };
    await commit(pool, [aRecord(2, [corrected, contradicting])]);
    expect(await labelsOf(pool, orderId)).toEqual(["V-1"]);
  }));

test("a message that waited for a code table corrects its order once it is mapped", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    const unknown = { code: "MAPPING_CODE_UNKNOWN", place: at("OBR-4.1"), message: "unknown code" } as const;
    const waits = aRecord(2, [], {
      ...{ verdict: "waiting", problems: [unknown], subjectCodes: [phi("SUBJ-1")] },
    });
    await commitMessages(pool, { fileId: null, connector: "lims", records: [waits] });
    // A later one of its subject waits behind it, though it would correct a parked order.
    const later = aRecord(3, [corrected]);
    const [verdict] = await commitMessages(pool, { fileId: null, connector: "lims", records: [later] });
    expect(verdict?.verdict).toBe("waiting");
    expect(await labelsOf(pool, orderId)).toEqual(["V-1"]);
    const { rows } = await pool.query<{ id: number }>("select id from messages order by id desc limit 2");
    const [laterId, waitsId] = rows.map(({ id }) => id) as [number, number];
    const ignored = { ...waits, verdict: "refused" as const, waitedAs: waitsId };
    const mapped = { ...later, message: aMessage(3), waitedAs: laterId };
    await commitMessages(pool, { fileId: null, connector: "lims", records: [ignored, mapped] });
    expect(await labelsOf(pool, orderId)).toEqual(["V-2"]);
  }));

test("an order that a person has sent at this moment is not corrected under way", () =>
  withLedger(async ({ pool }) => {
    const orderId = await commitParked(pool);
    const person = await pool.connect();
    await person.query("begin");
    await person.query("update orders set state = 'received', failure_code = null where id = $1", [orderId]);
    const committing = commit(pool, [aRecord(2, [corrected])]);
    await waitForLockWaiter(pool, "for no key update");
    await person.query("commit");
    person.release();
    await committing;
    expect(await labelsOf(pool, orderId)).toEqual(["V-1"]);
    expect((await findOrders(pool, "A-1")).map(({ state }) => state)).toEqual(["parked", "received"]);
  }));

test("the text of the correcting message is kept as long as its order is open", () =>
  withLedger(async ({ pool }) => {
    await commitParked(pool);
    await commit(pool, [aRecord(2, [corrected])]);
    await pool.query("update outcomes set is_composed = true");
    await pool.query("update messages set received_at = now() - interval '1 day'");
    expect((await forgetOld(pool, { messagesMs: 1, ordersMs: 1 }, 10)).messages).toBe(0);
  }));

/** What may happen to an order before the lab sends it again. Each does nothing where it doesn't apply. */
const STEPS = {
  claim: (pool) => claimNext(pool),
  intend: async (pool, orderId) => {
    const { rows } = await pool.query("select fence from orders where id = $1", [orderId]);
    const what = A_REQUEST;
    const at = await recordCall(pool, { orderId, fence: rows[0].fence, ...what });
    return at === undefined ? undefined : "may have left";
  },
  "register subject": async (pool, orderId) => {
    const { rows } = await pool.query("select fence from orders where id = $1", [orderId]);
    const what = { kind: "subject", knownIds: [], body: undefined } as const;
    await recordCall(pool, { orderId, fence: rows[0].fence, ...what });
  },
  "never left": (pool, orderId) =>
    changeOrders(pool, [
      {
        orderId,
        from: ["submitting"],
        to: "received",
        call: { end: "not_sent" },
        isReleased: true,
      },
    ]),
  park: (pool, orderId) =>
    changeOrders(pool, [{ orderId, to: "parked", failure: INCOMPLETE, isReleased: true }]),
  "park refused": (pool, orderId) =>
    changeOrders(pool, [
      { orderId, to: "parked", failure: INCOMPLETE, call: { end: "refused" }, isReleased: true },
    ]),
  submit: (pool, orderId) =>
    changeOrders(pool, [
      {
        ...{ orderId, to: "submitted", request: { surface: "request", requestId: orderId } },
        ...{ isReleased: true, call: { end: "made" } },
      },
    ]),
  fail: (pool, orderId) => changeOrders(pool, [{ orderId, to: "failed" }]),
  retry: (pool, id) => retryOrder(pool, { id }, OPERATOR),
  discard: (pool, id) => discardOrder(pool, { id }, OPERATOR),
  restore: (pool) =>
    presumeAll(pool, "not exists (select 1 from calls k where k.order_id = o.id and k.kind = 'request')"),
  hold: (pool, _, number) => commit(pool, [aControl(7, "hold", [{ placerOrderNumber: number }])]),
} as const satisfies Record<string, (pool: pg.Pool, orderId: number, number: string) => Promise<unknown>>;

test("only an order that is parked is corrected, and of which no call was ever about to leave", () =>
  withLedger(async ({ pool }) => {
    let runs = 0;
    const names = Object.keys(STEPS) as (keyof typeof STEPS)[];
    const walk = fc.array(fc.constantFrom(...names), { maxLength: 7 });
    await fc.assert(
      fc.asyncProperty(walk, async (steps) => {
        runs += 1;
        const number = `N-${runs}`;
        const order = anOrder({ placerOrderNumber: number, code: `S-${runs}` });
        const first = aRecord(1, [order], { messageControlId: number });
        const [orderId] = (await commit(pool, [first])) as [number];
        let isUnsent = true;
        for (const step of steps) {
          const done = await STEPS[step](pool, orderId, number).catch(() => undefined);
          if (done === "may have left") isUnsent = false;
        }
        const { rows } = await pool.query(
          `select state, request_id, exists (select 1 from calls k where k.order_id = o.id and k.outcome is null) as is_called
             from orders o where id = $1`,
          [orderId],
        );
        const { state, is_called, request_id } = rows[0];
        if (is_called || request_id !== null) isUnsent = false;
        const again = { ...order, containers: [{ label: "V-2", description: "" }] };
        await commit(pool, [aRecord(2, [again], { messageControlId: `${number}-2` })]);
        const isCorrected = (await labelsOf(pool, orderId))?.[0] === "V-2";
        expect(isCorrected).toBe(state === "parked" && isUnsent);
        // Whatever became of it, there is one order of this number that may be sent with each content at most.
        const all = await findOrders(pool, number);
        expect(all.filter(({ sharesNumber }) => !sharesNumber)).toHaveLength(1);
        await pool.query("delete from calls");
        await pool.query("update orders set state = 'discarded', owner = null");
      }),
      { numRuns: 20, seed: 7 },
    );
  }));

test("an order that is parked while the correction of another one waits stands still from then on as well", () =>
  withLedger(async ({ pool }) => {
    const [first, second] = (await commit(pool, [
      aRecord(1, [bare()]),
      aRecord(2, [{ ...bare("V-8"), placerOrderNumber: "A-2" }]),
    ])) as [number, number];
    const park = (orderId: number) =>
      changeOrders(pool, [{ orderId, from: ["received"], to: "parked", failure: INCOMPLETE }]);
    await park(first);
    const [holder, gate] = [await pool.connect(), await pool.connect()];
    await holder.query("begin");
    await holder.query("select from orders where id = $1 for update", [first]);
    const other = { placerOrderNumber: "A-2", containers: [{ label: "V-9", description: "straw" }] };
    const committing = commit(pool, [aRecord(3, [corrected]), aRecord(4, [anOrder(other)])]);
    await waitForLockWaiter(pool, "for no key update");
    await park(second);
    // What is written next waits, so that there is time between what was read and what is done about it.
    await gate.query("begin; lock table messages in exclusive mode");
    await holder.query("commit");
    await waitForLockWaiter(pool, "insert into messages");
    const sending = retryOrder(pool, { id: second }, OPERATOR).then(() => takeDue(pool));
    const isSent = await Promise.race([
      sending.then(() => true),
      waitForLockWaiter(pool, "for no key update").then(() => false),
    ]);
    await gate.query("commit");
    for (const each of [holder, gate]) each.release();
    await committing;
    expect(isSent).toBe(false);
    await sending;
    expect(await labelsOf(pool, second)).toEqual(["V-9"]);
  }));
