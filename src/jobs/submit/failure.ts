import { asFailure, type Failure } from "../../core/failures.ts";
import { formatId } from "../../ledger/ids.ts";
import type { OrderChange } from "../../ledger/orders/change.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { findIntent } from "../../ledger/orders/submission.ts";
import { type Backoff, backoffMs } from "../backoff.ts";
import type { SubmitDeps } from "./deps.ts";

/**
 * Records what a failed step means for its order: try again, reconcile, or ask a person. A call that was
 * answered is never simply made again, though the answer says that nothing was done: a gateway may have said so after it had
 * passed the call on. Its intent stays, and the service is looked at before the next call.
 *
 * When even that can't be recorded, because the ledger is away, the order is remembered as abandoned.
 */
export async function recordSubmitFailure(
  order: LedgerOrder,
  error: unknown,
  deps: SubmitDeps,
): Promise<void> {
  try {
    await recordDecision(order, error, deps);
  } catch (problem) {
    if (order.fence !== undefined) deps.abandoned.fences.add(order.fence);
    throw problem;
  }
}

/**
 * A check for a lost call that failed is repeated at least this often, whatever the order has been through: its lane waits,
 * and during an outage the circuit breaker holds the calls back anyway.
 */
const LONGEST_CHECK_PAUSE_MS = 15_000;

async function recordDecision(order: LedgerOrder, error: unknown, deps: SubmitDeps): Promise<void> {
  const failure = asFailure(error);
  if (failure.code === "UNCLASSIFIED")
    deps.logger.error(
      { order: formatId("o", order.id), connector: order.connector, err: failure },
      "order's step failed for a reason that nobody classified",
    );
  if (failure.code === "LEDGER_UNAVAILABLE") throw failure;
  const intent = await findIntent(deps.pool, order.id, order.fence);
  if (intent === "not ours") return;
  const mayHaveLeft = intent !== undefined && !isDefinite(failure, order);
  const isLook = order.intent !== undefined;
  const attempts = isLook ? order.failedChecks + 1 : order.attempts;
  const decision = decideRetry(
    failure,
    { attempts, mayHaveLeft, random: deps.random() },
    deps.settings.backoff,
  );
  const reason = { code: failure.code, text: failure.message };
  const common = { orderId: order.id, fence: order.fence, isReleased: true, answer: failure.answer };
  const isUnsent = intent === "request" && !mayHaveLeft && !failure.isAnswered;
  const isRefused = intent === "request" && !mayHaveLeft && failure.isAnswered;
  const change = ((): OrderChange => {
    if (isRefused && decision.kind === "again") {
      // One check decides, so it comes no earlier than the first one for a call without an answer: lists lag.
      const nextInMs = Math.max(decision.nextInMs, deps.settings.reconcile.checksMs[0] ?? 0);
      return {
        ...common,
        from: ["submitting"],
        isRefused: true,
        nextInMs,
        failure: reason,
        event: { kind: "refused_for_now", detail: { ...reason, attempt: order.attempts, nextInMs } },
      };
    }
    if (decision.kind === "reconcile" || (mayHaveLeft && decision.kind === "again")) {
      const nextInMs =
        decision.kind === "again"
          ? Math.max(Math.min(decision.nextInMs, LONGEST_CHECK_PAUSE_MS), failure.retryAfterMs ?? 0)
          : (deps.settings.reconcile.checksMs[0] ?? deps.settings.reconcile.giveUpAfterMs);
      return {
        ...common,
        from: ["submitting"],
        failedChecks: isLook ? attempts : undefined,
        nextInMs,
        failure: reason,
        event: { kind: isLook ? "check_failed" : "unanswered", detail: reason },
      };
    }
    if (decision.kind === "again") {
      const event = {
        kind: "again",
        detail: { ...reason, attempt: order.attempts, nextInMs: decision.nextInMs },
      };
      return {
        ...common,
        to: "received",
        nextInMs: decision.nextInMs,
        failure: reason,
        isIntentCleared: true,
        isUnsent,
        event,
      };
    }
    return {
      ...common,
      to: "parked",
      failure: reason,
      isIntentCleared: !mayHaveLeft,
      isUnsent,
      recheckInMs: isRefused ? deps.settings.reconcile.recheckMs : undefined,
      event: { kind: "parked", detail: { ...reason, atService: failure.atService } },
      isReported: true,
    };
  })();
  await deps.writer.change(change);
}

/**
 * Whether the failure proves that the intended call had no effect. Nothing that happened while an earlier call was being
 * looked for proves that.
 */
function isDefinite(failure: Failure, order: LedgerOrder): boolean {
  if (order.intent !== undefined) return false;
  // The service has answered, but its request is another order's: who of the two it belongs to is for a person to find out.
  if (failure.code === "REQUEST_CLAIMED") return false;
  return failure.class !== "ambiguous";
}

/** What follows a failed step of an order. */
export type RetryDecision =
  /** Nothing happened: once more, later. */
  | { readonly kind: "again"; readonly nextInMs: number }
  /** A call may have had an effect: reconcile. */
  | { readonly kind: "reconcile" }
  /** A person is needed. */
  | { readonly kind: "park" };

/** Steps that fail for a reason nobody classified are tried this often before a person is asked. */
const MOST_UNCLASSIFIED_ATTEMPTS = 10;

/**
 * Decides about a failure. An outage never parks an order, however long it lasts; neither do refused credentials,
 * which are the site's to fix and say nothing about the order.
 */
export function decideRetry(
  failure: Failure,
  step: { readonly attempts: number; readonly mayHaveLeft: boolean; readonly random: number },
  backoff: Backoff,
): RetryDecision {
  const again: RetryDecision = {
    kind: "again",
    nextInMs: backoffMs(step.attempts, backoff, step.random, failure.retryAfterMs),
  };
  if (failure.code === "SERVICE_CREDENTIALS_REFUSED") return again;
  switch (failure.class) {
    case "transient":
      return again;
    case "permanent":
      return { kind: "park" };
    case "ambiguous":
      if (
        step.mayHaveLeft &&
        (failure.code !== "UNCLASSIFIED" || step.attempts < MOST_UNCLASSIFIED_ATTEMPTS)
      ) {
        return { kind: "reconcile" };
      }
      return step.attempts < MOST_UNCLASSIFIED_ATTEMPTS ? again : { kind: "park" };
  }
}
