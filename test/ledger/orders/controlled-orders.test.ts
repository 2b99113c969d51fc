import type pg from "pg";
import { describe, expect, test } from "vitest";
import { phi } from "../../../src/core/phi.ts";
import { listOpenTasks } from "../../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { aCancel, aControl, answers } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

test("a number of ours for a procedure names an order of the external surface, whatever else has a procedure of that number", () =>
  withLedger(async ({ pool }) => {
    const [first, second] = (await commit(pool, [
      aRecord(1, [anOrder({ placerOrderNumber: "A-1", code: "S-1" })]),
      aRecord(2, [anOrder({ placerOrderNumber: "A-2", code: "S-2" })]),
    ])) as [number, number];
    const common = { from: ["received"], to: "submitted" } as const;
    await changeOrders(pool, [
      { ...common, orderId: first, request: { surface: "request", requestId: 1 }, procedureId: 8 },
      { ...common, orderId: second, request: { surface: "external", procedureId: 8 } },
    ]);
    await commit(pool, [aCancel(3, [{ fillerNumber: { kind: "procedure", id: 8 } }])]);
    const { rows } = await pool.query("select order_id from control_requests");
    expect(rows).toEqual([{ order_id: second }]);
    expect((await findOrders(pool, "A-1"))[0]?.state).toBe("submitted");
  }));

describe("a number under which the lab has sent several orders", () => {
  const numbered = (code: string, label: string) =>
    anOrder({ code, containers: [{ label, description: "" }], placerOrderNumber: "A-1" });
  const CANCEL = { placerOrderNumber: "A-1" } as const;
  const states = async (pool: pg.Pool) => (await findOrders(pool, "A-1")).map(({ state }) => state).reverse();

  /** Two orders of one number: the later one waits for a person because of it. */
  const both = (pool: pg.Pool, code = "S-1") =>
    commit(pool, [aRecord(1, [numbered("S-1", "V-1")]), aRecord(2, [numbered(code, "V-2")])]);

  test.each([
    ["cancel", "CANCEL_ORDER_AMBIGUOUS"],
    ["hold", "CONTROL_ORDER_AMBIGUOUS"],
    ["status", "CONTROL_ORDER_AMBIGUOUS"],
  ] as const)("is no answer to which of two subjects' to %s", (control, code) =>
    withLedger(async ({ pool }) => {
      await both(pool, "S-2");
      await commit(pool, [aControl(3, control, [CANCEL])]);
      expect(await answers(pool)).toEqual([[code]]);
      expect(await states(pool)).toEqual(["received", "parked"]);
      const { rows } = await pool.query("select failure_text as text from control_requests");
      expect(rows[0].text).toContain("to mean the first of them, send it again with that one's subject code");
      expect(rows[0].text).not.toMatch(/\bo\d/);
      const told = await pool.query("select payload::text as text from outcomes where kind = 'control'");
      expect(told.rows[0].text).not.toContain("S-1");
      expect(await listOpenTasks(pool, 10)).toHaveLength(control === "status" ? 0 : 1);
    }),
  );

  test("names the first one of two subjects' where its subject is named, as the refusal says", () =>
    withLedger(async ({ pool }) => {
      await both(pool, "S-2");
      await commit(pool, [aCancel(3, [{ ...CANCEL, subjectCode: phi("S-1") }])]);
      expect(await answers(pool)).toEqual([["CR"]]);
      expect(await states(pool)).toEqual(["cancelled", "parked"]);
    }));

  test("is no answer, whatever subject is named, where none of them had it first", () =>
    withLedger(async ({ pool }) => {
      await both(pool, "S-2");
      await pool.query("update orders set shares_number = true");
      await commit(pool, [aCancel(3, [CANCEL]), aCancel(4, [{ ...CANCEL, subjectCode: phi("S-1") }])]);
      expect(await answers(pool)).toEqual([["CANCEL_ORDER_AMBIGUOUS"], ["CANCEL_ORDER_AMBIGUOUS"]]);
      const { rows } = await pool.query("select distinct failure_text as text from control_requests");
      expect(rows.map(({ text }) => text)).toEqual([expect.stringContaining("nothing shows which is meant")]);
    }));

  test("names the first one, whose number it is", () =>
    withLedger(async ({ pool }) => {
      await both(pool);
      await commit(pool, [aCancel(3, [CANCEL])]);
      expect(await answers(pool)).toEqual([["CR"]]);
      expect(await states(pool)).toEqual(["cancelled", "parked"]);
    }));

  test("names the first one also when it is done: that it was cancelled must not be heard because of another", () =>
    withLedger(async ({ pool }) => {
      const [first] = (await both(pool)) as [number];
      await changeOrders(pool, [{ orderId: first, from: ["received"], to: "completed" }]);
      await commit(pool, [aCancel(3, [CANCEL])]);
      expect(await answers(pool)).toEqual([["CANCEL_TOO_LATE"]]);
      expect(await states(pool)).toEqual(["completed", "parked"]);
    }));

  test.each(["completed", "cancelled"] as const)(
    "is no answer to whose order is meant where they are of different subjects, though one is %s",
    (state) =>
      withLedger(async ({ pool }) => {
        const [first] = (await both(pool, "S-2")) as [number];
        await changeOrders(pool, [{ orderId: first, from: ["received"], to: state }]);
        await commit(pool, [aCancel(3, [CANCEL]), aControl(4, "status", [CANCEL])]);
        expect(await answers(pool)).toEqual([["CANCEL_ORDER_AMBIGUOUS"], ["CONTROL_ORDER_AMBIGUOUS"]]);
        expect(await states(pool)).toEqual([state, "parked"]);
        await commit(pool, [aCancel(5, [{ ...CANCEL, subjectCode: phi("S-2") }])]);
        expect(await answers(pool)).toContainEqual(["CANCEL_ORDER_DIFFERS"]);
        expect(await states(pool)).toEqual([state, "parked"]);
      }),
  );

  test("names the one that has the number of ours which the message has too, the second one as well", () =>
    withLedger(async ({ pool }) => {
      const [first, second] = (await both(pool, "S-2")) as [number, number];
      await changeOrders(pool, [
        {
          orderId: second,
          from: ["parked"],
          to: "submitted",
          request: { surface: "request", requestId: 8 },
        },
      ]);
      await commit(pool, [aCancel(3, [{ ...CANCEL, fillerNumber: { kind: "request", id: 8 } }])]);
      const asked = await pool.query("select order_id from control_requests");
      expect(asked.rows).toEqual([{ order_id: second }]);
      await changeOrders(pool, [
        {
          orderId: first,
          from: ["received"],
          to: "submitted",
          request: { surface: "request", requestId: 7 },
        },
      ]);
      await commit(pool, [aRecord(4, [numbered("S-3", "V-3")])]);
      await commit(pool, [aCancel(5, [{ ...CANCEL, fillerNumber: { kind: "request", id: 7 } }])]);
      const { rows } = await pool.query(
        "select order_id, state from control_requests order by id desc limit 1",
      );
      expect(rows).toEqual([{ order_id: first, state: "open" }]);
    }));

  test("names the first one once all have ended", () =>
    withLedger(async ({ pool }) => {
      const [first, second] = (await both(pool)) as [number, number];
      await changeOrders(pool, [
        { orderId: first, from: ["received"], to: "completed" },
        { orderId: second, from: ["parked"], to: "discarded" },
      ]);
      await commit(pool, [aCancel(3, [CANCEL])]);
      expect(await answers(pool)).toEqual([["CANCEL_TOO_LATE"]]);
      expect((await pool.query("select order_id from control_requests")).rows).toEqual([{ order_id: first }]);
    }));

  test("is not that of an order which came after the message", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [
        aRecord(1, [numbered("S-1", "V-1")]),
        aCancel(2, [CANCEL]),
        aRecord(3, [numbered("S-1", "V-2")]),
      ]);
      expect(await answers(pool)).toEqual([["CR"]]);
      expect(await states(pool)).toEqual(["cancelled", "parked"]);
    }));
});

describe("after a merge, a request under the code that stayed", () => {
  const merge = (n: number, prior: string, code: string, facilityId = 12) =>
    aRecord(n, [
      {
        ...anOrder({ code, operation: "MERGE", placerOrderNumber: undefined, containers: [], facilityId }),
        priorSubjectCode: phi(prior),
      },
    ]);
  const under = (code: string) => ({ placerOrderNumber: "A-1", subjectCode: phi(code) });
  const ordered = (code: string) => aRecord(1, [anOrder({ code })]);

  test("reaches the order", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [ordered("S-1"), merge(2, "S-1", "S-2"), aCancel(3, [under("S-2")])]);
      expect(await answers(pool)).toEqual([["CR"]]);
    }));

  test("reaches it over several merges, in a circle too", () =>
    withLedger(async ({ pool }) => {
      const merges = [merge(2, "S-1", "S-2"), merge(3, "S-2", "S-1"), merge(4, "S-2", "S-3")];
      await commit(pool, [ordered("S-1"), ...merges, aCancel(5, [under("S-3")])]);
      expect(await answers(pool)).toEqual([["CR"]]);
    }));

  test("does not reach it from the code that went, of another facility, or by a merge that a person discarded", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [ordered("S-1"), merge(2, "S-2", "S-1"), merge(3, "S-1", "S-3", 13)]);
      const [discarded] = (await commit(pool, [merge(4, "S-1", "S-4")])) as [number];
      await changeOrders(pool, [{ orderId: discarded, from: ["received"], to: "discarded" }]);
      await commit(pool, [
        aCancel(5, [under("S-2")]),
        aCancel(6, [under("S-3")]),
        aCancel(7, [under("S-4")]),
      ]);
      expect(await answers(pool)).toEqual(Array(3).fill(["CANCEL_ORDER_DIFFERS"]));
    }));

  test("does not change it, since an order stays with its subject", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [ordered("S-1"), merge(2, "S-1", "S-2")]);
      await commit(pool, [aControl(3, "change", [{ ...under("S-2"), content: anOrder({ code: "S-2" }) }])]);
      expect(await answers(pool)).toEqual([["CONTROL_ORDER_DIFFERS"]]);
    }));
});
