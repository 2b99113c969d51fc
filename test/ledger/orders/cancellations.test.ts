import { describe, expect, test } from "vitest";
import { phi } from "../../../src/core/phi.ts";
import { countOpenTasks, listOpenTasks } from "../../../src/ledger/operator/tasks.ts";
import { listEvents } from "../../../src/ledger/operator/views.ts";
import { discardOrder, retryOrder } from "../../../src/ledger/orders/acts.ts";
import { cancelCallsOf } from "../../../src/ledger/orders/calls.ts";
import { answerCancel, cancelledThere, cancelOrder } from "../../../src/ledger/orders/cancellations.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { findDueLooks, recordLook } from "../../../src/ledger/orders/looks.ts";
import { dueCancels } from "../../support/calls.ts";
import { recordCall, takeDue } from "../../support/hand-over.ts";
import { aCancel, answers, reportedKinds } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { at } from "../../support/places.ts";
import { withLedger } from "../../support/with-ledger.ts";
import {
  ABOUT_5,
  BOTH,
  CANCEL,
  claim,
  OPERATOR,
  only,
  orderedAndSubmitted,
  REFUSED,
  send,
  submit,
} from "./cancelled-orders.ts";

const GONE = { code: "SUBJECT_UNKNOWN", text: "no such subject" } as const;

const REQUEST_5 = { surface: "request", requestId: 5 } as const;

describe("a request to cancel an order that nothing has left of", () => {
  test("is granted at once, and the order never goes out", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      await commit(pool, [aCancel(2, CANCEL)]);
      expect(await only(pool)).toMatchObject({ state: "cancelled", failure: { code: "ORDER_CANCELLED" } });
      expect(await takeDue(pool)).toEqual([]);
      expect(await reportedKinds(pool)).toEqual(["acknowledged", "changed cancelled", "control"]);
      expect(await answers(pool)).toEqual([["CR"]]);
    }));

  test("is granted in the batch that brings the order", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()]), aCancel(2, CANCEL)]);
      expect((await only(pool)).state).toBe("cancelled");
      expect(await answers(pool)).toEqual([["CR"]]);
    }));

  test("is granted in the message that brings the order", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()], { controlRequests: CANCEL })]);
      expect((await only(pool)).state).toBe("cancelled");
      expect(await reportedKinds(pool)).toEqual(["acknowledged", "changed cancelled", "control"]);
    }));

  test("takes it from a worker that is about to call, which then may not", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const { orderId, fence } = await claim(pool);
      await commit(pool, [aCancel(2, CANCEL)]);
      const call = { orderId, fence, kind: "request", knownIds: [], body: {} } as const;
      expect(await recordCall(pool, { ...call, surface: "request" })).toBeUndefined();
      expect((await only(pool)).state).toBe("cancelled");
    }));

  test("lets either the worker's call or the cancellation through when both come at once", () =>
    withLedger(async ({ pool }) => {
      for (let round = 1; round <= 12; round += 1) {
        const number = `R-${round}`;
        await commit(pool, [aRecord(round, [anOrder({ placerOrderNumber: number, code: number })])]);
        const { orderId, fence } = await claim(pool);
        const call = { orderId, fence, kind: "request", knownIds: [], body: {} } as const;
        const [intendedAt] = await Promise.all([
          recordCall(pool, { ...call, surface: "request" }),
          commit(pool, [aCancel(100 + round, [{ placerOrderNumber: number }])]),
        ]);
        const { state } = await only(pool, number);
        expect(state).toBe(intendedAt ? "submitting" : "cancelled");
      }
    }));

  test("is granted for a parked one", () =>
    withLedger(async ({ pool }) => {
      const [orderId] = await commit(pool, [aRecord(1, [anOrder()])]);
      await changeOrders(pool, [{ orderId: orderId as number, to: "parked", failure: GONE }]);
      await commit(pool, [aCancel(2, CANCEL)]);
      expect((await only(pool)).state).toBe("cancelled");
    }));

  test("lets the next order of the subject go on", () =>
    withLedger(async ({ pool }) => {
      const orders = ["A-1", "A-2"].map((placerOrderNumber) => anOrder({ placerOrderNumber }));
      const ids = await commit(pool, [aRecord(1, orders)]);
      await commit(pool, [aCancel(2, CANCEL)]);
      expect((await takeDue(pool)).map((due) => due.orderId)).toEqual([ids[1]]);
    }));
});

describe("a request to cancel that names no order of the sender", () => {
  test("is refused when there is none of that number", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aCancel(1, CANCEL)]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_UNKNOWN"]]);
      expect(await reportedKinds(pool)).toEqual(["control"]);
    }));

  test("is refused when the order comes after it, even in the same batch, and the order goes on", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aCancel(1, CANCEL), aRecord(2, [anOrder()])]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_UNKNOWN"]]);
      expect((await only(pool)).state).toBe("received");
    }));

  test("is refused when the order came through another connector", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])], "other");
      await commit(pool, [aCancel(1, CANCEL)]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_UNKNOWN"]]);
      expect((await only(pool)).state).toBe("received");
    }));

  test("is refused for another subject than the order's, tells nothing of it, and asks a person to look", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder({ code: "SUBJ-1" })])]);
      await commit(pool, [aCancel(2, [{ placerOrderNumber: "A-1", subjectCode: phi("SUBJ-2") }])]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_DIFFERS"]]);
      expect((await only(pool)).state).toBe("received");
      const { rows } = await pool.query("select payload::text as text from outcomes where kind = 'control'");
      expect(rows[0].text).not.toContain("SUBJ-1");
      expect(await listOpenTasks(pool, 10)).toHaveLength(1);
    }));

  test("is refused when its two numbers are of different orders", () =>
    withLedger(async ({ pool }) => {
      await orderedAndSubmitted(pool);
      const fillerNumber = { kind: "request", id: 6 } as const;
      await commit(pool, [aCancel(2, [{ placerOrderNumber: "A-1", fillerNumber }])]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_DIFFERS"]]);
    }));
});

test("a request to cancel waits behind a message about the same order that waits for a code table, and for no other", () =>
  withLedger(async ({ pool }) => {
    const waiting = aRecord(1, [], {
      verdict: "waiting",
      orderNumbers: ["A-1"],
      problems: [
        { code: "MAPPING_FACILITY_UNKNOWN", place: at("message 1, MSH-4"), message: 'holds "WEST"' },
      ],
    });
    await commit(pool, [waiting, aRecord(2, [anOrder({ placerOrderNumber: "A-2" })])]);
    await commit(pool, [aCancel(3, CANCEL, { orderNumbers: ["A-1"] })]);
    await commit(pool, [aCancel(4, [{ placerOrderNumber: "A-2" }], { orderNumbers: ["A-2"] })]);
    expect(await answers(pool)).toEqual([["CR"]]);
    expect((await reportedKinds(pool)).filter((kind) => kind === "waiting")).toHaveLength(2);
  }));

describe("a request to cancel by the number that we gave the order", () => {
  test("finds the order of that request", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, [{ fillerNumber: { kind: "request", id: 5 } }])]);
      expect(await dueCancels(pool)).toMatchObject([{ orderId }]);
    }));

  test("finds no order that came through another connector", () =>
    withLedger(async ({ pool }) => {
      await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, [{ fillerNumber: { kind: "request", id: 5 } }])], "other");
      expect(await answers(pool, "other")).toEqual([["CANCEL_ORDER_UNKNOWN"]]);
    }));

  test("finds the order of that procedure", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      await changeOrders(pool, [{ orderId, procedureId: 77 }]);
      await commit(pool, [aCancel(2, [{ fillerNumber: { kind: "procedure", id: 77 } }])]);
      expect(await dueCancels(pool)).toMatchObject([{ orderId }]);
    }));
});

describe("a request to cancel while a call may be under way", () => {
  test("is acknowledged and waits", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      await claim(pool, "request");
      await commit(pool, [aCancel(2, CANCEL)]);
      expect((await only(pool)).state).toBe("submitting");
      expect(await reportedKinds(pool)).toEqual(["acknowledged", "acknowledged"]);
      expect(await dueCancels(pool)).toEqual([]);
    }));

  test("is granted the moment the call proves to have had no effect", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const { orderId, fence } = await claim(pool, "request");
      await commit(pool, [aCancel(2, CANCEL)]);
      await changeOrders(pool, [
        { orderId, fence, to: "received", isReleased: true, call: { end: "nothing" } },
      ]);
      expect((await only(pool)).state).toBe("cancelled");
      expect(await takeDue(pool)).toEqual([]);
      expect(await answers(pool)).toEqual([["CR"]]);
    }));

  test("is granted between the registration of the subject and the request", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const { orderId, fence } = await claim(pool, "subject");
      await commit(pool, [aCancel(2, CANCEL)]);
      await changeOrders(pool, [{ orderId, fence, call: { end: "made" } }]);
      const call = { orderId, fence, kind: "request", knownIds: [], body: {} } as const;
      expect(await recordCall(pool, { ...call, surface: "request" })).toBeUndefined();
      expect((await only(pool)).state).toBe("cancelled");
    }));

  test("goes on to the service when the call had made the request", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const held = await claim(pool, "request");
      await commit(pool, [aCancel(2, CANCEL)]);
      await submit(pool, held);
      expect(await dueCancels(pool)).toMatchObject([{ orderId: held.orderId }]);
      expect(await answers(pool)).toEqual([]);
    }));

  test("keeps the order from being sent anew when a person has a parked one retried and nothing is found", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const { orderId, fence } = await claim(pool, "request");
      const failure = { code: "SUBMIT_UNCERTAIN", text: "" } as const;
      await changeOrders(pool, [{ orderId, fence, to: "parked", failure, isReleased: true }]);
      await commit(pool, [aCancel(2, CANCEL)]);
      expect((await only(pool)).state).toBe("parked");
      await retryOrder(pool, { id: orderId }, OPERATOR);
      await changeOrders(pool, [{ orderId, to: "received", isReleased: true, call: { end: "nothing" } }]);
      expect((await only(pool)).state).toBe("cancelled");
    }));

  test("is refused when an operator discards the order meanwhile", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const { orderId, fence } = await claim(pool, "request");
      const failure = { code: "SUBMIT_UNCERTAIN", text: "" } as const;
      await changeOrders(pool, [{ orderId, fence, to: "parked", failure, isReleased: true }]);
      await commit(pool, [aCancel(2, CANCEL)]);
      await discardOrder(pool, { id: orderId }, OPERATOR);
      expect(await answers(pool)).toEqual([["CANCEL_TOO_LATE"]]);
    }));
});

describe("a request to cancel an order that the service has", () => {
  test("is granted when the service shows it as cancelled, whoever sees that first", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, CANCEL)]);
      await Promise.all([
        changeOrders(pool, [
          {
            orderId,
            from: ["submitted"],
            to: "cancelled",
            failure: { code: "PROCEDURE_CANCELLED", text: "" },
            isReported: true,
          },
        ]),
        changeOrders(pool, [cancelledThere(orderId, REQUEST_5, "CANCELLED")]),
      ]);
      expect((await only(pool)).state).toBe("cancelled");
      expect(await answers(pool)).toEqual([["CR"]]);
      const ends = (await reportedKinds(pool)).filter((kind) => kind === "changed cancelled");
      expect(ends).toHaveLength(1);
    }));

  test("is not granted by what the service shows of a former request of the order", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      for (const former of [
        { surface: "request", requestId: 4 },
        { surface: "external", procedureId: 5 },
      ] as const)
        await changeOrders(pool, [cancelledThere(orderId, former, "CANCELLED")]);
      expect((await only(pool)).state).toBe("submitted");
    }));

  test("comes too late when the order is completed first, and a person gets one task", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, CANCEL), aCancel(3, CANCEL)]);
      await changeOrders(pool, [{ orderId, from: ["submitted"], to: "completed", isReported: true }]);
      expect(await answers(pool)).toEqual([["CANCEL_TOO_LATE"], ["CANCEL_TOO_LATE"]]);
      expect(await countOpenTasks(pool)).toMatchObject([{ kind: "cancel", count: 1 }]);
    }));

  test("is refused in the service's words, and the order goes on", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, CANCEL)]);
      await changeOrders(pool, [{ orderId, refusal: REFUSED }]);
      expect((await only(pool)).state).toBe("submitted");
      expect(await answers(pool)).toEqual([["CANCEL_REFUSED"]]);
      expect((await listEvents(pool, orderId)).map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(["cancel_asked", "cancel_refused"]),
      );
    }));

  test("is answered by the order's end when that comes before a refusal is written down", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, CANCEL)]);
      await changeOrders(pool, [{ orderId, from: ["submitted"], to: "cancelled", isReported: true }]);
      await changeOrders(pool, [{ orderId, refusal: REFUSED }]);
      expect(await answers(pool)).toEqual([["CR"]]);
      expect(await countOpenTasks(pool)).toEqual([]);
    }));

  test("has its call written down once, whoever is about to make it", () =>
    withLedger(async ({ pool }) => {
      await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, CANCEL)]);
      const [due] = await dueCancels(pool);
      if (!due) throw new Error("no cancellation is due");
      const sent = await Promise.all([1, 2, 3].map(() => send(pool, due)));
      expect(sent.filter(Boolean)).toHaveLength(1);
      expect(await dueCancels(pool)).toEqual([]);
      expect(cancelCallsOf(await only(pool), ABOUT_5)).toMatchObject([{ outcome: undefined }]);
      expect(await findDueLooks(pool, 10, "cancels")).toHaveLength(1);
    }));

  test("has no call made about a request that the order is linked to no more", () =>
    withLedger(async ({ pool }) => {
      await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, CANCEL)]);
      const [due] = await dueCancels(pool);
      if (!due) throw new Error("no cancellation is due");
      await pool.query("update orders set request_id = 6");
      expect(await send(pool, due)).toBe(false);
      await pool.query("update orders set request_id = null, procedure_id = 5");
      expect(await send(pool, due)).toBe(false);
    }));

  test("hears nothing from whoever is late with what a call before its last one did", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, CANCEL)]);
      const call = async () => {
        const [due] = await dueCancels(pool);
        expect(due && (await send(pool, due))).toBe(true);
        return due?.callId as number;
      };
      const callId = await call();
      const seen = await only(pool);
      await answerCancel(pool, orderId, { callId, end: "nothing" }, { againInMs: 0 });
      const second = await call();
      await answerCancel(pool, orderId, { callId: second, answer: "taken", lookInMs: 0 });
      await answerCancel(pool, orderId, { callId, end: "nothing" }, { againInMs: 0 });
      expect(await recordLook(pool, seen, { refusal: REFUSED }, { cancelId: callId })).toBe(false);
      expect(await dueCancels(pool)).toEqual([]);
      expect(cancelCallsOf(await only(pool), ABOUT_5)).toMatchObject([
        { outcome: "nothing" },
        { outcome: undefined, answer: "taken" },
      ]);
      expect(await answers(pool)).toEqual([]);
    }));

  test("has one call planned, however often it is asked for and the order changes", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      await commit(pool, [aCancel(2, CANCEL), aCancel(3, CANCEL)]);
      await cancelOrder(pool, orderId, OPERATOR, BOTH);
      await changeOrders(pool, [{ orderId, from: ["submitted"], to: "accepted" }]);
      expect((await only(pool)).calls.filter(({ kind }) => kind === "cancel")).toHaveLength(1);
    }));

  test("waits while a person looks into what the service has of it", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      const failure = { code: "REQUEST_MISMATCH", text: "" } as const;
      await changeOrders(pool, [{ orderId, from: ["submitted"], to: "parked", failure }]);
      await commit(pool, [aCancel(2, CANCEL)]);
      expect(await dueCancels(pool)).toEqual([]);
      expect(await answers(pool)).toEqual([]);
    }));
});

describe("the same cancel message again", () => {
  const again = (ordinal: number) => {
    const record = aCancel(2, CANCEL);
    return { ...record, message: { ...record.message, ordinal } };
  };

  test("gets the same answer and does nothing", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      await commit(pool, [again(1)]);
      await commit(pool, [again(1)]);
      expect(await answers(pool)).toEqual([["CR"], ["CR"]]);
      const { rows } = await pool.query("select count(*)::integer as count from control_requests");
      expect(rows).toEqual([{ count: 1 }]);
    }));

  test("gets the same answer when both stand in one batch", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      await commit(pool, [again(1), again(2)]);
      expect(await answers(pool)).toEqual([["CR"], ["CR"]]);
    }));

  test("is acknowledged as a repetition while the first waits", () =>
    withLedger(async ({ pool }) => {
      await orderedAndSubmitted(pool);
      await commit(pool, [again(1)]);
      await commit(pool, [again(1)]);
      expect(await answers(pool)).toEqual([]);
      const { rows } = await pool.query(
        "select (payload->>'isDuplicate')::boolean as again from outcomes where kind = 'acknowledged' order by id",
      );
      expect(rows.slice(1)).toEqual([{ again: false }, { again: true }]);
    }));

  test("is taken once when two bring it at the same moment", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      await Promise.all([commit(pool, [again(1)]), commit(pool, [again(1)])]);
      const { rows } = await pool.query("select count(*)::integer as count from control_requests");
      expect(rows).toEqual([{ count: 1 }]);
    }));

  test("in another message is granted again for an order that is cancelled", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()]), aCancel(2, CANCEL)]);
      await commit(pool, [aCancel(3, CANCEL)]);
      expect(await answers(pool)).toEqual([["CR"], ["CR"]]);
    }));
});

test("requests of one message that are decided together are answered together", () =>
  withLedger(async ({ pool }) => {
    const orders = ["A-1", "A-2"].map((placerOrderNumber) => anOrder({ placerOrderNumber }));
    await commit(pool, [aRecord(1, orders)]);
    const numbers = ["A-1", "A-9", "A-2"].map((placerOrderNumber) => ({ placerOrderNumber }));
    await commit(pool, [aCancel(2, numbers)]);
    expect(await answers(pool)).toEqual([["CR", "CANCEL_ORDER_UNKNOWN", "CR"]]);
  }));
