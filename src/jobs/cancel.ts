import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { asFailure } from "../core/failures.ts";
import type { KeptAnswer } from "../core/kept-answer.ts";
import type { Logger } from "../core/logger.ts";
import type { Surface } from "../core/surface.ts";
import { decideWish } from "../core/wish.ts";
import {
  type CancelCallState,
  type DueCancel,
  findDueCancels,
  postponeCancel,
  recordCancelCall,
  recordCancelled,
  recordUncancelled,
} from "../ledger/cancellations.ts";
import { formatId } from "../ledger/ids.ts";
import type { CancelLook, CancelTarget } from "../service/cancel.ts";
import type { ServiceClient } from "../service/client.ts";
import { sensitiveOf } from "../service/subjects.ts";
import { type Backoff, backoffMs } from "./backoff.ts";
import { decideAfterCall, decideAfterLook } from "./cancel-decision.ts";
import type { Settle } from "./reconcile/reconcile.ts";

/** What the cancel job is given. */
export interface CancelDeps {
  readonly pool: pg.Pool;
  readonly service: Pick<ServiceClient, "cancelAtService" | "lookForCancel">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly backoff: Backoff;
  readonly settle: Settle;
  /** The surfaces for which the service's cancel call is configured. */
  readonly offered: ReadonlySet<Surface>;
}

const BATCH = 200;
/** A look that failed is repeated at least this often. */
const LONGEST_LOOK_PAUSE_MS = 15_000;

/**
 * Has the service cancel the orders that are wished away, as far as the site configured its call, and finds out whether
 * it did. Runs at least once for each: that a call is about to leave is in the ledger before it does, so that a crash is
 * followed by a look, and not by a second call. The lab is told "cancelled" only when the service shows it, or has
 * nothing more to show after a call of ours.
 *
 * @returns how many cancellations were due
 */
export async function cancelDue(deps: CancelDeps, signal: AbortSignal): Promise<number> {
  const due = await findDueCancels(deps.pool, BATCH);
  const results = await Promise.allSettled(due.map((cancel) => pursueCancel(cancel, deps, signal)));
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return due.length;
}

/** Takes one cancellation a step further. */
export async function pursueCancel(due: DueCancel, deps: CancelDeps, signal: AbortSignal): Promise<void> {
  const { surface } = due.link;
  const target: CancelTarget = {
    surface,
    id: due.link.surface === "request" ? due.link.requestId : due.link.procedureId,
    facilityId: due.facilityId,
    type: due.operation === "RETRIEVAL" ? "RETRIEVAL" : "STORE",
    procedureId: due.procedureId,
    sensitive: sensitiveOf(due.subject),
  };
  if (due.call !== "due") return look({ due, target, call: due.call, ...lastCall(due) }, deps, signal);
  const facts = { state: "submitted", isAtService: true, hasIntent: false } as const;
  const decision = decideWish("cancel", facts, deps.offered.has(surface));
  if (decision.kind === "unable") return recordUncancelled(deps.pool, due, decision.refusal);
  await call(due, target, deps, signal);
}

async function call(
  due: DueCancel,
  target: CancelTarget,
  deps: CancelDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!(await recordCancelCall(deps.pool, due))) return;
  const calledAt = deps.clock.monotonic();
  const ageMs = () => deps.clock.monotonic() - calledAt;
  const attempts = due.attempts + 1;
  const pursuit = { due, target, looks: 0, goneAgeMs: undefined, ageMs };
  const result = await deps.service.cancelAtService(target, signal).then(
    (told) => ({ told }),
    (error: unknown) => ({ failure: asFailure(error) }),
  );
  if ("told" in result) {
    if (result.told?.isCancelled) return recordCancelled(deps.pool, due, result.told.status);
    // What is known of the call is kept before the look, which may fail.
    await postponeCancel(deps.pool, due, { call: "sent", looks: 0, nextInMs: 0, failure: null });
    return look({ ...pursuit, call: "sent", failure: undefined }, deps, signal);
  }
  const { failure } = result;
  const { code, message: text, answer } = failure;
  deps.logger.info(
    { orderId: formatId("o", due.orderId), code, attempt: attempts },
    "the call to cancel an order failed",
  );
  const decision = decideAfterCall(failure, { attempt: attempts, random: deps.random() }, deps.backoff);
  if (decision.kind === "again") {
    const { nextInMs } = decision;
    return postponeCancel(deps.pool, due, { call: "due", looks: 0, nextInMs, failure: { code, text } });
  }
  const step = { call: decision.call, failure: { code, text } };
  await postponeCancel(deps.pool, due, { ...step, looks: 0, nextInMs: 0 });
  await look({ ...pursuit, ...step, answer }, deps, signal);
}

/** A cancellation whose call was made, and what came of that. */
interface Pursuit {
  readonly due: DueCancel;
  readonly target: CancelTarget;
  readonly call: Exclude<CancelCallState, "due">;
  readonly looks: number;
  readonly goneAgeMs: number | undefined;
  readonly ageMs: () => number;
  readonly failure: DueCancel["failure"];
  readonly answer?: KeptAnswer | undefined;
}

/** The call that an earlier round, or an earlier process, made. */
function lastCall(due: DueCancel): Pick<Pursuit, "looks" | "goneAgeMs" | "ageMs" | "failure"> {
  const { looks, goneAgeMs, calledAgeMs = 0, failure } = due;
  return { looks, goneAgeMs, failure, ageMs: () => calledAgeMs };
}

async function look(pursuit: Pursuit, deps: CancelDeps, signal: AbortSignal): Promise<void> {
  const { due, target, call: state } = pursuit;
  let found: CancelLook | "gone";
  try {
    found = await deps.service.lookForCancel(target, signal);
  } catch (error) {
    const failure = asFailure(error);
    const pause = backoffMs(pursuit.looks + 1, deps.backoff, deps.random(), failure.retryAfterMs);
    const nextInMs = Math.min(pause, LONGEST_LOOK_PAUSE_MS);
    return postponeCancel(deps.pool, due, { call: state, looks: pursuit.looks, nextInMs });
  }
  if (found !== "gone" && found.isCancelled) return recordCancelled(deps.pool, due, found.status);
  const isGone = found === "gone";
  // One look proves little: only those that agree in a row are counted.
  const looks = isGone === (pursuit.goneAgeMs !== undefined) ? pursuit.looks + 1 : 1;
  const next = decideAfterLook(
    {
      call: state,
      unanswered: due.unanswered,
      looks,
      calledAgeMs: pursuit.ageMs(),
      failure: pursuit.failure,
      found:
        found === "gone"
          ? { kind: "gone", forMs: pursuit.goneAgeMs ?? 0 }
          : { kind: "shown", status: found.status },
    },
    deps.settle,
  );
  switch (next.kind) {
    case "lookAgain":
      return postponeCancel(deps.pool, due, { call: state, looks, nextInMs: next.nextInMs, isGone });
    case "callAgain":
      return postponeCancel(deps.pool, due, { call: "due", looks: 0, nextInMs: 0, isUnanswered: true });
    case "cancelled":
      return recordCancelled(deps.pool, due, undefined);
    case "unable":
      return recordUncancelled(deps.pool, due, next.refusal, pursuit.answer);
  }
}
