import { Failure, type FailureCode } from "../../core/failures.ts";
import type { OrderSubject } from "../../core/order.ts";
import type { Phi } from "../../core/phi.ts";
import { formatId, nameOrder } from "../../ledger/ids.ts";
import { changeWithOthers, type OrderChange } from "../../ledger/orders/change.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import type { Matches } from "../../ledger/orders/same-containers.ts";
import { findSubjectOrders, type SubjectOrder } from "../../ledger/orders/subjects.ts";
import type { SubjectField, SubmitDeps } from "./deps.ts";

/** What the service knows of a subject. */
interface KnownSubject {
  readonly id: number;
  readonly firstName?: Phi | undefined;
  readonly lastName?: Phi | undefined;
  readonly dateOfBirth?: Phi | undefined;
}

const fold = (value: string) => value.normalize("NFC").trim().replace(/\s+/gu, " ").toLocaleLowerCase("und");

/** How two records of a subject compare: names of fields, in words. */
interface Comparison {
  /** Case, surrounding blanks and the way accents are encoded don't count. */
  readonly differing: readonly string[];
  /** What the order has and the service doesn't show. */
  readonly unshown: readonly string[];
}

/** Compares the fields that both sides have. */
export function compareSubjects(ours: OrderSubject, theirs: KnownSubject): Comparison {
  const fields = ["firstName", "lastName", "dateOfBirth"] as const;
  const given = fields.flatMap((field) => {
    const our = ours[field]?.reveal();
    return our === undefined ? [] : [{ field, our, their: theirs[field]?.reveal() }];
  });
  const differing = given.filter(({ our, their }) => their !== undefined && fold(our) !== fold(their));
  const unshown = given.filter(({ their }) => their === undefined);
  return {
    differing: differing.map(({ field }) => inWords(field)),
    unshown: unshown.map(({ field }) => inWords(field)),
  };
}

/**
 * The guard against the wrong patient: where both sides have a name or birth date, the two must agree.
 *
 * @returns what could not be compared, since the service doesn't show it
 * @throws Failure SUBJECT_MISMATCH naming the fields that differ, never their values.
 */
export function requireSameSubject(ours: OrderSubject, theirs: KnownSubject): readonly string[] {
  const { differing, unshown } = compareSubjects(ours, theirs);
  if (differing.length === 0) return unshown;
  throw new Failure(
    "SUBJECT_MISMATCH",
    `the service has this subject code with another ${differing.join(", ")}`,
  );
}

/**
 * Whether the order has all that registering its subject takes. Which fields the service demands is not shown by the
 * specification, so the site says it.
 *
 * @throws Failure SUBJECT_INCOMPLETE naming what is missing.
 */
export function requireRegistrable(subject: OrderSubject, required: readonly SubjectField[]): void {
  const missing = required.filter((field) => subject[field] === undefined);
  if (missing.length === 0) return;
  throw new Failure(
    "SUBJECT_INCOMPLETE",
    `the subject isn't registered and the order lacks its ${missing.map(inWords).join(", ")}`,
  );
}

function inWords(field: SubjectField): string {
  return { firstName: "first name", lastName: "last name", dateOfBirth: "date of birth" }[field];
}

/** The end of an order that asks for nothing but its subject, which the service has. */
export function registered({ id: orderId, fence }: LedgerOrder): OrderChange {
  const common = { orderId, fence, failure: null, isReported: true };
  return { ...common, to: "completed", event: { kind: "registered" } };
}

/** The lab gets this many order numbers at most; the tasks name every order. */
const MOST_NUMBERS = 10;

/**
 * Takes up the lab's news about a subject (ADT A08, A31: an update; A40: a merge). The service offers no call to change
 * or merge subjects, so it is only looked at: where nothing would have to change there, the order is completed;
 * otherwise the lab gets the answer that it can't be done, and a person gets a task.
 *
 * @throws Failure SUBJECT_NOT_LISTED_YET, and those of the look
 */
export async function takeNews(
  order: LedgerOrder,
  matches: Matches,
  deps: SubmitDeps,
  signal: AbortSignal,
): Promise<void> {
  const [own, others] =
    order.operation === "MERGE"
      ? await merge(order, deps, signal)
      : [await update(order, matches, deps, signal), []];
  // The lab may have cancelled it meanwhile.
  await changeWithOthers(deps.pool, own, others);
}

async function update(
  order: LedgerOrder,
  { isSubjectJustRegistered }: Matches,
  deps: SubmitDeps,
  signal: AbortSignal,
): Promise<OrderChange> {
  const unable = (text: string) => end(order, { code: "SUBJECT_UPDATE_NOT_OFFERED", kind: "update", text });
  if (deps.settings.wayOf(order.facilityId).subjects === "none") {
    return unable(
      "the storage service is not asked about subjects here and offers no call to change them; nothing was changed there",
    );
  }
  const known = await deps.service.findSubject(order.facilityId, order.subject.code, signal);
  if (known === undefined) {
    if (!isSubjectJustRegistered) {
      return end(order, "the storage service doesn't know the subject, so there is nothing to update");
    }
    const text = "the subject was registered, but the service doesn't list it yet";
    throw new Failure("SUBJECT_NOT_LISTED_YET", text);
  }
  const { differing, unshown } = compareSubjects(order.subject, known);
  if (differing.length === 0) {
    const but = unshown.length === 0 ? "" : `, as far as it shows them: not the ${unshown.join(", ")}`;
    return end(order, `the storage service has the subject with the same data${but}`);
  }
  return unable(
    `the storage service has the subject with another ${differing.join(", ")} and offers no call to change it; nothing was changed there`,
  );
}

/** The order's own change, and a task for each order under the prior identifier that has not been sent. */
async function merge(
  order: LedgerOrder,
  deps: SubmitDeps,
  signal: AbortSignal,
): Promise<readonly [OrderChange, readonly OrderChange[]]> {
  const { priorSubjectCode: prior, facilityId } = order;
  if (prior === undefined) throw new TypeError(`order o${order.id} merges nothing`);
  const isLooked = deps.settings.wayOf(facilityId).subjects !== "none";
  const known = isLooked ? await deps.service.findSubject(facilityId, prior, signal) : undefined;
  const orders = await findSubjectOrders(deps.pool, facilityId, prior);
  if (isLooked && known === undefined && orders.length === 0) {
    return [end(order, "nothing is known under the prior identifier, here or at the storage service"), []];
  }
  const unsent = orders.filter(({ isUnsent }) => isUnsent);
  const text = [
    "the storage service offers no call to merge subjects: what is under the prior identifier stays under it",
    ...(unsent.length === 0 ? [] : [`not sent yet, and going on under it: ${namesOf(unsent)}`]),
  ].join("; ");
  const detail = { mergedBy: formatId("o", order.id) };
  const task = {
    kind: "merge",
    text: `the lab has merged this order's subject into another (order ${detail.mergedBy}); the order goes on under the prior identifier unless it is cancelled`,
  } as const;
  return [
    end(order, { code: "SUBJECT_MERGE_NOT_OFFERED", kind: "merge", text }),
    unsent.map(({ orderId }) => ({
      ...{ orderId, task, event: { kind: "subject_merged", detail } },
      // It may have been sent, or have ended, since it was read.
      from: ["received", "submitting", "parked"],
    })),
  ];
}

/** Ends the order: in words why there is nothing to do, or why it can't be done. */
function end(
  { id: orderId, fence }: LedgerOrder,
  why: string | { readonly code: FailureCode; readonly kind: "update" | "merge"; readonly text: string },
): OrderChange {
  const common = { orderId, fence, isReported: true };
  if (typeof why === "string") {
    return { ...common, to: "completed", failure: null, event: { kind: "completed", detail: { text: why } } };
  }
  const { code, text, kind } = why;
  const failure = { code, text };
  return {
    ...common,
    to: "failed",
    failure,
    event: { kind: "failed", detail: failure },
    task: { kind, text },
  };
}

function namesOf(orders: readonly SubjectOrder[]): string {
  const names = orders.slice(0, MOST_NUMBERS).map(({ placerOrderNumber }) => nameOrder(placerOrderNumber));
  const more = orders.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
