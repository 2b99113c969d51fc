import type { ControlRefusal } from "../../core/order-control.ts";
import { cancelCallsOf, type OrderCall } from "../../ledger/orders/calls.ts";
import { changeCancelCall, recordCancelled, recordUncancelled } from "../../ledger/orders/cancellations.ts";
import { idOf, type LedgerOrder, linkOf } from "../../ledger/orders/row.ts";
import { targetOf } from "./cancel.ts";
import { planCheck, type ReconcileTimes } from "./decide.ts";
import type { LookDeps } from "./deps.ts";

/** Looks what a call to cancel did, perhaps one of an earlier process. @throws the SERVICE_ failures of reads */
export async function lookForCancel(
  order: LedgerOrder,
  call: OrderCall,
  { pool, service, settings }: LookDeps,
  signal: AbortSignal,
): Promise<void> {
  const link = linkOf(order);
  // Linked to another one since: calls about the former one don't count.
  if (link === undefined || idOf(link) !== call.serviceId)
    return changeCancelCall(pool, order.id, call.id, { end: "nothing", callInMs: 0 });
  const found = await service.lookForCancel(targetOf(order, link), signal);
  if (found !== "gone" && found.isCancelled) return recordCancelled(pool, order.id, link, found.status);
  const isGone = found === "gone";
  // One look proves little: only those that agree in a row are counted.
  const checks = isGone === (call.goneMs !== undefined) ? call.checks + 1 : 1;
  const unanswered = cancelCallsOf(order, call.serviceId).filter(
    ({ outcome }) => outcome === "nothing",
  ).length;
  const next = decideAfterLook(
    {
      ...{ answer: call.answer, failure: call.failure, checks, unanswered, calledAgeMs: call.ageMs },
      found:
        found === "gone"
          ? { kind: "gone", forMs: call.goneMs ?? 0 }
          : { kind: "shown", status: found.status },
    },
    settings.reconcile,
  );
  switch (next.kind) {
    case "checkAgain":
      return changeCancelCall(pool, order.id, call.id, { checks, isGone, lookInMs: next.nextInMs });
    case "callAgain":
      return changeCancelCall(pool, order.id, call.id, { end: "nothing", checks, isGone, callInMs: 0 });
    case "cancelled":
      return recordCancelled(pool, order.id, link, undefined);
    case "unable":
      return recordUncancelled(pool, order.id, next.refusal, call.id);
  }
}

/** Calls whose answer never came and whose effect nobody could find are made this often before a person is asked. */
const MOST_CALLS_WITHOUT_EFFECT = 3;

/** How long a service has to say that it has no such request before a call that it refused is over. */
const REFUSED_FOR_MS = 60_000;

/** What a look found that did not find the order cancelled. */
type Found =
  /** The service's word for how the order stands. */
  | { readonly kind: "shown"; readonly status: string }
  /** The service itself says that there is no such request: for how long every look has been answered so, ms. */
  | { readonly kind: "gone"; readonly forMs: number };

/** How a cancellation stands after a look that did not find the order cancelled. */
export interface UncancelledLook extends Pick<OrderCall, "answer" | "failure"> {
  /** Calls before this one whose answer never came. */
  readonly unanswered: number;
  /** Looks in a row since the last call that found the same, this one included. */
  readonly checks: number;
  /** How long ago the last call was made, ms. */
  readonly calledAgeMs: number;
  readonly found: Found;
}

/** What follows a look that did not find the order cancelled. */
type AfterLook =
  | { readonly kind: "checkAgain"; readonly nextInMs: number }
  | { readonly kind: "callAgain" }
  /** A call of ours took the request away: it is cancelled as much as one that the service shows so. */
  | { readonly kind: "cancelled" }
  | { readonly kind: "unable"; readonly refusal: ControlRefusal };

/**
 * Decides what follows. A refusal stands once a look has shown that nothing was cancelled. A call whose
 * answer never came is believed to have had no effect only after `reconcile.giveUpAfter`, and is then made again: to cancel twice
 * does no more than to cancel once. A call that the service took and that changed nothing is not repeated.
 */
export function decideAfterLook(look: UncancelledLook, reconcile: ReconcileTimes): AfterLook {
  const { found } = look;
  if (found.kind === "gone") return decideGone(look, found.forMs, reconcile);
  const shows = `the service shows ${found.status}`;
  if (look.answer === "refused") {
    const text = `the storage service refused to cancel the order, which goes on (${shows})${reason(look)}`;
    return { kind: "unable", refusal: { code: "CANCEL_REFUSED", text } };
  }
  const next = planCheck(look.checks, look.calledAgeMs, reconcile);
  if (next !== "believed") return { kind: "checkAgain", nextInMs: next.nextInMs };
  const lost = look.unanswered + 1;
  if (look.answer !== "taken" && lost < MOST_CALLS_WITHOUT_EFFECT) return { kind: "callAgain" };
  const text = `the call to cancel the order had no effect (${shows}); the order goes on`;
  return { kind: "unable", refusal: { code: "CANCEL_WITHOUT_EFFECT", text } };
}

/**
 * A service that deletes what is cancelled has nothing to show of it. Its word that the request is gone is believed at
 * once after a call that it took; after one whose answer never came, also where a later call was refused, only when it
 * has been the answer for all of `giveUpAfter`. Where every call was refused, nothing of ours took the request away, and a minute
 * of the same answer is enough: a gateway that has lost its way answers so for moments.
 */
function decideGone(look: UncancelledLook, goneForMs: number, reconcile: ReconcileTimes): AfterLook {
  if (look.answer === "taken") return { kind: "cancelled" };
  const isRefused = look.answer === "refused" && look.unanswered === 0;
  const giveUpAfterMs = isRefused
    ? Math.min(REFUSED_FOR_MS, reconcile.giveUpAfterMs)
    : reconcile.giveUpAfterMs;
  const next = planCheck(look.checks, goneForMs, { ...reconcile, giveUpAfterMs });
  if (next !== "believed") return { kind: "checkAgain", nextInMs: next.nextInMs };
  if (look.answer !== "refused" || look.unanswered > 0) return { kind: "cancelled" };
  const text = `the storage service refused to cancel the order, and shows no such request any more${reason(look)}`;
  return { kind: "unable", refusal: { code: "CANCEL_REFUSED", text } };
}

function reason({ failure }: UncancelledLook): string {
  return failure === undefined ? "" : `: ${failure.text}`;
}
