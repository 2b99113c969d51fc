import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { asFailure, type Failure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import { type ControlRefusal, decideControl } from "../core/order-control.ts";
import type { Surface } from "../core/surface.ts";
import { formatId } from "../ledger/ids.ts";
import {
  type CancelCallState,
  type DueCancel,
  findDueCancels,
  postponeCancel,
  recordCancelCall,
  recordCancelled,
  recordUncancelled,
} from "../ledger/orders/cancellations.ts";
import type { CancelLook, CancelTarget } from "../service/cancel.ts";
import type { ServiceCalls } from "../service/client.ts";
import { sensitiveOf } from "../service/request-surface/subjects.ts";
import { type Backoff, backoffMs } from "./backoff.ts";
import { planCheck, type ReconcileTimes } from "./calls/decide.ts";

/** What the cancel job is given. */
interface CancelDeps {
  readonly pool: pg.Pool;
  readonly service: Pick<ServiceCalls, "cancelAtService" | "lookForCancel">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly backoff: Backoff;
  readonly reconcile: ReconcileTimes;
  /** The surfaces for which the service's cancel call is configured. */
  readonly offered: ReadonlySet<Surface>;
}

const BATCH = 200;
/** A look that failed is repeated at least this often. */
const LONGEST_LOOK_PAUSE_MS = 15_000;

/**
 * Has the service cancel the orders that are to be cancelled, as far as the site configured its call, and finds out
 * whether it did. Runs at least once for each: that a call is about to leave is in the ledger before it does, so that a
 * crash is followed by a look, and not by a second call. The lab gets "cancelled" only when the service shows it, or
 * has nothing more to show after a call of ours.
 *
 * @returns how many cancellations were due; each was taken one step further, and may be due again at once
 */
export async function cancelDue(deps: CancelDeps, signal: AbortSignal): Promise<number> {
  const due = await findDueCancels(deps.pool, BATCH);
  const results = await Promise.allSettled(due.map((cancel) => pursueCancel(cancel, deps, signal)));
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return due.length;
}

/** Takes one cancellation a step further: makes the call, or looks what it did. */
async function pursueCancel(due: DueCancel, deps: CancelDeps, signal: AbortSignal): Promise<void> {
  const { call, surface, operation } = due;
  const target: CancelTarget = {
    surface,
    id: due.serviceId,
    facilityId: due.facilityId,
    type: operation === "RETRIEVAL" ? "RETRIEVAL" : "STORE",
    procedureId: due.procedureId,
    sensitive: sensitiveOf(due.subject),
  };
  if (call !== "due") return look({ ...due, call }, target, deps, signal);
  const facts = { state: "submitted", isAtService: true, isCalled: false } as const;
  const decision = decideControl("cancel", facts, deps.offered.has(surface));
  if (decision.kind === "unable") return recordUncancelled(deps.pool, due, decision.refusal);
  await makeCall(due, target, deps, signal);
}

async function makeCall(
  due: DueCancel,
  target: CancelTarget,
  { pool, service, logger, random, backoff }: CancelDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!(await recordCancelCall(pool, due))) return;
  const attempt = due.attempts + 1;
  const result = await service.cancelAtService(target, signal).then(
    (shown) => ({ shown }),
    (error: unknown) => ({ failure: asFailure(error) }),
  );
  const next = { checks: 0, nextInMs: 0 };
  if ("shown" in result) {
    if (result.shown?.isCancelled) return recordCancelled(pool, due, result.shown.status);
    return postponeCancel(pool, due, { ...next, call: "sent", failure: null });
  }
  const { code, message: text, answer } = result.failure;
  const failure = { code, text };
  logger.info({ order: formatId("o", due.orderId), code, attempt }, "order's call to cancel it failed");
  const decision = decideAfterCall(result.failure, { attempt, random: random() }, backoff);
  if (decision.kind === "again") {
    return postponeCancel(pool, due, { ...next, nextInMs: decision.nextInMs, call: "due", failure });
  }
  await postponeCancel(pool, due, { ...next, call: decision.call, failure, answer });
}

/** Looks what a call did that was made, perhaps by an earlier process. */
async function look(
  due: DueCancel & { readonly call: Exclude<CancelCallState, "due"> },
  target: CancelTarget,
  deps: CancelDeps,
  signal: AbortSignal,
): Promise<void> {
  const { pool, service } = deps;
  const { call } = due;
  let found: CancelLook | "gone";
  try {
    found = await service.lookForCancel(target, signal);
  } catch (error) {
    const failure = asFailure(error);
    const pause = backoffMs(due.checks + 1, deps.backoff, deps.random(), failure.retryAfterMs);
    const nextInMs = Math.min(pause, LONGEST_LOOK_PAUSE_MS);
    return postponeCancel(pool, due, { call, checks: due.checks, nextInMs });
  }
  if (found !== "gone" && found.isCancelled) return recordCancelled(pool, due, found.status);
  const isGone = found === "gone";
  // One look proves little: only those that agree in a row are counted.
  const checks = isGone === (due.goneAgeMs !== undefined) ? due.checks + 1 : 1;
  const next = decideAfterLook(
    {
      ...{ call, checks, unanswered: due.unanswered, failure: due.failure },
      calledAgeMs: due.calledAgeMs ?? 0,
      found:
        found === "gone"
          ? { kind: "gone", forMs: due.goneAgeMs ?? 0 }
          : { kind: "shown", status: found.status },
    },
    deps.reconcile,
  );
  switch (next.kind) {
    case "checkAgain":
      return postponeCancel(pool, due, { call, checks, nextInMs: next.nextInMs, isGone });
    case "callAgain":
      return postponeCancel(pool, due, { call: "due", checks: 0, nextInMs: 0, isUnanswered: true });
    case "cancelled":
      return recordCancelled(pool, due, undefined);
    case "unable":
      return recordUncancelled(pool, due, next.refusal);
  }
}

/** Calls whose answer never came and whose effect nobody could find are made this often before a person is asked. */
const MOST_CALLS_WITHOUT_EFFECT = 3;

/** How long a service has to say that it has no such request before a call that it refused is over. */
const REFUSED_FOR_MS = 60_000;

/** What a cancel call that failed means. */
type AfterCall =
  /** Nothing was done: once more, later. */
  | { readonly kind: "again"; readonly nextInMs: number }
  /** It may have been done, or was refused for good: look how the order stands. */
  | { readonly kind: "look"; readonly call: Exclude<CancelCallState, "due"> };

/**
 * Decides about a cancel call that failed.
 *
 * @param attempt the attempt that just failed, from 1
 */
export function decideAfterCall(
  failure: Failure,
  { attempt, random }: { readonly attempt: number; readonly random: number },
  backoff: Backoff,
): AfterCall {
  // Refused credentials are the site's to fix and say nothing about the order.
  if (failure.class === "transient" || failure.code === "SERVICE_CREDENTIALS_REFUSED") {
    return { kind: "again", nextInMs: backoffMs(attempt, backoff, random, failure.retryAfterMs) };
  }
  return { kind: "look", call: failure.class === "permanent" ? "refused" : "sent" };
}

/** What a look found that did not find the order cancelled. */
export type Found =
  /** The service's word for how the order stands. */
  | { readonly kind: "shown"; readonly status: string }
  /** The service itself says that there is no such request: for how long every look has been answered so, ms. */
  | { readonly kind: "gone"; readonly forMs: number };

/** How a cancellation stands after a look that did not find the order cancelled. */
export interface UncancelledLook extends Pick<DueCancel, "unanswered" | "failure"> {
  readonly call: Exclude<CancelCallState, "due">;
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
  if (look.call === "refused") {
    const text = `the storage service refused to cancel the order, which goes on (${shows})${reason(look)}`;
    return { kind: "unable", refusal: { code: "CANCEL_REFUSED", text } };
  }
  const next = planCheck(look.checks, look.calledAgeMs, reconcile);
  if (next !== "believed") return { kind: "checkAgain", nextInMs: next.nextInMs };
  const lost = look.unanswered + 1;
  if (look.failure !== undefined && lost < MOST_CALLS_WITHOUT_EFFECT) return { kind: "callAgain" };
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
  if (look.call === "sent" && look.failure === undefined) return { kind: "cancelled" };
  const isRefused = look.call === "refused" && look.unanswered === 0;
  const giveUpAfterMs = isRefused
    ? Math.min(REFUSED_FOR_MS, reconcile.giveUpAfterMs)
    : reconcile.giveUpAfterMs;
  const next = planCheck(look.checks, goneForMs, { ...reconcile, giveUpAfterMs });
  if (next !== "believed") return { kind: "checkAgain", nextInMs: next.nextInMs };
  if (look.call === "sent" || look.unanswered > 0) return { kind: "cancelled" };
  const text = `the storage service refused to cancel the order, and shows no such request any more${reason(look)}`;
  return { kind: "unable", refusal: { code: "CANCEL_REFUSED", text } };
}

function reason({ failure }: UncancelledLook): string {
  return failure === undefined ? "" : `: ${failure.text}`;
}
