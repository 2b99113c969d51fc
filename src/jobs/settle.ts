import { Failure } from "../core/failures.ts";
import { changeOrders, type OrderChange } from "../ledger/change-orders.ts";
import type { LedgerOrder } from "../ledger/order-row.ts";
import { findClaimedRequests, isLaneUnsettled } from "../ledger/submission.ts";
import { planLook } from "./looks.ts";
import { toNewRequest } from "./new-request.ts";
import { requireSameSubject } from "./subject.ts";
import type { SubmitDeps } from "./submit-deps.ts";

/**
 * Searches the service for what a call without an answer did, and adopts it. Only when several looks, the last one
 * after the settle time, found nothing is the call believed to have had no effect, and the order sent again. What
 * can't be told is parked for a person.
 */
export async function settleOrder(order: LedgerOrder, deps: SubmitDeps, signal: AbortSignal): Promise<void> {
  const change =
    order.intent === "subject"
      ? await settleSubject(order, deps, signal)
      : await settleRequest(order, deps, signal);
  await changeOrders(deps.pool, [{ ...change, orderId: order.id, fence: order.fence, isReleased: true }]);
}

type Settlement = Omit<OrderChange, "orderId">;

async function settleSubject(order: LedgerOrder, deps: SubmitDeps, signal: AbortSignal): Promise<Settlement> {
  const known = await deps.service.findSubject(order.facilityId, order.subject.code, signal);
  if (!known) return afterEmptyLook(order, deps);
  requireSameSubject(order.subject, known);
  return backToWaiting({ kind: "settled", detail: { found: "subject" } });
}

async function settleRequest(order: LedgerOrder, deps: SubmitDeps, signal: AbortSignal): Promise<Settlement> {
  const containerIds = order.containers.flatMap((container) => container.containerId ?? []);
  const found = await deps.service.findCreatedRequest(
    {
      ...toNewRequest(order, containerIds, deps),
      sentAfter: order.intentAt ?? order.receivedAt,
      knownIds: new Set(order.knownRequestIds),
    },
    signal,
  );
  const claimed = await findClaimedRequests(
    deps.pool,
    "request",
    [...found.matches, ...found.candidates],
    order.id,
  );
  const free = (ids: readonly number[]) => ids.filter((id) => !claimed.has(id));
  const matches = free(found.matches);
  const candidates = free(found.candidates);
  const [certain] = matches;
  if (certain !== undefined && matches.length === 1) return adopt(certain, deps);
  if (matches.length > 1)
    return park("SUBMIT_SEVERAL_MATCHES", `requests ${matches.join(", ")} could all be this order's`);
  const [only] = candidates;
  const isAlone = !(await isLaneUnsettled(deps.pool, order.id));
  if (order.operation === "RETRIEVAL" && only !== undefined && candidates.length === 1 && isAlone)
    return adopt(only, deps);
  if (candidates.length === 0) return afterEmptyLook(order, deps);
  const next = planLook(order.looks + 1, order.intentAgeMs ?? 0, deps.settings.settle);
  if (next !== "believed") return lookAgain(order, next.nextInMs, candidates);
  // A person has seen the candidates and wants the order sent again nevertheless.
  if (order.isRepostApproved) return afterEmptyLook(order, deps);
  const code = candidates.length > 1 ? "SUBMIT_SEVERAL_MATCHES" : "SUBMIT_UNCERTAIN";
  return park(code, `requests ${candidates.join(", ")} could be this order's, but nothing proves it`);
}

function afterEmptyLook(order: LedgerOrder, deps: SubmitDeps): Settlement {
  const next = planLook(order.looks + 1, order.intentAgeMs ?? 0, deps.settings.settle);
  if (next !== "believed") return lookAgain(order, next.nextInMs, []);
  const mayRepeat =
    order.operation !== "RETRIEVAL" || order.isRepostApproved || deps.settings.settle.retrievals === "retry";
  if (order.intent === "request" && !mayRepeat) {
    return park(
      "SUBMIT_UNCERTAIN",
      "the service shows no trace of the call, and a retrieval leaves nothing that would prove it",
    );
  }
  return backToWaiting({ kind: "settled", detail: { found: "nothing", looks: order.looks + 1 } });
}

function lookAgain(order: LedgerOrder, nextInMs: number, candidates: readonly number[]): Settlement {
  const found =
    candidates.length === 0 ? "nothing" : `requests ${candidates.join(", ")}, none of them for certain`;
  return {
    from: ["submitting"],
    looks: order.looks + 1,
    nextInMs,
    event: { kind: "looked", detail: { found, nextInMs } },
  };
}

function backToWaiting(event: NonNullable<OrderChange["event"]>): Settlement {
  return { to: "received", failure: null, nextInMs: 0, isIntentSettled: true, event };
}

function adopt(requestId: number, deps: SubmitDeps): Settlement {
  return {
    to: "submitted",
    failure: null,
    request: { surface: "request", requestId },
    attempts: 0,
    // Staff may have acted already.
    nextInMs: 0,
    pollIntervalMs: deps.settings.firstPollMs,
    isIntentSettled: true,
    event: { kind: "adopted", detail: { requestId } },
    isTold: true,
  };
}

function park(code: "SUBMIT_SEVERAL_MATCHES" | "SUBMIT_UNCERTAIN", text: string): Settlement {
  // The intent stays: whatever a person decides, the service is searched once more before anything is sent.
  const failure = new Failure(code, text);
  const reason = { code, text: failure.message };
  return { to: "parked", failure: reason, event: { kind: "parked", detail: reason }, isTold: true };
}
