import type pg from "pg";
import { type AtService, Failure } from "../../core/failures.ts";
import type { Surface } from "../../core/surface.ts";
import { findSent } from "../../ledger/operator/views.ts";
import type { OrderChange } from "../../ledger/orders/change.ts";
import {
  countEmptyChecks,
  findClaimed,
  isLaneUnreconciled,
  wasCallTaken,
} from "../../ledger/orders/reconciling.ts";
import type { LedgerOrder, ServiceLink } from "../../ledger/orders/row.ts";
import type { ServiceCalls } from "../../service/client.ts";
import { parseRequestBody } from "../../service/new-request.ts";
import type { ReconcileFindings } from "../../service/reconcile/find-request.ts";
import { toNewRequest } from "../submit/create.ts";
import type { ReconcileTimes, SubmitDeps } from "../submit/deps.ts";
import { requireSameSubject } from "../submit/subject.ts";

/**
 * Searches the service for what a call without an answer did, and adopts it. Only when several looks, the last one
 * after `reconcile.giveUpAfter`, found nothing is the call believed to have had no effect, and the order sent again. What
 * can't be known is parked for a person.
 *
 * A call is reconciled on the surface that it went to, whatever the configuration says by now. On the external surface
 * a retrieval is treated like a storage: each procedure shows the exact set of its containers, so one with just these
 * containers that is new is this order's, and the absence of any such procedure is as good a sign as the absence of a
 * correlation token. On the request surface a retrieval shows nothing of the kind, so its absence proves less.
 */
export async function reconcileOrder(
  order: LedgerOrder,
  deps: SubmitDeps,
  signal: AbortSignal,
): Promise<void> {
  const change =
    order.intent === "subject"
      ? await reconcileSubject(order, deps, signal)
      : await reconcileRequest(order, deps, signal);
  await deps.writer.change({ ...change, orderId: order.id, fence: order.fence, isReleased: true });
}

type Step = Omit<OrderChange, "orderId">;

async function reconcileSubject(order: LedgerOrder, deps: SubmitDeps, signal: AbortSignal): Promise<Step> {
  // The configuration has changed meanwhile: the site's credentials may not reach subjects any more, nor need they.
  if (deps.settings.wayOf(order.facilityId).subjects === "none") {
    return backToWaiting({ kind: "reconciled", detail: { found: "not looked for" } });
  }
  const known = await deps.service.findSubject(order.facilityId, order.subject.code, signal);
  if (!known) return afterEmptyCheck(order, deps);
  requireSameSubject(order.subject, known);
  return backToWaiting({ kind: "reconciled", detail: { found: "subject" } });
}

async function reconcileRequest(order: LedgerOrder, deps: SubmitDeps, signal: AbortSignal): Promise<Step> {
  const surface = order.surface ?? "request";
  const found = await findCreated(surface, order, deps, signal);
  const claimed = await findClaimed(deps.pool, surface, [...found.matches, ...found.candidates], order.id);
  const free = (ids: readonly number[]) => ids.filter((id) => !claimed.has(id));
  const matches = free(found.matches);
  const candidates = free(found.candidates);
  const [certain] = matches;
  const taken = found.matches.flatMap((id) => {
    const holder = claimed.get(id);
    return holder === undefined ? [] : [`${WORD[surface]} ${id} is this order's, but ${holder} has it`];
  });
  // Whose is whose is for a person to find out; a repeat would make one of the two twice.
  if (taken.length > 0 && matches.length === 0) return park("SUBMIT_UNCERTAIN", taken.join("; "));
  if (certain !== undefined && matches.length === 1) return adopt(toLink(surface, certain), deps);
  if (matches.length > 1) {
    const text = `${WORDS[surface]} ${matches.join(", ")} could all be this order's`;
    return park("SUBMIT_SEVERAL_MATCHES", text, { surface, ids: matches });
  }
  if (surface === "request" && order.operation === "RETRIEVAL") {
    const [only] = candidates;
    const isAlone = !(await isLaneUnreconciled(deps.pool, order.id));
    const isNew = only !== undefined && found.hidden?.includes(only) !== true;
    if (isNew && candidates.length === 1 && isAlone) return adopt(toLink(surface, only), deps);
  }
  const evidence = describe(surface, candidates, found);
  if (evidence === undefined) return afterEmptyCheck(order, deps);
  const next = planCheck(order.checks + 1, order.intentAgeMs ?? 0, deps.settings.reconcile);
  if (next !== "believed") return checkAgain(order, next.nextInMs, evidence);
  // A person has seen the candidates and wants the order sent again nevertheless.
  if (order.isRepostApproved) return afterEmptyCheck(order, deps);
  const code = candidates.length > 1 ? "SUBMIT_SEVERAL_MATCHES" : "SUBMIT_UNCERTAIN";
  return park(code, evidence, candidates.length > 0 ? { surface, ids: candidates } : undefined);
}

function toLink(surface: Surface, id: number): ServiceLink {
  return surface === "request" ? { surface, requestId: id } : { surface, procedureId: id };
}

/** What speaks for an effect of the call without showing which; undefined when nothing does. */
function describe(
  surface: Surface,
  candidates: readonly number[],
  { marked = [], traces = [] }: ReconcileFindings,
): string | undefined {
  const ours = marked.filter((id) => candidates.includes(id));
  if (ours.length > 0) {
    return `${ours.length === 1 ? WORD[surface] : WORDS[surface]} ${ours.join(", ")} at the service ${ours.length === 1 ? "carries" : "carry"} the order's mark, but the service doesn't show its labels with it`;
  }
  if (candidates.length > 0) {
    return `${WORDS[surface]} ${candidates.join(", ")} could be this order's, but nothing proves it`;
  }
  if (traces.length === 0) return undefined;
  return `containers ${traces.join(", ")} at the service carry the order's mark, but no procedure is listed`;
}

/** Calls in a row that had no effect and no clear answer, after which a person looks into it. */
const MOST_ROUNDS = 5;

async function afterEmptyCheck(order: LedgerOrder, deps: SubmitDeps): Promise<Step> {
  if (order.isRefused) {
    // The answer said so, and the service shows nothing else.
    const event = { kind: "reconciled", detail: { found: "nothing", isRefused: true } };
    return { ...backToWaiting(event), failure: undefined, recheckInMs: recheckOf(order, deps) };
  }
  const next = planCheck(order.checks + 1, order.intentAgeMs ?? 0, deps.settings.reconcile);
  if (next !== "believed") return checkAgain(order, next.nextInMs, "nothing");
  // A service that takes an order and never shows it would be sent it again and again.
  if (!order.isRepostApproved && (await wasCallTaken(deps.pool, order.id))) {
    return park(
      "SUBMIT_UNCERTAIN",
      "the service answered the call as done, without saying what it made, and lists nothing of it",
    );
  }
  // Reads go well all the while, so this is no outage that time would end.
  const rounds = (await countEmptyChecks(deps.pool, order.id)) + 1;
  if (rounds >= MOST_ROUNDS) {
    return park(
      "SUBMIT_UNCERTAIN",
      `${rounds} calls in a row got no clear answer, and the service shows no trace of any; see its answers`,
    );
  }
  const mayRepeat =
    order.operation !== "RETRIEVAL" ||
    order.surface === "external" ||
    order.isRepostApproved ||
    deps.settings.reconcile.retrievals === "retry";
  if (order.intent === "request" && !mayRepeat) {
    return park(
      "SUBMIT_UNCERTAIN",
      "the service shows no trace of the call, and a retrieval leaves nothing that would prove it",
    );
  }
  const event = { kind: "reconciled", detail: { found: "nothing", checks: order.checks + 1 } };
  return { ...backToWaiting(event), recheckInMs: recheckOf(order, deps) };
}

/** A list may show late what a call made, also where the order is not sent again after it, but cancelled. */
function recheckOf({ intent }: LedgerOrder, { settings }: SubmitDeps): number | undefined {
  return intent === "request" ? settings.reconcile.recheckMs : undefined;
}

function checkAgain(order: LedgerOrder, nextInMs: number, found: string): Step {
  return {
    from: ["submitting"],
    checks: order.checks + 1,
    failedChecks: 0,
    nextInMs,
    event: { kind: "checked", detail: { found, nextInMs } },
  };
}

function backToWaiting(event: NonNullable<OrderChange["event"]>): Step {
  return { to: "received", failure: null, nextInMs: 0, isIntentCleared: true, event };
}

function adopt(link: ServiceLink, deps: SubmitDeps): Step {
  return {
    to: "submitted",
    failure: null,
    request: link,
    attempts: 0,
    // Staff may have acted already.
    nextInMs: 0,
    pollIntervalMs: deps.settings.firstPollMs,
    isIntentCleared: true,
    event: { kind: "adopted", detail: { ...link } },
    isReported: true,
  };
}

function park(
  code: "SUBMIT_SEVERAL_MATCHES" | "SUBMIT_UNCERTAIN",
  text: string,
  atService?: AtService,
): Step {
  // The intent stays: whatever a person decides, the service is searched once more before anything is sent.
  const failure = new Failure(code, text);
  const reason = { code, text: failure.message };
  const event = { kind: "parked", detail: { ...reason, atService } };
  return { to: "parked", failure: reason, event, isReported: true };
}

/** What each surface makes of an order. */
export const WORD = { request: "request", external: "procedure" } as const satisfies Record<Surface, string>;
export const WORDS = { request: "requests", external: "procedures" } as const satisfies Record<
  Surface,
  string
>;

/**
 * Checks what the latest call of an order made that asks for something else since: the call was refused, but a gateway may
 * have said so after it had passed the call on.
 *
 * @throws Failure SUBMIT_UNCERTAIN when the service has something that may be of that call; those of the reads
 */
export async function guardChanged(order: LedgerOrder, deps: SubmitDeps, signal: AbortSignal): Promise<void> {
  const surface = order.surface ?? "request";
  const { matches, candidates, traces = [] } = await findCreated(surface, order, deps, signal);
  const ids = [...new Set([...matches, ...candidates])];
  const claimed = await findClaimed(deps.pool, surface, ids, order.id);
  const free = ids.filter((id) => !claimed.has(id));
  const what = nameFound(surface, free, traces);
  if (what === undefined) return;
  throw new Failure(
    "SUBMIT_UNCERTAIN",
    `${what} at the service may be what the order asked for before it was changed`,
  );
}

/**
 * Checks once what a lost call of an order may have made, for a person who says that it made nothing.
 *
 * @returns what there is, in words: also what nothing proves to be this order's, or another order has; undefined for nothing
 */
export async function findTraces(
  order: LedgerOrder,
  deps: Pick<SubmitDeps, "pool" | "service"> & {
    readonly settings: Pick<SubmitDeps["settings"], "correlation">;
  },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (order.intent === "subject") {
    const known = await deps.service.findSubject(order.facilityId, order.subject.code, signal);
    return known === undefined ? undefined : "the subject";
  }
  const surface = order.surface ?? "request";
  const { matches, candidates, marked = [], traces = [] } = await findCreated(surface, order, deps, signal);
  const claimed = await findClaimed(deps.pool, surface, candidates, order.id);
  const possible = candidates.filter((id) => !claimed.has(id));
  const ids = [...new Set([...matches, ...marked, ...possible])];
  return nameFound(surface, ids, traces);
}

/** What a look found, in words: requests or procedures, else containers; undefined for nothing. */
function nameFound(
  surface: Surface,
  ids: readonly number[],
  traces: readonly (string | number)[],
): string | undefined {
  if (ids.length > 0) return `${(ids.length === 1 ? WORD : WORDS)[surface]} ${ids.join(", ")}`;
  return traces.length > 0 ? `containers ${traces.join(", ")}` : undefined;
}

/**
 * Looks at the service for what the calls of an order made since the first of them, on the surface that they went to; of one
 * that was changed since, for what it asked for then.
 *
 * @param mark that of the calls, where it isn't the order's own
 */
export async function findCreated(
  surface: Surface,
  order: LedgerOrder,
  {
    pool,
    service,
    settings,
  }: {
    readonly pool: pg.Pool;
    readonly service: ServiceCalls;
    readonly settings: { readonly correlation: "token" | "labels" };
  },
  signal: AbortSignal,
  mark?: string,
): Promise<ReconcileFindings> {
  const containerIds = order.containers.flatMap((container) => container.containerId ?? []);
  const sent = order.isChanged ? parseRequestBody(await findSent(pool, order.id), surface) : undefined;
  const asked = sent ?? toNewRequest(order, containerIds, { settings });
  const lost = {
    ...(asked.type === "STORE" && mark !== undefined ? { ...asked, ref: mark } : asked),
    sentAfter: order.calledAt ?? order.intentAt ?? order.receivedAt,
    knownIds: new Set([...order.knownRequestIds, ...order.formerIds]),
  };
  return surface === "request"
    ? service.findCreatedRequest(lost, signal)
    : service.external.findCreatedProcedure(lost, signal);
}

/** "Nothing" is believed after this many empty looks at least, since a list may lag behind a write. */
const FEWEST_CHECKS = 3;

/**
 * What follows an empty look: another one after some ms, or the belief that the call had no effect. With looks at 5 s
 * and 30 s and `giveUpAfter` of 15 min, an untouched order is checked at 5 s, 30 s and 15 min.
 *
 * @param looksDone empty looks so far, this one included
 * @param ageMs time since the call
 */
export function planCheck(
  looksDone: number,
  ageMs: number,
  reconcile: ReconcileTimes,
): { readonly nextInMs: number } | "believed" {
  if (ageMs >= reconcile.giveUpAfterMs) {
    if (looksDone >= FEWEST_CHECKS) return "believed";
    return { nextInMs: reconcile.checksMs[0] ?? reconcile.giveUpAfterMs };
  }
  const next = [...reconcile.checksMs, reconcile.giveUpAfterMs]
    .sort((a, b) => a - b)
    .find((atMs) => atMs > ageMs);
  return { nextInMs: (next ?? reconcile.giveUpAfterMs) - ageMs };
}
