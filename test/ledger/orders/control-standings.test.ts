import type pg from "pg";
import { describe, expect, test } from "vitest";
import { CONTROLS, type Control } from "../../../src/core/order-control.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { openCalls } from "../../support/calls.ts";
import { aControl } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";
import { answersTo, submitted } from "./controlled.ts";

/** Brings an order of number `A-<n>` into a standing in which a request may find it. */
const STANDINGS = {
  received: async () => undefined,
  parked: (pool, orderId) =>
    changeOrders(pool, [
      { orderId, to: "parked", failure: { code: "SUBJECT_UNKNOWN", text: "no such subject" } },
    ]),
  submitted: (pool, orderId) => changeOrders(pool, [{ orderId, from: ["received"], ...submitted(orderId) }]),
  accepted: (pool, orderId) =>
    changeOrders(pool, [{ orderId, from: ["received"], ...submitted(orderId), to: "accepted" }]),
  in_progress: (pool, orderId) =>
    changeOrders(pool, [{ orderId, from: ["received"], ...submitted(orderId), to: "in_progress" }]),
  completed: (pool, orderId) =>
    changeOrders(pool, [{ orderId, from: ["received"], ...submitted(orderId), to: "completed" }]),
  failed: (pool, orderId) =>
    changeOrders(pool, [{ orderId, from: ["received"], ...submitted(orderId), to: "failed" }]),
  discarded: (pool, orderId) => changeOrders(pool, [{ orderId, to: "discarded" }]),
  "under way": (pool, orderId) =>
    pool
      .query("update orders set state = 'submitting' where id = $1", [orderId])
      .then(() => openCalls(pool, { where: `o.id = ${orderId}` })),
} as const satisfies Record<string, (pool: pg.Pool, orderId: number) => Promise<unknown>>;

/** All of an order that a request must leave alone when the service has or may have the order. */
const facts = async (pool: pg.Pool, orderId: number) =>
  (
    await pool.query(
      `select o.state, o.request_id, (select k.outcome is null from calls k where k.order_id = o.id and k.kind <> 'cancel') as is_called, o.held_at, o.mark, o.fence, o.next_at,
              encode(o.content_digest, 'hex') as digest,
              (select jsonb_agg(c.label) from order_containers c where c.order_id = o.id) as labels
         from orders o where o.id = $1`,
      [orderId],
    )
  ).rows[0];

const UNSENT = ["received", "parked"];

describe.each(CONTROLS)("the request to %s an order", (control: Control) => {
  test("gets one honest answer in any standing, and touches nothing that the service has", () =>
    withLedger(async ({ pool }) => {
      for (const [index, [name, bring]] of Object.entries(STANDINGS).entries()) {
        const number = `A-${index + 1}`;
        const order = anOrder({ placerOrderNumber: number, code: `S-${index}` });
        const [orderId] = (await commit(pool, [aRecord(1, [order], { messageControlId: number })])) as [
          number,
        ];
        await bring(pool, orderId);
        const before = await facts(pool, orderId);
        const content = { ...order, containers: [{ label: "V-2", description: "" }] };
        const request = {
          placerOrderNumber: number,
          subjectCode: order.subject.code,
          ...(control === "change" || control === "replace" ? { content } : {}),
        };
        const answersBefore = (await answersTo(pool)).length;
        await commit(pool, [aControl(1, control, [request], { messageControlId: `W-${number}` })]);
        const fresh = (await answersTo(pool)).slice(answersBefore);
        const after = await facts(pool, orderId);
        const seen = `${control} of an order ${name}`;
        if (!UNSENT.includes(name) || control === "status") expect(after, seen).toEqual(before);
        if (control === "status") {
          expect(fresh, seen).toMatchObject([
            { control, refusal: undefined, order: { orderId: `o${orderId}` } },
          ]);
        } else if (UNSENT.includes(name)) {
          expect(fresh, seen).toMatchObject([{ control, refusal: undefined }]);
          expect(after.request_id, seen).toBeNull();
          expect(["received", "parked", "cancelled"], seen).toContain(after.state);
        } else if (name === "under way") {
          const isOpen = control === "cancel" || control === "discontinue";
          expect(fresh, seen).toMatchObject(isOpen ? [] : [{ refusal: { code: "CONTROL_UNDER_WAY" } }]);
        } else if (
          (control === "cancel" || control === "discontinue") &&
          before.request_id !== null &&
          !["completed", "failed"].includes(name)
        ) {
          // Whether the service can cancel it is found out by a job of its own.
          expect(fresh, seen).toEqual([]);
        } else {
          expect(fresh, seen).toMatchObject([{ control, refusal: { code: expect.any(String) } }]);
        }
      }
    }));
});
