import type pg from "pg";
import { expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { submitDue } from "../../src/jobs/submit/submit.ts";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { isAwaited } from "../support/cut-way.ts";
import { aCancel, aControl } from "../support/order-control.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { submitDeps } from "../support/submit.ts";
import { withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;

/** Takes what is due, which the lab changes or cancels once it is in hand, before anything else is done about it. */
async function submitWhile(pool: pg.Pool, asked: () => Promise<unknown>): Promise<void> {
  const requireNewestKnown = async () => void (await asked());
  await submitDue(10, { ...submitDeps(pool, {}), requireNewestKnown }, never);
}

test("an order is not marked for having another one's number by a claim from before the lab changed it", () =>
  withLedger(async ({ pool }) => {
    const [first] = await commit(pool, [aRecord(1, [anOrder()])], "lims");
    await changeOrders(pool, [
      {
        ...{ orderId: first as number, from: ["received"], to: "submitted", nextInMs: 0 },
        request: { surface: "request", requestId: 1001 },
      },
    ]);
    await commit(pool, [aRecord(2, [anOrder()])], "bench");
    const other = { containers: [{ label: "V-2", description: "vial" }] };
    const content = { placerOrderNumber: "A-1", subjectCode: phi("SUBJ-1"), content: anOrder(other) };
    await submitWhile(pool, () => commit(pool, [aControl(3, "change", [content])], "bench"));
    const [order] = (await findOrders(pool, "A-1")).filter(({ connector }) => connector === "bench");
    expect(order).toMatchObject({ state: "received", sharesNumber: false, containers: [{ label: "V-2" }] });
  }));

test("a merge that the lab cancelled while it was in hand asks nobody to see to the orders of its subject", () =>
  withLedger(async ({ pool }) => {
    const [held] = await commit(pool, [aRecord(1, [anOrder({ code: "OLD" })])]);
    await pool.query("update orders set held_at = now()");
    const merge = { operation: "MERGE", code: "NEW", placerOrderNumber: "M-1", containers: [] } as const;
    await commit(pool, [aRecord(2, [anOrder({ ...merge, priorSubjectCode: phi("OLD") })])]);
    await submitWhile(pool, () => commit(pool, [aCancel(3, [{ placerOrderNumber: "M-1" }])]));
    expect((await findOrders(pool, "M-1")).map(({ state }) => state)).toEqual(["cancelled"]);
    expect(await listOpenTasks(pool, 10)).toEqual([]);
    const kinds = (await listEvents(pool, held as number)).map(({ kind }) => kind);
    expect(kinds).not.toContain("subject_merged");
  }));

test("an order that the lab cancelled while a merge of its subject was taken up is nobody's to see to", () =>
  withLedger(async ({ pool }) => {
    const [held] = await commit(pool, [aRecord(1, [anOrder({ code: "OLD" })])]);
    await pool.query("update orders set held_at = now()");
    const merge = { operation: "MERGE", code: "NEW", placerOrderNumber: "M-1", containers: [] } as const;
    await commit(pool, [aRecord(2, [anOrder({ ...merge, priorSubjectCode: phi("OLD") })])]);
    const lab = await pool.connect();
    const taken = submitWhile(pool, () =>
      lab.query(
        "begin; update orders set state = 'cancelled', held_at = null where placer_order_number = 'A-1'",
      ),
    );
    await isAwaited(pool);
    await lab.query("commit");
    lab.release();
    await taken;
    const [merged] = await findOrders(pool, "M-1");
    expect(merged).toMatchObject({ failure: { code: "SUBJECT_MERGE_NOT_OFFERED" } });
    const tasks = await listOpenTasks(pool, 10);
    expect(tasks.filter(({ orderId }) => orderId === `o${held}`)).toEqual([]);
    const kinds = (await listEvents(pool, held as number)).map(({ kind }) => kind);
    expect(kinds).not.toContain("subject_merged");
  }));
