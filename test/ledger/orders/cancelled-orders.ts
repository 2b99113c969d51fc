import type pg from "pg";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { sendCancel } from "../../../src/ledger/orders/cancellations.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { claimNext, recordCall } from "../../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";

export const OPERATOR = { actor: "test", reason: "the patient moved" };

export const BOTH = new Set(["request", "external"] as const);

export const CANCEL = [{ control: "cancel", placerOrderNumber: "A-1" }] as const;

export const REFUSED = { code: "CANCEL_REFUSED", text: "status 409" } as const;

export async function only(pool: pg.Pool, number = "A-1") {
  const [order] = await findOrders(pool, number);
  if (!order) throw new Error(`no order ${number}`);
  return order;
}

/** An order in a worker's hands; with an intent, its call may have left. */
export async function claim(pool: pg.Pool, kind?: "subject" | "request") {
  const order = await claimNext(pool);
  const { id: orderId, fence } = order;
  const call = { orderId, fence, knownIds: [], body: {}, surface: "request" } as const;
  if (kind) await recordCall(pool, { ...call, kind });
  return { orderId, fence };
}

export async function submit(
  pool: pg.Pool,
  { orderId, fence }: Awaited<ReturnType<typeof claim>>,
  requestId = 5,
) {
  await changeOrders(pool, [
    {
      orderId,
      fence,
      to: "submitted",
      request: { surface: "request", requestId },
      isReleased: true,
      call: { end: "made" },
    },
  ]);
}

export async function orderedAndSubmitted(pool: pg.Pool): Promise<number> {
  const [orderId] = await commit(pool, [aRecord(1, [anOrder()])]);
  await submit(pool, await claim(pool, "request"));
  return orderId as number;
}

export const ABOUT_5 = { surface: "request", serviceId: 5 } as const;

/** A planned call leaves, through a worker. */
export const send = (pool: pg.Pool, due: { orderId: number; callId: number }, firstLookMs = 0) =>
  sendCancel(pool, { ...due, workerId: 1 }, firstLookMs);
