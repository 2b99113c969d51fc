import { backoffMs } from "../../core/backoff.ts";
import { asFailure } from "../../core/failures.ts";
import type { Surface } from "../../core/surface.ts";
import { formatId } from "../../ledger/ids.ts";
import { cancelCallsOf, type OrderCall } from "../../ledger/orders/calls.ts";
import type { OrderChange } from "../../ledger/orders/change.ts";
import {
  type DueLook,
  findDueLooks,
  findOtherCalls,
  postponeLook,
  recordLook,
} from "../../ledger/orders/looks.ts";
import { idOf, type LedgerOrder, linkOf, readOrders, toLink } from "../../ledger/orders/row.ts";
import { findRestored } from "../../ledger/restored/restore.ts";
import { nextStepAfter } from "../next-step.ts";
import { registered, requireSameSubject } from "../submit/subject.ts";
import { seeToCancel } from "./cancel.ts";
import { type CallDecision, decideEmpty, decideFinds, type Standing } from "./decide.ts";
import type { LookDeps } from "./deps.ts";
import { findMade, surfaceOf } from "./find.ts";
import { nameIds, type Remains, remainsOf, WORD } from "./finds.ts";

/** Calls that are looked for at once. */
const MOST_AT_ONCE = 20;
/** A look for an open call that failed is repeated at least this often: its lane waits, and during an outage no call leaves anyway. */
const LONGEST_PAUSE_MS = 15_000;
/** A look for an ended call that failed is put off by this. */
const LATE_PAUSE_MS = 900_000;

/**
 * Looks at the service for what calls did whose turn it is: calls without a sure answer, those that a restored ledger presumes, and once
 * more those of which nothing was found; calls to cancel are made then. One worker does so at a time; a look has no effect, and what it
 * leads to is only recorded while the order is as it was.
 *
 * @param kind calls to cancel, or the others: neither waits for the other, since a call may take as long as the service lets it
 * @returns how many calls were looked for
 */
export async function lookDue(
  deps: LookDeps,
  kind: "cancels" | "others",
  signal: AbortSignal,
): Promise<number> {
  const due = await findDueLooks(deps.pool, MOST_AT_ONCE, kind);
  const orders = await readOrders(
    deps.pool,
    due.map(({ orderId }) => orderId),
  );
  const orderById = new Map(orders.map((order) => [order.id, order]));
  await Promise.all(due.map((each) => look(each, orderById.get(each.orderId), deps, signal)));
  return due.length;
}

async function look(
  { callId }: DueLook,
  order: LedgerOrder | undefined,
  deps: LookDeps,
  signal: AbortSignal,
): Promise<void> {
  const call = order?.calls.find(({ id }) => id === callId);
  if (order === undefined || call === undefined) return;
  const { id: orderId, connector, operation, facilityCode, attempts: attempt } = order;
  const name = { orderId, connector, operation, facilityCode, attempt };
  try {
    if (call.kind === "cancel")
      return await seeToCancel(order, call, standingOf(order, call, deps), deps, signal);
    await deps.tracer.during("reconcile", name, () =>
      call.outcome === undefined ? lookForOpen(order, call, deps, signal) : lookOnceMore(order, deps, signal),
    );
  } catch (error) {
    await afterFailedLook(order, call, error, deps);
  }
}

async function lookForOpen(
  order: LedgerOrder,
  call: OrderCall,
  deps: LookDeps,
  signal: AbortSignal,
): Promise<void> {
  const decision = await decide(order, call, deps, signal);
  const presumed = call.isPresumed && decision.kind !== "again" ? decision.kind : undefined;
  const change = toChange(order, call, decision, deps);
  await recordLook(deps.pool, order, change, { presumed }).catch(async (error: unknown) => {
    if (decision.kind !== "made" || asFailure(error).code !== "REQUEST_CLAIMED") throw error;
    // A person has to find out whose it is; until then it must not hold up all others.
    const text = `${WORD[surfaceOf(order, call, deps)]} ${decision.id} at the service looks like this order's, but another order has it`;
    const park = { kind: "park", code: "SUBMIT_UNCERTAIN", text, ids: [] } as const;
    await recordLook(deps.pool, order, toChange(order, call, park, deps), { presumed: presumed && "park" });
  });
  if (call.isPresumed) await tellCompared(deps);
}

async function decide(
  order: LedgerOrder,
  call: OrderCall,
  deps: LookDeps,
  signal: AbortSignal,
): Promise<CallDecision> {
  const { settings, pool } = deps;
  const standing = standingOf(order, call, deps);
  if (call.kind === "subject") {
    // The configuration has changed meanwhile: the site's credentials may not reach subjects any more, nor need they.
    if (settings.wayOf(order.facilityId).subjects === "none") return { kind: "nothing" };
    const known = await deps.service.findSubject(order.facilityId, order.subject.code, signal);
    if (known === undefined) return decideEmpty(standing);
    requireSameSubject(order.subject, known);
    return { kind: "made", id: known.id };
  }
  const finds = await findMade(order, call, deps, signal);
  return decideFinds({ ...standing, others: await findOtherCalls(pool, order.id, call.id) }, finds);
}

/** What of a call and its order decides what a look means. */
function standingOf(order: LedgerOrder, call: OrderCall, deps: LookDeps): Standing {
  return {
    ...call,
    ...{ operation: order.operation, surface: surfaceOf(order, call, deps), times: deps.settings.reconcile },
    lostBefore: lostBefore(order, call),
  };
}

/**
 * How many calls for the same in a row were believed to have done nothing; those that were refused for now don't count, since a service that is busy
 * for long says nothing about the order.
 */
function lostBefore(order: LedgerOrder, call: OrderCall): number {
  const { id, kind } = call;
  const own = order.calls.filter((each) => each.kind !== "cancel");
  return (kind === "cancel" ? cancelCallsOf(order, call) : own).filter(
    (each) =>
      each.id !== id &&
      each.outcome === "nothing" &&
      !each.isApproved &&
      !each.isPresumed &&
      each.answer !== "refused",
  ).length;
}

type Step = Omit<OrderChange, "orderId">;

function toChange(order: LedgerOrder, call: OrderCall, decision: CallDecision, deps: LookDeps): Step {
  const { settings } = deps;
  const surface = surfaceOf(order, call, deps);
  switch (decision.kind) {
    case "again": {
      const { nextInMs, found } = decision;
      return {
        call: { checks: call.checks + 1, failedChecks: 0, lookInMs: nextInMs },
        event: { kind: "checked", detail: { found, nextInMs } },
      };
    }
    case "made": {
      if (call.kind === "subject") {
        const event = { kind: "reconciled", detail: { found: "subject" } };
        const made = { call: { end: "made", serviceId: decision.id }, failure: null } as const;
        // It is done: going on, it could still be cancelled as if it were not.
        return order.operation === "REGISTER" && order.state === "submitting"
          ? { ...made, ...registered(order), eventBefore: event }
          : { ...made, ...goesOn, event };
      }
      const request = toLink(surface, decision.id);
      return {
        ...{ to: "submitted", failure: null, request, call: { end: "made" } },
        attempts: 0,
        // Staff may have acted already.
        nextInMs: 0,
        event: { kind: "adopted", detail: { ...request, isRestored: call.isPresumed || undefined } },
        isReported: deps.isSent(order.connector, "submitted"),
      };
    }
    case "nothing": {
      if (call.isPresumed) {
        const onward = order.state === "submitting" ? goesOn : {};
        return {
          ...onward,
          call: { end: "nothing" },
          event: { kind: "compared", detail: { found: "nothing" } },
        };
      }
      // It waited for a person before the ledger was restored, and does so still.
      if (order.state === "parked")
        return {
          call: { checks: call.checks + 1 },
          event: { kind: "compared", detail: { found: "nothing" } },
        };
      const isRefused = call.answer === "refused";
      // A list may show late what a call made, also where the order is not sent again after it, but cancelled.
      const lookInMs = call.kind === "request" ? settings.reconcile.recheckMs : undefined;
      const detail = isRefused
        ? { found: "nothing", isRefused }
        : { found: "nothing", checks: call.checks + 1 };
      return {
        ...goesOn,
        failure: isRefused ? undefined : null,
        call: { end: "nothing", checks: call.checks + 1, lookInMs },
        event: { kind: "reconciled", detail },
      };
    }
    case "park": {
      const { code, text, ids } = decision;
      const failure = { code, text };
      const atService = ids.length > 0 ? { surface, ids } : undefined;
      return {
        ...{ to: "parked", failure },
        // It stays open: whatever a person decides, the service is looked at once more before anything is sent.
        call: { checks: call.checks + 1 },
        event: { kind: "parked", detail: { ...failure, atService } },
        // One that is parked already was reported, and waits for the same person.
        isReported: order.state !== "parked",
      };
    }
  }
}

const goesOn = { to: "received", nextInMs: 0 } as const;

async function tellCompared({ pool, logger }: LookDeps): Promise<void> {
  const restored = await findRestored(pool);
  if (restored?.uncompared !== 0) return;
  const { open: openOrders, adopted, parked, free } = restored;
  logger.info(
    { openOrders, adopted, parked, free },
    "the open orders of the restored ledger were compared with the service",
  );
}

/** Looks for all ended calls of an order that may show late what they made. */
async function lookOnceMore(order: LedgerOrder, deps: LookDeps, signal: AbortSignal): Promise<void> {
  const late = order.calls.filter(({ outcome, lookAt }) => outcome !== undefined && lookAt !== undefined);
  const kinds = new Map(late.map((call) => [`${call.mark} ${call.surface}`, call]));
  const link = linkOf(order);
  const own = link && idOf(link);
  const isProved = order.operation === "STORE" && deps.settings.correlation === "token";
  const found: Remains[] = [];
  for (const call of kinds.values())
    found.push(remainsOf(await findMade(order, call, deps, signal), own, isProved));
  const certain = [...new Set(found.flatMap((each) => each.certain))];
  const perhaps = [...new Set(found.flatMap((each) => each.perhaps))].filter((id) => !certain.includes(id));
  const isThere = certain.length + perhaps.length > 0;
  const surface = surfaceOf(order, late.at(-1), deps);
  const text = isThere ? describe(surface, order, own, { certain, perhaps }) : undefined;
  const change: Step = {
    event: { kind: "rechecked", detail: { found: text ?? "nothing else" } },
    task: text === undefined ? undefined : { kind: "duplicate", text },
  };
  const isRecorded = await recordLook(deps.pool, order, change, { isLate: true });
  if (!isRecorded || text === undefined) return;
  deps.logger.warn(
    { order: formatId("o", order.id), connector: order.connector },
    "order may be at the service more than once; a task is open",
  );
}

function describe(
  surface: Surface,
  order: LedgerOrder,
  own: number | undefined,
  { certain, perhaps }: Remains,
): string {
  const name = (ids: readonly number[]) => nameIds(surface, ids, " and ");
  const isOwnAlone = own === undefined && certain.length + perhaps.length === 1;
  if (own === undefined) {
    const verb = isOwnAlone ? "is" : "are";
    const sure = perhaps.length === 0 ? "" : " perhaps";
    return `${name([...certain, ...perhaps])} at the service ${verb}${sure} this order's, which is ${order.state.replace("_", " ")} here: have it cancelled there, or see to the order`;
  }
  if (perhaps.length === 0) {
    return `${name([own, ...certain])} at the service are both this order's; have one cancelled`;
  }
  const rest = [...certain, ...perhaps];
  return `the order was sent twice and has ${name([own])}; ${name(rest)} at the service came since and may be its first call's; if so, have one of them cancelled`;
}

/** A look that failed is repeated; for an open call that is refused for good, a person is asked. */
async function afterFailedLook(
  order: LedgerOrder,
  call: OrderCall,
  error: unknown,
  deps: LookDeps,
): Promise<void> {
  const failure = asFailure(error);
  if (failure.code === "LEDGER_UNAVAILABLE") throw failure;
  const { code, message: text } = failure;
  const name = { order: formatId("o", order.id), connector: order.connector, code };
  if (code === "UNCLASSIFIED")
    deps.logger.error({ ...name, err: failure }, "a look failed for a reason that nobody classified");
  const failedChecks = call.failedChecks + 1;
  const isForGood = nextStepAfter(failure, { attempts: failedChecks, mayHaveLeft: false }) === "person";
  const pause = backoffMs(failedChecks, deps.settings.backoff, deps.random(), failure.retryAfterMs);
  const lookInMs = Math.max(Math.min(pause, LONGEST_PAUSE_MS), failure.retryAfterMs ?? 0);
  // The order goes on as it is, whatever is found out about cancelling it.
  if (call.kind === "cancel") return postponeLook(deps.pool, call.id, { ms: lookInMs, hasFailed: true });
  const isParked = order.state === "parked";
  if (call.outcome !== undefined || (isParked && !isForGood)) {
    deps.logger.warn(name, "what a call of the order made could not be looked for; it is put off");
    const ms = call.outcome === undefined ? LONGEST_PAUSE_MS : LATE_PAUSE_MS;
    return postponeLook(deps.pool, call.id, { ms, hasFailed: true });
  }
  const reason = { code, text };
  const { answer } = failure;
  if (isForGood) {
    const detail = { ...reason, atService: failure.atService };
    const change = isParked
      ? // It waits for a person already, and holds up no other order of a restored ledger; before it is sent, it is looked for again.
        { event: { kind: "check_failed", detail } }
      : ({
          to: "parked",
          failure: reason,
          answer,
          event: { kind: "parked", detail },
          isReported: true,
        } as const);
    const presumed = call.isPresumed ? "park" : undefined;
    await recordLook(deps.pool, order, { ...change, call: { failedChecks } }, { presumed });
    if (call.isPresumed) await tellCompared(deps);
    return;
  }
  const change = { failure: reason, answer, call: { failedChecks, lookInMs } };
  await recordLook(deps.pool, order, { ...change, event: { kind: "check_failed", detail: reason } });
}
