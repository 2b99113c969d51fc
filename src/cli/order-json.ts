import { FAILURES, type FailureCode } from "../core/failures.ts";
import { formatId } from "../ledger/ids.ts";
import type { LedgerOrder } from "../ledger/order-row.ts";
import type { DeliveryView } from "../ledger/views.ts";
import { reveal } from "./hidden.ts";
import { numberJson } from "./order-number.ts";

/** A reason with its mend, as JSON. Codes of a later release have no mend here. */
export function reasonJson(
  reason: { readonly code: string; readonly text: string } | undefined,
): { code: string; text: string; mend: string | null } | null {
  return reason ? { ...reason, mend: FAILURES[reason.code as FailureCode]?.mend ?? null } : null;
}

/** An order as `orders list --json` tells it. */
export function orderJson(order: LedgerOrder, mayShowPhi: boolean) {
  return {
    orderId: formatId("o", order.id),
    ...numberJson(order),
    operation: order.operation,
    facilityCode: order.facilityCode,
    facilityId: order.facilityId,
    connector: order.connector,
    messageId: formatId("m", order.messageId),
    subjectCode: reveal(order.subject.code, mayShowPhi) ?? null,
    state: order.state,
    changedAt: order.changedAt.toISOString(),
    receivedAt: order.receivedAt.toISOString(),
    submittedAt: order.submittedAt?.toISOString() ?? null,
    nextAt: order.nextAt.toISOString(),
    attempts: order.attempts,
    surface: order.surface ?? null,
    requestId: order.requestId ?? null,
    procedureId: order.procedureId ?? null,
    procedureCode: order.procedureCode ?? null,
    remoteStatus: order.remoteStatus ?? null,
    heldAt: order.heldAt?.toISOString() ?? null,
    reason: reasonJson(order.failure),
  };
}

/** A delivery as JSON. */
export function deliveryJson(delivery: DeliveryView) {
  return {
    deliveryId: delivery.deliveryId,
    connector: delivery.connector,
    fileName: delivery.fileName,
    state: delivery.state,
    attempts: delivery.attempts,
    createdAt: delivery.createdAt.toISOString(),
    deliveredAt: delivery.deliveredAt?.toISOString() ?? null,
    nextAt: delivery.nextAt.toISOString(),
    waitsBehind: delivery.waitsBehind ?? null,
    reason: reasonJson(delivery.failure),
  };
}
