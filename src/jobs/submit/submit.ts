import { asFailure, Failure } from "../../core/failures.ts";
import { isSubjectNews } from "../../core/order.ts";
import { callsForNow, formerCalls } from "../../ledger/orders/calls.ts";
import type { OrderChange } from "../../ledger/orders/change.ts";
import { claimDue } from "../../ledger/orders/claiming.ts";
import { findLabelHolders, type LabelHolder } from "../../ledger/orders/label-subjects.ts";
import type { NewCall } from "../../ledger/orders/new-calls.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import {
  findMatches,
  isEarlierStoreThere,
  LIST_LAG_MS,
  type Matches,
} from "../../ledger/orders/same-containers.ts";
import { requestBody } from "../../service/new-request.ts";
import { findMade, nameUnclaimed, surfaceOf } from "../calls/find.ts";
import { nameFinds } from "../calls/finds.ts";
import { byLabel, whichContainers } from "../which-container.ts";
import { createdOf, toNewRequest } from "./create.ts";
import type { SubmitDeps } from "./deps.ts";
import { recordSubmitFailure } from "./failure.ts";
import { guardOrder, guardStored, labelTaken, needsFreeLabels, type SubjectAtService } from "./guard.ts";
import { registered, requireRegistrable, requireSameSubject, takeNews } from "./subject.ts";

/**
 * Takes what is due until nothing is left that can be taken.
 *
 * @param turns how many orders are taken at once at most, whether more may be taken, and `nudge`, which has the ledger looked at for what
 *   there is to do: never where nothing was taken, since an order that waits for its lane would have it looked at again and again
 */
export async function submitAllDue(
  deps: SubmitDeps,
  turns: {
    readonly batchSize: () => number;
    readonly mayGoOn: () => boolean;
    readonly nudge: () => void;
  },
  signal: AbortSignal,
): Promise<void> {
  const { batchSize, mayGoOn, nudge } = turns;
  let taken = 0;
  for (let more = true; more && mayGoOn(); ) {
    const limit = batchSize();
    const count = await submitDue(limit, deps, signal, (each) => {
      // There may be more than this one can take.
      if (each === limit) nudge();
    });
    taken += count;
    more = count > 0;
  }
  if (taken > 0) nudge();
}

/**
 * Takes orders that are due, each of another lane, as far as the service's procedure request, or on the external surface
 * its procedure. Over when none of them is worked on any more, also where it fails.
 *
 * @param onTaken is told how many orders were taken, before they are worked on
 * @returns how many orders were taken
 */
export async function submitDue(
  limit: number,
  deps: SubmitDeps,
  signal: AbortSignal,
  onTaken: (taken: number) => void = () => {},
): Promise<number> {
  const { pool, worker, settings, inHand } = deps;
  const { id: workerId } = worker;
  const { doesParkedBlock } = settings;
  const orders = await inHand.claim(() => claimDue(pool, { workerId, limit, doesParkedBlock }));
  try {
    onTaken(orders.length);
    const steps = await readSteps(orders, workerId, deps);
    const ended = await Promise.allSettled(steps.map((step) => submitOrder(step, deps, signal)));
    for (const each of ended) if (each.status === "rejected") throw each.reason;
  } finally {
    for (const { fence } of orders) inHand.done(fence);
  }
  return orders.length;
}

/** Takes one order that this worker has claimed as far as it gets. */
async function submitOrder(step: Step, deps: SubmitDeps, signal: AbortSignal): Promise<void> {
  const { order } = step;
  const { id: orderId, connector, operation, facilityCode, attempts: attempt } = order;
  const name = { orderId, connector, operation, facilityCode, attempt };
  try {
    await deps.tracer.during("submit", name, () => submitFresh(step, deps, signal));
  } catch (error) {
    await recordSubmitFailure(order, error, deps);
  } finally {
    deps.inHand.done(order.fence);
  }
}

/** Reads what the guards need to know of orders. */
async function readSteps(
  orders: readonly LedgerOrder[],
  workerId: number,
  { pool, settings }: SubmitDeps,
): Promise<Step[]> {
  const ids = orders.map(({ id }) => id);
  const matchesById = await findMatches(pool, ids);
  const labelHolders = await findLabelHolders(pool, settings.labelOfTwoSubjects === "park" ? ids : []);
  return orders.map((order) => {
    const matches = matchesById.get(order.id);
    if (matches === undefined) throw new TypeError(`order o${order.id} is not in the ledger`);
    return { order, workerId, matches, labelHolder: labelHolders.get(order.id) };
  });
}

/** An order that this worker owns, as long as nobody takes it for dead. */
interface Step {
  readonly order: LedgerOrder;
  /** The worker as it was when it took the order: one that was taken for dead goes on under another id. */
  readonly workerId: number;
  /** Read since the order was claimed. */
  readonly matches: Matches;
  /** Read together with it. */
  readonly labelHolder: LabelHolder | undefined;
}

async function submitFresh(step: Step, deps: SubmitDeps, signal: AbortSignal): Promise<void> {
  const { order, matches } = step;
  await deps.requireNewestKnown();
  if (isSubjectNews(order.operation)) return takeNews(order, matches, deps, signal);
  if (matches.mayBeForgotten) return presume(order, deps);
  if ((await guardOrder(order, matches, step.labelHolder, deps)) === "wait")
    return putOff(order, STILL_MOVED, deps);
  if (!(await guardFormer(order, deps, signal))) return;
  const subject = await ensureSubject(step, deps, signal);
  // Recorded together with the call that follows, where nothing in between can fail.
  const noted = noteSubject(order, subject);
  if (order.operation === "REGISTER") {
    // At once: a cancellation that waits for the call would be granted in between, as if nothing had been done.
    const { event, ...rest } = noted ?? {};
    await deps.writer.change({ ...rest, ...registered(order), eventBefore: event });
    return;
  }
  const containerIds =
    order.operation === "RETRIEVAL" ? await resolveContainers(order, subject, deps, signal) : [];
  if (!Array.isArray(containerIds)) return putOff(order, containerIds.waitsFor, deps);
  await requireUnstored(step, subject, deps, signal);
  await createRequest(step, { containerIds, subject, noted }, deps, signal);
}

/** Has the service looked at first for a call that the ledger may have forgotten. */
async function presume({ id: orderId, fence }: LedgerOrder, deps: SubmitDeps): Promise<void> {
  await deps.writer.change({
    orderId,
    fence,
    from: ["submitting"],
    attempts: 0,
    isPresumed: true,
    isReleased: true,
  });
}

/**
 * Looks for what the order's calls made before it came to ask for something else: they were refused, or nothing was found of them, but a
 * gateway may have passed them on. What may be of one reopens it, and a person sees to it.
 *
 * @returns false where the order is parked for that
 */
async function guardFormer(order: LedgerOrder, deps: SubmitDeps, signal: AbortSignal): Promise<boolean> {
  for (const call of formerCalls(order)) {
    const what = nameFinds(surfaceOf(order, call, deps), await findMade(order, call, deps, signal));
    if (what === undefined) continue;
    const text = `${what} at the service may be what the order asked for before it was changed`;
    const failure = { code: "SUBMIT_UNCERTAIN", text } as const;
    await deps.writer.change({
      orderId: order.id,
      fence: order.fence,
      ...{ to: "parked", failure, isReported: true },
      reopened: { callId: call.id, isLookedFor: false },
      event: { kind: "parked", detail: failure },
    });
    return false;
  }
  return true;
}

/** Stops a STORE of what the service has in storage already, as {@link guardStored} does, and names the request where it is nobody's. */
async function requireUnstored(
  { order, matches }: Step,
  subject: SubjectAtService,
  deps: SubmitDeps,
  signal: AbortSignal,
): Promise<void> {
  try {
    await guardStored(order, subject, matches, deps, signal);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "ORDER_CONTAINER_STORED_ALREADY") throw error;
    throw await nameUnclaimed(error, order, deps, signal);
  }
}

/** What an order is put off for, as its timeline has it; what it waits for later is asked of the ledger then (`findMover`). */
const STILL_MOVED = "an earlier order that still moves the container";
const NOT_LISTED_YET = "the service to list a container that was stored a short while ago";

/** Gives the order back for a while; the end of an earlier order of its lane makes it due at once. */
async function putOff(order: LedgerOrder, waitsFor: string, deps: SubmitDeps): Promise<void> {
  await deps.writer.change({
    orderId: order.id,
    fence: order.fence,
    to: "received",
    attempts: 0,
    nextInMs: deps.settings.firstPollMs,
    event: { kind: "waits", detail: { for: waitsFor } },
  });
}

/** What the timeline is to say of the subject: that it was registered, or, before the first call, what nobody could compare. */
function noteSubject(order: LedgerOrder, subject: SubjectAtService): OrderChange | undefined {
  const { id: orderId, fence } = order;
  if (subject?.isNew) {
    const call = { end: "made", serviceId: subject.id } as const;
    return { orderId, fence, call, event: { kind: "subject_registered" } };
  }
  const { unshown = [] } = subject ?? {};
  if (unshown.length === 0 || callsForNow(order).length > 0) return undefined;
  return { orderId, fence, event: { kind: "subject_compared", detail: { unshown: unshown.join(", ") } } };
}

/** Finds or registers the subject; undefined where the service is not asked about subjects. */
async function ensureSubject(step: Step, deps: SubmitDeps, signal: AbortSignal): Promise<SubjectAtService> {
  const { order, matches } = step;
  const { subjects } = deps.settings.wayOf(order.facilityId);
  if (subjects === "none") {
    requireNoRegistration(order);
    return undefined;
  }
  const known = await deps.service.findSubject(order.facilityId, order.subject.code, signal);
  if (known) return { id: known.id, unshown: requireSameSubject(order.subject, known) };
  if (matches.isSubjectJustRegistered) {
    throw new Failure(
      "SUBJECT_NOT_LISTED_YET",
      "the subject was registered, but the service doesn't list it yet",
    );
  }
  if (order.operation === "RETRIEVAL") {
    throw new Failure("SUBJECT_UNKNOWN", "the service has no subject with this code at this facility");
  }
  if (subjects === "look") throw new Failure("SUBJECT_NOT_REGISTERED", NOT_REGISTERED);
  requireRegistrable(order.subject, deps.settings.subjectRequires);
  await intend(step, { kind: "subject", knownIds: [], body: undefined }, deps);
  return registerUnlessThere(step, deps, signal);
}

const NOT_REGISTERED =
  "the service has no subject with this code at this facility, and subjects are not registered from here";

/** Without the calls for subjects the service itself has to know whom an order is about. */
function requireNoRegistration(order: LedgerOrder): void {
  if (order.operation !== "REGISTER") return;
  throw new Failure(
    "SUBJECT_NOT_REGISTERED",
    "the order asks for nothing but the registration of its subject, and subjects are not registered from here",
  );
}

/**
 * Somebody else may have registered the subject since it was looked up; then the refusal is no failure, and the subject is one
 * that was there: they may have stored for it, too.
 */
async function registerUnlessThere(
  step: Step,
  deps: SubmitDeps,
  signal: AbortSignal,
): Promise<SubjectAtService> {
  const { order } = step;
  try {
    const { id } = await deps.service.registerSubject(order.facilityId, order.subject, signal, () =>
      requireLease(step, deps),
    );
    return { id, isNew: true };
  } catch (error) {
    if (asFailure(error).class !== "permanent") throw error;
    const known = await deps.service.findSubject(order.facilityId, order.subject.code, signal);
    if (!known) throw error;
    const unshown = requireSameSubject(order.subject, known);
    // What follows may fail, and the refused call is not to be looked for then.
    await deps.writer.change({ orderId: order.id, fence: order.fence, call: { end: "refused" } });
    return { id: known.id, unshown };
  }
}

/** Subjects that nobody looks up are known by their code alone, which is theirs within a facility only. */
const SEVERAL_SUBJECTS =
  "several subjects have the order's subject code, so it is not clear whose containers are the order's";

async function resolveContainers(
  order: LedgerOrder,
  subject: SubjectAtService,
  deps: SubmitDeps,
  signal: AbortSignal,
): Promise<number[] | { readonly waitsFor: string }> {
  const labels = order.containers.map((container) => container.label);
  // Also when the service lists them already: the earlier order's end, with its locations, comes first.
  if (await isEarlierStoreThere(deps.pool, order.id, labels, 0)) return { waitsFor: STILL_MOVED };
  const { surface } = deps.settings.wayOf(order.facilityId);
  const asked = { surface, subjectCode: order.subject.code };
  const listed = await deps.service.listSubjectContainers(asked, signal);
  const which = whichContainers(byLabel(order.containers), listed, { subjectId: subject?.id });
  const labelsOf = (...kinds: string[]) =>
    order.containers.flatMap(({ position, label }) =>
      kinds.includes(which.get(position)?.kind ?? "none") ? [label] : [],
    );
  if (labelsOf("subjects").length > 0) throw new Failure("CONTAINER_LABEL_AMBIGUOUS", SEVERAL_SUBJECTS);
  const ambiguous = labelsOf("several", "shared");
  if (ambiguous.length > 0) {
    throw new Failure(
      "CONTAINER_LABEL_AMBIGUOUS",
      `more than one container of the subject has the label ${ambiguous.join(", ")}`,
    );
  }
  const missed = labelsOf("none", "contradicted");
  if (missed.length > 0) {
    if (await isEarlierStoreThere(deps.pool, order.id, missed, LIST_LAG_MS))
      return { waitsFor: NOT_LISTED_YET };
    throw new Failure(
      "CONTAINER_UNKNOWN",
      `the subject has no container with the label ${missed.join(", ")}`,
    );
  }
  const containers = [...which].flatMap(([position, each]) =>
    each.kind === "one" ? [{ position, containerId: each.shown.id }] : [],
  );
  await deps.writer.change({ orderId: order.id, fence: order.fence, containers });
  return containers.map((container) => container.containerId);
}

async function createRequest(
  step: Step,
  prepared: {
    readonly containerIds: readonly number[];
    readonly subject: SubjectAtService;
    /** What the timeline is to say of the subject. */
    readonly noted: OrderChange | undefined;
  },
  deps: SubmitDeps,
  signal: AbortSignal,
): Promise<void> {
  const { order, matches } = step;
  const { surface } = deps.settings.wayOf(order.facilityId);
  const request = toNewRequest(order, prepared.containerIds, deps);
  // Without a token, only what was there before distinguishes an older request from the one that is about to be made.
  // The external surface shows the exact containers of each procedure, and its list can't be asked by subject.
  // It is taken before the first call and kept: what that one made must not pass for older than the second.
  const isFirst = !callsForNow(order).some((call) => call.surface === surface);
  const needsSnapshot = isFirst && surface === "request" && request.ref === undefined;
  // Reading may fail, and a registration that isn't recorded could be made twice.
  if (needsSnapshot && prepared.noted) await deps.writer.change(prepared.noted);
  const knownIds = needsSnapshot ? await deps.service.snapshotRequestIds(request, signal) : [];
  const body = requestBody(request, deps.settings.correlation, surface);
  await intend(
    step,
    {
      kind: "request",
      knownIds,
      body,
      surface,
      subjectId: prepared.subject?.id,
      needsFreeLabels: needsFreeLabels(order, matches, deps.settings),
    },
    deps,
    needsSnapshot ? undefined : prepared.noted,
  );
  const beforeSend = () => requireLease(step, deps);
  const created = await deps.service.create(surface, request, signal, { body, beforeSend });
  const made = createdOf(surface, order, created);
  await deps.writer.change({
    orderId: order.id,
    fence: order.fence,
    to: "submitted",
    failure: null,
    ...made,
    call: { end: "made" },
    attempts: 0,
    nextInMs: deps.settings.firstPollMs,
    event: { kind: "submitted", detail: { ...made.request } },
    isReported: deps.isSent(order.connector, "submitted"),
  });
}

/**
 * Writes the call down and makes sure that this worker still owns the order, so that a worker which was stopped for so
 * long that others took over sends nothing when it wakes. From then on a copy of the ledger that lacks the call is known by its
 * epoch.
 */
async function intend(
  step: Step,
  call: Omit<NewCall, "orderId" | "fence">,
  deps: SubmitDeps,
  after?: OrderChange,
): Promise<void> {
  const { id: orderId, fence } = step.order;
  if (fence === undefined) throw new TypeError(`order o${orderId} was claimed without a fence`);
  const result = await deps.writer.intend({ orderId, fence, ...call }, after);
  if (result.kind === "not ours") throw leaseLost();
  if (result.kind === "label taken") throw labelTaken(result.by);
}

/** A call may wait for its turn after it was written down: right before it leaves, it is asked whether others took over. */
function requireLease({ workerId }: Step, { worker }: SubmitDeps): void {
  if (worker.id !== workerId || !worker.isSure) throw leaseLost();
}

function leaseLost(): Failure {
  return new Failure("ORDER_LEASE_LOST", "the worker no longer owned the order when it was about to call");
}
