import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { Control } from "../../../src/core/order-control.ts";
import { phi } from "../../../src/core/phi.ts";
import { listOpenTasks } from "../../../src/ledger/operator/tasks.ts";
import { findOrders, listEvents } from "../../../src/ledger/operator/views.ts";
import { releaseOrder, retryOrder } from "../../../src/ledger/orders/acts.ts";
import { changeOrders, changeOrdersWithin } from "../../../src/ledger/orders/change.ts";
import { forgetOld } from "../../../src/ledger/prune.ts";
import { listOpenOutcomes } from "../../../src/ledger/results/outcomes.ts";
import { A_REQUEST, claimNext, recordCall, takeDue } from "../../support/hand-over.ts";
import { aControl, reportedKinds } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { lookNow, submitDeps } from "../../support/submit.ts";
import { withLedger } from "../../support/with-ledger.ts";
import { answersTo, submitted } from "./controlled.ts";

const ITS_NUMBER = [{ placerOrderNumber: "A-1" }] as const;

const OTHER = anOrder({ containers: [{ label: "V-2", description: "straw" }] });

const TO_OTHER = [{ ...ITS_NUMBER[0], subjectCode: phi("SUBJ-1"), content: OTHER }] as const;

const OPERATOR = { actor: "test", reason: "the ward rang" };

async function only(pool: pg.Pool, number = "A-1") {
  const [order] = await findOrders(pool, number);
  if (!order) throw new Error(`no order ${number}`);
  return order;
}

async function claim(pool: pg.Pool) {
  const order = await claimNext(pool);
  return { orderId: order.id, fence: order.fence };
}

const intend = (pool: pg.Pool, mine: { orderId: number; fence: number }) =>
  recordCall(pool, { ...mine, ...A_REQUEST });

const ordered = (pool: pg.Pool) => commit(pool, [aRecord(1, [anOrder()])]);

const lastAnswer = async (pool: pg.Pool) => (await answersTo(pool)).at(-1);

describe("an order on hold", () => {
  test("is not handed over until it is released, and keeps its place", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      await commit(pool, [aControl(2, "hold", ITS_NUMBER)]);
      expect(await takeDue(pool)).toEqual([]);
      expect(await lastAnswer(pool)).toMatchObject({
        control: "hold",
        refusal: undefined,
        order: { isHeld: true },
      });
      await commit(pool, [aControl(3, "release", ITS_NUMBER)]);
      expect(await lastAnswer(pool)).toMatchObject({
        control: "release",
        refusal: undefined,
        order: { isHeld: false },
      });
      expect(await takeDue(pool)).toHaveLength(1);
    }));

  test("is taken from a worker that has not called yet, which can neither call nor park it any more", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const mine = await claim(pool);
      await commit(pool, [aControl(2, "hold", ITS_NUMBER)]);
      expect(await intend(pool, mine)).toBeUndefined();
      const failure = { code: "SUBJECT_UNKNOWN", text: "no such subject" } as const;
      expect(await changeOrders(pool, [{ ...mine, to: "parked", failure }])).toEqual(new Set());
      expect(await only(pool)).toMatchObject({ state: "received", heldAt: expect.any(Date) });
    }));

  test("is held or sent, never both, when the worker's call and the request come at once", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const mine = await claim(pool);
      const [intendedAt] = await Promise.all([
        intend(pool, mine),
        commit(pool, [aControl(2, "hold", ITS_NUMBER)]),
      ]);
      const { heldAt } = await only(pool);
      expect((intendedAt === undefined) === (heldAt !== undefined)).toBe(true);
    }));

  test("lets later orders of its subject pass, unless parked ones hold their lane as well", () =>
    withLedger(async ({ pool }) => {
      const later = anOrder({ placerOrderNumber: "A-2", containers: [{ label: "V-9", description: "" }] });
      await commit(pool, [aRecord(1, [anOrder()]), aControl(2, "hold", ITS_NUMBER), aRecord(3, [later])]);
      expect(await takeDue(pool, { doesParkedBlock: true })).toEqual([]);
      expect(await takeDue(pool)).toHaveLength(1);
      expect((await only(pool, "A-2")).state).toBe("submitting");
    }));

  test("can be released by a person, whose reason is kept, but not by a retry", () =>
    withLedger(async ({ pool }) => {
      const [id] = (await ordered(pool)) as [number];
      await commit(pool, [aControl(2, "hold", ITS_NUMBER)]);
      expect(await retryOrder(pool, { id }, OPERATOR)).toBe("not applicable");
      expect(await releaseOrder(pool, { id }, OPERATOR)).toBe("done");
      expect(await releaseOrder(pool, { id }, OPERATOR)).toBe("not applicable");
      expect(await takeDue(pool)).toHaveLength(1);
      const { rows } = await pool.query("select action, detail from audit order by id desc limit 1");
      expect(rows).toEqual([{ action: "release", detail: { reason: OPERATOR.reason } }]);
    }));

  test("stays on hold when a person has it tried again after it was parked", () =>
    withLedger(async ({ pool }) => {
      const [id] = (await ordered(pool)) as [number];
      const failure = { code: "SUBJECT_UNKNOWN", text: "no such subject" } as const;
      await changeOrders(pool, [{ orderId: id, to: "parked", failure }]);
      await commit(pool, [aControl(2, "hold", ITS_NUMBER)]);
      expect((await only(pool)).state).toBe("parked");
      expect(await retryOrder(pool, { id }, OPERATOR)).toBe("still on hold");
      expect(await takeDue(pool)).toEqual([]);
    }));

  test("stays on hold while a refused call is checked before the next try, and goes on once it is released", () =>
    withLedger(async ({ pool }) => {
      const [id] = (await ordered(pool)) as [number];
      const mine = await claim(pool);
      await intend(pool, mine);
      const failure = { code: "SERVICE_REFUSED", text: "status 422" } as const;
      await changeOrders(pool, [
        { ...mine, to: "parked", failure, isReleased: true, call: { end: "refused", answer: "refused" } },
      ]);
      await commit(pool, [aControl(2, "hold", ITS_NUMBER)]);
      expect(await retryOrder(pool, { id }, OPERATOR)).toBe("still on hold");
      expect(await only(pool)).toMatchObject({ state: "submitting", heldAt: expect.any(Date) });
      await commit(pool, [aControl(3, "hold", ITS_NUMBER)]);
      expect(await lastAnswer(pool)).toMatchObject({ control: "hold", refusal: undefined });
      expect(await lookNow(submitDeps(pool, {}))).toBe(1);
      expect(await only(pool)).toMatchObject({ state: "received", heldAt: expect.any(Date) });
      expect(await takeDue(pool)).toEqual([]);
      expect(await releaseOrder(pool, { id }, OPERATOR)).toBe("done");
      expect(await takeDue(pool)).toHaveLength(1);
    }));
});

describe("an order that is changed", () => {
  test.each(["change", "replace"] as const)("asks for something else under the same number (%s)", (control) =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      await commit(pool, [aControl(2, control, TO_OTHER)]);
      const order = await only(pool);
      expect(order).toMatchObject({
        state: "received",
        containers: [{ label: "V-2", description: "straw" }],
      });
      expect(await lastAnswer(pool)).toMatchObject({ control, order: { containers: [{ label: "V-2" }] } });
      expect(await reportedKinds(pool)).toEqual(["acknowledged", "control"]);
      // The number now stands for the new content.
      await commit(pool, [aRecord(3, [OTHER])]);
      expect(await findOrders(pool, "A-1")).toHaveLength(1);
    }),
  );

  test("keeps the name and the birth date that the change doesn't tell, and takes those that it does", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const subject = { code: phi("SUBJ-1"), lastName: phi("Newly") };
      await commit(pool, [aControl(2, "change", [{ ...TO_OTHER[0], content: { ...OTHER, subject } }])]);
      const { subject: kept } = await only(pool);
      expect([kept.firstName, kept.lastName, kept.dateOfBirth].map((value) => value?.reveal())).toEqual([
        "Ada",
        "Newly",
        "1990-01-31",
      ]);
    }));

  test("is taken from a worker that still has the former content, and gets a mark of its own", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const mine = await claim(pool);
      const before = (await only(pool)).mark;
      await commit(pool, [aControl(2, "change", TO_OTHER)]);
      expect(await intend(pool, mine)).toBeUndefined();
      const failure = { code: "SUBJECT_UNKNOWN", text: "no such subject" } as const;
      expect(await changeOrders(pool, [{ ...mine, to: "parked", failure }])).toEqual(new Set());
      expect(await only(pool)).toMatchObject({ state: "received", attempts: 0 });
      expect((await only(pool)).mark).not.toBe(before);
      expect(await takeDue(pool)).toHaveLength(1);
    }));

  test("stays as it was while a call is under way, which is answered at once, and can be changed afterwards", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const mine = await claim(pool);
      await intend(pool, mine);
      await commit(pool, [aControl(2, "change", TO_OTHER)]);
      expect(await lastAnswer(pool)).toMatchObject({ refusal: { code: "CONTROL_UNDER_WAY" } });
      expect(await listOpenTasks(pool, 10)).toMatchObject([{ kind: "change" }]);
      await changeOrders(pool, [{ ...mine, to: "received", isReleased: true, call: { end: "nothing" } }]);
      expect((await only(pool)).containers).toMatchObject([{ label: "V-1" }]);
      await commit(pool, [aControl(3, "change", TO_OTHER)]);
      expect(await lastAnswer(pool)).toMatchObject({ control: "change", refusal: undefined });
      expect((await only(pool)).containers).toMatchObject([{ label: "V-2" }]);
    }));

  test("is granted without a word of change where the service has just what is asked for", () =>
    withLedger(async ({ pool }) => {
      const [orderId] = (await ordered(pool)) as [number];
      await changeOrders(pool, [{ orderId, from: ["received"], ...submitted(7) }]);
      await commit(pool, [aControl(2, "change", [{ ...TO_OTHER[0], content: anOrder() }])]);
      expect(await lastAnswer(pool)).toMatchObject({ control: "change", refusal: undefined });
      expect(await listOpenTasks(pool, 10)).toEqual([]);
    }));

  test("goes on when a person had to look at what was wrong with it", () =>
    withLedger(async ({ pool }) => {
      const [id] = (await ordered(pool)) as [number];
      const failure = { code: "CONTAINER_UNKNOWN", text: "no such container" } as const;
      await changeOrders(pool, [{ orderId: id, to: "parked", failure }]);
      await commit(pool, [aControl(2, "change", TO_OTHER)]);
      expect(await only(pool)).toMatchObject({ state: "received", failure: undefined });
    }));

  test("keeps the text of the message that changed it for as long as it is open, since results echo that", () =>
    withLedger(async ({ pool }) => {
      const [orderId] = await ordered(pool);
      await commit(pool, [aControl(2, "change", TO_OTHER)]);
      await pool.query("update messages set received_at = now() - interval '3 days'");
      await pool.query("update orders set changed_at = now() - interval '3 days'");
      await pool.query("update outcomes set is_composed = true");
      const retention = { messagesMs: 86_400_000, ordersMs: 86_400_000 };
      expect(await forgetOld(pool, retention, 100)).toMatchObject({ messages: 0 });
      await pool.query("update orders set state = 'completed' where id = $1", [orderId]);
      expect(await forgetOld(pool, retention, 100)).toMatchObject({ messages: 2 });
    }));

  test("stays with its subject", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const content = anOrder({ code: "SUBJ-2" });
      await commit(pool, [aControl(2, "change", [{ ...TO_OTHER[0], subjectCode: phi("SUBJ-2"), content }])]);
      expect(await lastAnswer(pool)).toMatchObject({
        refusal: { code: "CONTROL_ORDER_DIFFERS" },
        order: undefined,
      });
      expect((await only(pool)).subject.code.reveal()).toBe("SUBJ-1");
    }));
});

test("what a transaction tells that waited for another one has a later time than what that told", () =>
  withLedger(async ({ pool }) => {
    const [orderId = 0] = await ordered(pool);
    const waiting = await pool.connect();
    await waiting.query("begin");
    await waiting.query("select now()");
    await changeOrders(pool, [{ orderId, from: ["received"], ...submitted(7), isReported: true }]);
    await changeOrdersWithin(waiting, [{ orderId, to: "completed", isReported: true }]);
    await waiting.query("commit");
    waiting.release();
    const open = await listOpenOutcomes(pool, "lims", 10);
    const [, earlier = 0, later = 0] = open.map(({ outcome }) => outcome.occurredAt.getTime());
    expect(await reportedKinds(pool)).toEqual(["acknowledged", "changed submitted", "changed completed"]);
    expect(later).toBeGreaterThanOrEqual(earlier);
  }));

describe("several requests about one order", () => {
  const DONE_IN_ORDER = [
    ["hold", undefined],
    ["change", undefined],
    ["release", undefined],
    ["discontinue", undefined],
    ["hold", "CONTROL_TOO_LATE"],
  ];
  const ASKED = [
    aControl(2, "hold", ITS_NUMBER),
    aControl(3, "change", TO_OTHER),
    aControl(4, "release", ITS_NUMBER),
    aControl(5, "discontinue", ITS_NUMBER),
    aControl(6, "hold", ITS_NUMBER),
  ];

  test("are done in the order in which they came, each by what those before it led to", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()]), ...ASKED]);
      expect((await answersTo(pool)).map(({ control, refusal }) => [control, refusal?.code])).toEqual(
        DONE_IN_ORDER,
      );
      expect(await only(pool)).toMatchObject({
        state: "cancelled",
        heldAt: undefined,
        containers: [{ label: "V-2" }],
      });
      const events = await listEvents(pool, (await only(pool)).id);
      const kinds = events.map(({ kind }) => kind).filter((kind) => !/_(asked|refused)$/.test(kind));
      expect(kinds).toEqual(["received", "held", "changed", "released", "cancelled"]);
    }));

  test("lead to the same where each comes in a file of its own", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      for (const asked of ASKED) await commit(pool, [asked]);
      expect((await answersTo(pool)).map(({ control, refusal }) => [control, refusal?.code])).toEqual(
        DONE_IN_ORDER,
      );
    }));

  test("of which two change it end with the later content, and keep a name that only the first one gives", () =>
    withLedger(async ({ pool }) => {
      const renamed = anOrder({ subject: { code: phi("SUBJ-1"), lastName: phi("Newly") } });
      const nameless = { ...OTHER, subject: { code: phi("SUBJ-1") } };
      const change = (ordinal: number, content: typeof OTHER) =>
        aControl(ordinal, "change", [{ ...TO_OTHER[0], content }]);
      await commit(pool, [aRecord(1, [anOrder()]), change(2, renamed), change(3, nameless)]);
      const order = await only(pool);
      expect(order.subject.lastName?.reveal()).toBe("Newly");
      expect(order.containers).toMatchObject([{ label: "V-2" }]);
    }));

  test("leave an order alone that is held and released again at once", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const mine = await claim(pool);
      await commit(pool, [aControl(2, "hold", ITS_NUMBER), aControl(3, "release", ITS_NUMBER)]);
      expect((await answersTo(pool)).map(({ refusal }) => refusal)).toEqual([undefined, undefined]);
      expect(await only(pool)).toMatchObject({ state: "submitting", heldAt: undefined });
      expect(await intend(pool, mine)).toBeDefined();
    }));
});

describe("while a call may be under way", () => {
  test("only a cancellation stays open, and everything else is refused at once", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const mine = await claim(pool);
      await intend(pool, mine);
      await commit(pool, [
        aControl(2, "hold", ITS_NUMBER),
        aControl(3, "cancel", ITS_NUMBER),
        aControl(4, "replace", TO_OTHER),
      ]);
      expect((await answersTo(pool)).map(({ control, refusal }) => [control, refusal?.code])).toEqual([
        ["hold", "CONTROL_UNDER_WAY"],
        ["replace", "CONTROL_UNDER_WAY"],
      ]);
      const { rows } = await pool.query("select control from control_requests where state = 'open'");
      expect(rows).toEqual([{ control: "cancel" }]);
      await changeOrders(pool, [{ ...mine, to: "received", isReleased: true, call: { end: "nothing" } }]);
      expect(await lastAnswer(pool)).toMatchObject({ control: "cancel", refusal: undefined });
      expect((await only(pool)).state).toBe("cancelled");
    }));

  test("the ledger itself holds no open request but to cancel", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const open = (control: Control) =>
        pool.query(
          "insert into control_requests (control, connector, order_id, actor, state) select $1, 'lims', id, 'test', 'open' from orders",
          [control],
        );
      await open("cancel");
      await expect(open("hold")).rejects.toThrow("control_requests_only_cancellations_stay_open");
    }));

  test("a cancellation that comes at the moment in which the call is known to have had no effect is carried out", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const mine = await claim(pool);
      await intend(pool, mine);
      await Promise.all([
        commit(pool, [aControl(2, "cancel", ITS_NUMBER)]),
        changeOrders(pool, [{ ...mine, to: "received", isReleased: true, call: { end: "nothing" } }]),
      ]);
      expect((await only(pool)).state).toBe("cancelled");
      expect(await answersTo(pool)).toHaveLength(1);
    }));
});

describe("a question for an order's state", () => {
  test("is answered at once, also while a call is under way, and leaves no trace", () =>
    withLedger(async ({ pool }) => {
      const [orderId] = (await ordered(pool)) as [number];
      await intend(pool, await claim(pool));
      const before = await listEvents(pool, orderId);
      await commit(pool, [aControl(2, "status", ITS_NUMBER)]);
      expect(await lastAnswer(pool)).toMatchObject({ control: "status", order: { state: "submitting" } });
      expect(await listEvents(pool, orderId)).toEqual(before);
      expect((await pool.query("select 1 from audit")).rows).toEqual([]);
    }));

  test("about an order that never came says so, and asks nobody for anything", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aControl(1, "status", ITS_NUMBER)]);
      expect(await lastAnswer(pool)).toMatchObject({ refusal: { code: "CONTROL_ORDER_UNKNOWN" } });
      expect(await listOpenTasks(pool, 10)).toEqual([]);
    }));

  test("that comes again gets the answer that it got, with the time of that", () =>
    withLedger(async ({ pool }) => {
      await ordered(pool);
      const asks = aControl(2, "status", ITS_NUMBER);
      await commit(pool, [asks]);
      await commit(pool, [aControl(3, "hold", ITS_NUMBER)]);
      await commit(pool, [asks]);
      expect((await lastAnswer(pool))?.order).toMatchObject({ isHeld: false });
      const answers = (await listOpenOutcomes(pool, "lims", 10)).filter(
        ({ outcome }) => outcome.kind === "control",
      );
      expect(answers.at(-1)?.outcome.occurredAt).toEqual(answers[0]?.outcome.occurredAt);
    }));
});
