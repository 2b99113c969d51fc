import type pg from "pg";
import { type Backoff, backoffMs } from "../../core/backoff.ts";
import { asFailure, type Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { decideControl } from "../../core/order-control.ts";
import type { Surface } from "../../core/surface.ts";
import { formatId } from "../../ledger/ids.ts";
import { cancelCallsOf } from "../../ledger/orders/calls.ts";
import {
  changeCancelCall,
  findDueCancels,
  recordCancelCall,
  recordCancelled,
  recordUncancelled,
} from "../../ledger/orders/cancellations.ts";
import { idOf, type LedgerOrder, linkOf, readOrders, type ServiceLink } from "../../ledger/orders/row.ts";
import type { CancelTarget } from "../../service/cancel.ts";
import type { ServiceCalls } from "../../service/client.ts";
import { verdictOf } from "../verdict.ts";
import type { ReconcileTimes } from "./decide.ts";

/** What making the cancel calls takes. */
interface CancelDeps {
  readonly pool: pg.Pool;
  readonly service: Pick<ServiceCalls, "cancelAtService">;
  readonly logger: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly backoff: Backoff;
  readonly reconcile: ReconcileTimes;
  /** The surfaces for which the service's cancel call is configured. */
  readonly offered: ReadonlySet<Surface>;
}

const BATCH = 200;

/**
 * Has the service cancel the orders that are to be cancelled, as far as the site configured its call. That a call is about to leave is
 * in the ledger before it does, so that a crash is followed by a look, and not by a second call. The lab gets "cancelled" only when
 * the service shows it, or has nothing more to show after a call of ours.
 *
 * @returns how many cancellations were due
 */
export async function cancelDue(deps: CancelDeps, signal: AbortSignal): Promise<number> {
  const due = await findDueCancels(deps.pool, BATCH);
  const orders = await readOrders(
    deps.pool,
    due.map(({ orderId }) => orderId),
  );
  const byId = new Map(orders.map((order) => [order.id, order]));
  const results = await Promise.allSettled(
    due.map(async ({ requestId, orderId }) => {
      const order = byId.get(orderId);
      const link = order && linkOf(order);
      if (link) await cancel({ requestId, order, link }, deps, signal);
    }),
  );
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return due.length;
}

/** What is to be cancelled of an order that the service has. */
export function targetOf(order: LedgerOrder, link: ServiceLink): CancelTarget {
  return {
    surface: link.surface,
    id: idOf(link),
    facilityId: order.facilityId,
    type: order.operation === "RETRIEVAL" ? "RETRIEVAL" : "STORE",
    procedureId: order.procedureId,
  };
}

async function cancel(
  {
    requestId,
    order,
    link,
  }: { readonly requestId: number; readonly order: LedgerOrder; readonly link: ServiceLink },
  { pool, service, logger, random, backoff, reconcile, offered }: CancelDeps,
  signal: AbortSignal,
): Promise<void> {
  const facts = { state: "submitted", isAtService: true, isCalled: false } as const;
  const decision = decideControl("cancel", facts, offered.has(link.surface));
  if (decision.kind === "unable") return recordUncancelled(pool, order.id, decision.refusal);
  const firstLookMs = reconcile.checksMs[0] ?? reconcile.giveUpAfterMs;
  const callId = await recordCancelCall(pool, { requestId, orderId: order.id }, link, firstLookMs);
  if (callId === undefined) return;
  const attempt = cancelCallsOf(order, idOf(link)).length + 1;
  const result = await service.cancelAtService(targetOf(order, link), signal).then(
    (shown) => ({ shown }),
    (error: unknown) => ({ failed: asFailure(error) }),
  );
  if ("shown" in result) {
    if (result.shown?.isCancelled) return recordCancelled(pool, order.id, link, result.shown.status);
    return changeCancelCall(pool, order.id, callId, { answer: "taken", lookInMs: 0 });
  }
  const { code, message: text, answer: keptAnswer, isAnswered } = result.failed;
  const failure = { code, text };
  logger.info({ order: formatId("o", order.id), code, attempt }, "order's call to cancel it failed");
  const next = decideAfterCall(result.failed, { attempt, random: random() }, backoff);
  if (next.kind === "again") {
    const end = isAnswered ? "refused" : "not_sent";
    return changeCancelCall(pool, order.id, callId, { end, failure, callInMs: next.nextInMs });
  }
  const answer = next.isRefused ? "refused" : undefined;
  await changeCancelCall(pool, order.id, callId, { answer, failure, lookInMs: 0, keptAnswer });
}

/** What a cancel call that failed means. */
type AfterCall =
  /** Nothing was done: once more, later. */
  | { readonly kind: "again"; readonly nextInMs: number }
  /** It may have been done, or was refused for good: look how the order stands. */
  | { readonly kind: "look"; readonly isRefused: boolean };

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
  if (verdictOf(failure, { attempts: attempt, mayHaveLeft: true }) === "again") {
    return { kind: "again", nextInMs: backoffMs(attempt, backoff, random, failure.retryAfterMs) };
  }
  return { kind: "look", isRefused: failure.class === "permanent" };
}
