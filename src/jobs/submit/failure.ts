import { backoffMs } from "../../core/backoff.ts";
import { asFailure, type KeptAnswer } from "../../core/failures.ts";
import { formatId } from "../../ledger/ids.ts";
import type { OrderChange } from "../../ledger/orders/change.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { findCallInHand } from "../../ledger/orders/submission.ts";
import { nextStepAfter } from "../next-step.ts";
import type { SubmitDeps } from "./deps.ts";

/**
 * Records what a failed step means for its order: try again, look for what its call did, or ask a person. A call that was
 * answered is never simply made again, though the answer says that nothing was done: a gateway may have said so after it had
 * passed the call on. It stays open, and the service is looked at before the next call.
 */
export async function recordSubmitFailure(
  order: LedgerOrder,
  error: unknown,
  deps: SubmitDeps,
): Promise<void> {
  const failure = asFailure(error);
  if (failure.code === "UNCLASSIFIED")
    deps.logger.error(
      { order: formatId("o", order.id), connector: order.connector, err: failure },
      "order's step failed for a reason that nobody classified",
    );
  if (failure.code === "LEDGER_UNAVAILABLE") throw failure;
  const kind = await findCallInHand(deps.pool, order.id, order.fence);
  if (kind === "not ours") return;
  const isCalled = kind !== undefined;
  // Another order has the service's request: who of the two it belongs to is for a person to find out.
  const mayHaveLeft = isCalled && (failure.class === "ambiguous" || failure.code === "REQUEST_CLAIMED");
  const { attempts } = order;
  const next = nextStepAfter(failure, { attempts, mayHaveLeft });
  const againInMs = backoffMs(attempts, deps.settings.backoff, deps.random(), failure.retryAfterMs);
  const { checksMs, giveUpAfterMs, recheckMs } = deps.settings.reconcile;
  const firstLookMs = checksMs[0] ?? giveUpAfterMs;
  const reason = { code: failure.code, text: failure.message };
  const { answer } = failure;
  const common = { orderId: order.id, fence: order.fence, isReleased: true, answer, failure: reason };
  const isRefused = kind === "request" && !mayHaveLeft && failure.isAnswered;
  const change = ((): OrderChange => {
    if (isRefused && next === "again") {
      // One look decides, so it comes no earlier than the first one for a call without an answer: lists lag.
      const lookInMs = Math.max(againInMs, firstLookMs);
      return {
        ...common,
        from: ["submitting"],
        call: { answer: "refused", lookInMs },
        event: { kind: "refused_for_now", detail: { ...reason, attempt: attempts, nextInMs: lookInMs } },
      };
    }
    if (mayHaveLeft && next !== "person") {
      return {
        ...common,
        from: ["submitting"],
        call: { answer: wasTaken(answer) ? "taken" : undefined, lookInMs: firstLookMs },
        event: { kind: "unanswered", detail: reason },
      };
    }
    if (next === "again") {
      const nextInMs = againInMs;
      const event = { kind: "again", detail: { ...reason, attempt: attempts, nextInMs } };
      const end = failure.isAnswered ? "refused" : "not_sent";
      return { ...common, to: "received", nextInMs, call: { end }, event };
    }
    const ended = isRefused
      ? ({ end: "refused", answer: "refused", lookInMs: recheckMs } as const)
      : ({ end: failure.isAnswered ? "refused" : "not_sent" } as const);
    return {
      ...common,
      to: "parked",
      call: mayHaveLeft ? {} : ended,
      event: { kind: "parked", detail: { ...reason, atService: failure.atService } },
      isReported: true,
    };
  })();
  await deps.writer.change(change);
}

/** Whether the service said in its own JSON that it did the call, though not what it made. */
function wasTaken(answer: KeptAnswer | undefined): boolean {
  return answer?.method === "POST" && answer.shape === "json" && answer.status >= 200 && answer.status < 300;
}
