import { backoffMs } from "../../core/backoff.ts";
import { asFailure } from "../../core/failures.ts";
import { decideControl } from "../../core/order-control.ts";
import { formatId } from "../../ledger/ids.ts";
import { cancelCallsOf, type OrderCall } from "../../ledger/orders/calls.ts";
import { answerCancel, cancelledThere, sendCancel } from "../../ledger/orders/cancellations.ts";
import { changeOrders, type OrderChange } from "../../ledger/orders/change.ts";
import { recordLook } from "../../ledger/orders/looks.ts";
import { idOf, type LedgerOrder, linkOf, type ServiceLink } from "../../ledger/orders/row.ts";
import type { CancelLook, CancelTarget } from "../../service/cancel.ts";
import { nextStepAfter } from "../next-step.ts";
import { type CancelDecision, countSame, decideCancel, type Standing } from "./decide.ts";
import type { LookDeps } from "./deps.ts";

/**
 * Sees to an open call to cancel whose turn it is: one that is planned leaves, and of one that may have left the service is asked what it
 * did. The lab gets "cancelled" only when the service shows it, or has nothing more to show after a call of ours.
 *
 * @throws the SERVICE_ failures of reads
 */
export async function seeToCancel(
  order: LedgerOrder,
  call: OrderCall,
  standing: Standing,
  deps: LookDeps,
  signal: AbortSignal,
): Promise<void> {
  const link = linkOf(order);
  // Linked to another one since: calls about the former one don't count.
  if (link === undefined || link.surface !== call.surface || idOf(link) !== call.serviceId) {
    const end = call.isPlanned ? "not_sent" : "nothing";
    return answerCancel(deps.pool, order.id, { callId: call.id, end });
  }
  if (call.isPlanned) return makeCall(order, call, link, deps, signal);
  const found = await deps.service.lookForCancel(targetOf(order, link), signal);
  const decision = decideCancel(standing, found);
  await recordLook(deps.pool, order, toChange(order.id, call, { link, found, decision }), {
    cancelId: call.id,
  });
}

function targetOf(order: LedgerOrder, link: ServiceLink): CancelTarget {
  return {
    surface: link.surface,
    id: idOf(link),
    facilityId: order.facilityId,
    type: order.operation === "RETRIEVAL" ? "RETRIEVAL" : "STORE",
    procedureId: order.procedureId,
  };
}

/** What a look leads to. */
function toChange(
  orderId: number,
  call: OrderCall,
  {
    link,
    found,
    decision,
  }: { readonly link: ServiceLink; readonly found: CancelLook | "gone"; readonly decision: CancelDecision },
): Omit<OrderChange, "orderId"> {
  const isGone = found === "gone";
  const seen = { callId: call.id, checks: countSame(call, isGone), isGone };
  switch (decision.kind) {
    case "again":
      return { call: { ...seen, failedChecks: 0, lookInMs: decision.nextInMs } };
    case "nothing":
      // It is still to be cancelled, so another call is planned.
      return { call: { ...seen, end: "nothing" } };
    case "cancelled":
      return cancelledThere(orderId, link, decision.status);
    case "refused":
      return {
        call: { ...seen, end: call.answer === "refused" ? "refused" : "nothing" },
        refusal: decision.refusal,
      };
  }
}

/**
 * Has the service cancel an order, as far as the site configured its call. That the call is about to leave is in the ledger before it does,
 * so that a crash is followed by a look, and not by a second call.
 */
async function makeCall(
  order: LedgerOrder,
  { id: callId, surface, serviceId }: OrderCall,
  link: ServiceLink,
  { pool, submitting, offered, worker, logger, random, settings }: LookDeps,
  signal: AbortSignal,
): Promise<void> {
  const { id: orderId } = order;
  const facts = { state: "submitted", isAtService: true, isCalled: false } as const;
  const decision = decideControl("cancel", facts, offered.has(link.surface));
  if (decision.kind === "unable") {
    const call = { callId, end: "not_sent" } as const;
    await recordLook(pool, order, { call, refusal: decision.refusal }, { cancelId: callId });
    return;
  }
  const { checksMs, giveUpAfterMs } = settings.reconcile;
  if (!(await sendCancel(pool, { orderId, callId, workerId: worker.id }, checksMs[0] ?? giveUpAfterMs)))
    return;
  const attempt = cancelCallsOf(order, { surface, serviceId }).length + 1;
  const result = await submitting.cancelAtService(targetOf(order, link), signal).then(
    (shown) => ({ shown }),
    (error: unknown) => ({ failed: asFailure(error) }),
  );
  if ("shown" in result) {
    const { shown } = result;
    if (shown?.isCancelled) await changeOrders(pool, [cancelledThere(orderId, link, shown.status)]);
    else await answerCancel(pool, orderId, { callId, answer: "taken", lookInMs: 0 });
    return;
  }
  const { failed } = result;
  const failure = { code: failed.code, text: failed.message };
  logger.info(
    { order: formatId("o", orderId), code: failure.code, attempt },
    "order's call to cancel it failed",
  );
  if (nextStepAfter(failed, { attempts: attempt, mayHaveLeft: true }) === "again") {
    const end = failed.isAnswered ? "refused" : "not_sent";
    const againInMs = backoffMs(attempt, settings.backoff, random(), failed.retryAfterMs);
    return answerCancel(pool, orderId, { callId, end, failure }, { againInMs });
  }
  // Also one that was refused for good is looked for: one before it may have worked.
  const answer = failed.class === "permanent" ? "refused" : undefined;
  await answerCancel(pool, orderId, { callId, answer, failure, lookInMs: 0 }, { answer: failed.answer });
}
