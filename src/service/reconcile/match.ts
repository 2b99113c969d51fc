import type { ServiceContext } from "../http/context.ts";
import {
  findMarks,
  hasRef,
  hasSameContainerIds,
  hasSameLabels,
  type NewRequest,
  type Shown,
} from "../new-request.ts";
import type { ServiceContainer } from "../shapes.ts";

/** A creation whose answer never came. */
export type LostRequest = NewRequest & {
  /** When it was sent, by our clock. */
  readonly sentAfter: Date;
  /** What can't be it: what was there before it was sent, and what other orders own. */
  readonly knownIds: ReadonlySet<number>;
};

/**
 * Whether something at the service is what a lost creation made. `marked`: it carries the order's mark, and the service shows
 * other labels with it, or none: somebody may have corrected or copied it, so a person decides.
 */
export type Match = "certain" | "marked" | "possible" | "none";

/**
 * Whether something was created after ours was sent, as far as its `createdAt` shows. Several clocks have a say in that: the
 * service's, that of the gateway which writes `Date`, the database's and ours. So it may speak for something that shows the
 * right content. It never speaks against such a one; and against one that shows no content only when it is `older` by more than
 * clocks and time zones are ever wrong.
 */
export type Age = "older" | "newer" | "unknown";

/** Room for clocks that differ more than the `Date` header shows. */
export const CLOCK_MARGIN_MS = 600_000;
/** Further apart are no clocks that anybody works by, nor two time zones. */
export const WRONG_CLOCK_MS = 86_400_000;

/** A time as the service wrote it, ms by its own clock; undefined where it has no zone, or is none. */
export function createdAtMs(text: string | undefined): number | undefined {
  if (!text || !/(Z|[+-]\d{2}:?\d{2})$/i.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** By the service's clock as its `Date` headers show it, with a margin; a time without a zone proves nothing. */
export function ageOf(
  context: ServiceContext,
  lost: LostRequest,
  entry: { readonly createdAt?: string | undefined },
): Age {
  const createdAt = createdAtMs(entry.createdAt);
  if (createdAt === undefined) return "unknown";
  const sentAt = lost.sentAfter.getTime() + (context.transport.clockSkewMs ?? 0);
  if (createdAt >= sentAt - CLOCK_MARGIN_MS) return "newer";
  return createdAt < lost.sentAfter.getTime() - WRONG_CLOCK_MS ? "older" : "unknown";
}

/**
 * Judges a storage by what the entry shows: certain by the order's mark together with exactly its labels. Undefined when it
 * shows too little, which reading it by its id, or its containers, may change.
 */
export function judgeStore(
  context: ServiceContext,
  lost: Extract<LostRequest, { type: "STORE" }>,
  entry: Shown,
  age: Age,
): Match | undefined {
  const ref = tokenOf(context, lost);
  const hasLabels = hasSameLabels(lost, entry);
  if (ref !== undefined && hasMark(entry, ref)) {
    return hasLabels === undefined ? undefined : hasLabels ? "certain" : "marked";
  }
  // Another order's, whatever its labels; unless the lab itself sent that mark, as a description that it had from us before.
  if (ref !== undefined && hasOtherMark(lost, entry)) return "none";
  if (hasLabels === undefined) return age === "older" ? "none" : undefined;
  if (!hasLabels) return "none";
  // Same labels, but without our mark, or seemingly from before: a look-alike, descriptions that the service cuts, a wrong clock.
  return ref === undefined && age === "newer" ? "certain" : "possible";
}

/** Whether a container of the entry carries the order's mark. */
export function hasMark(entry: Shown, ref: string): boolean {
  return entry.containers?.some(({ description = "" }) => hasRef(description, ref)) === true;
}

function hasOtherMark(lost: Extract<LostRequest, { type: "STORE" }>, entry: Shown): boolean {
  const sent = new Set(lost.containers.flatMap(({ description }) => findMarks(description)));
  const shown = entry.containers?.flatMap(({ description = "" }) => findMarks(description)) ?? [];
  return shown.some((mark) => !sent.has(mark));
}

/**
 * Judges a storage by the containers that it made, as the service lists them.
 *
 * @param ids all its containers; some may not be among those listed
 */
export function judgeContainers(
  lost: Extract<LostRequest, { type: "STORE" }>,
  ref: string,
  ids: readonly number[],
  listed: readonly ServiceContainer[],
): "certain" | "marked" | "possible" {
  const made = listed.filter(({ id }) => ids.includes(id));
  if (!made.some(({ description = "" }) => hasRef(description, ref))) return "possible";
  const isExact =
    made.length === ids.length &&
    made.length === lost.containers.length &&
    lost.containers.every(({ label }) => made.filter(({ labels }) => labels.includes(label)).length === 1);
  return isExact ? "certain" : "marked";
}

/** Judges a retrieval by what the entry shows; undefined when it shows no containers. */
export function judgeRetrieval(
  lost: Extract<LostRequest, { type: "RETRIEVAL" }>,
  entry: Shown,
  age: Age,
): Match | undefined {
  const isSame = hasSameContainerIds(lost, entry.containerIds);
  if (isSame === undefined) return age === "older" ? "none" : undefined;
  if (!isSame) return "none";
  return age === "older" ? "possible" : "certain";
}

/** The order's mark, where the site lets it be used. */
export function tokenOf(
  context: ServiceContext,
  lost: Extract<LostRequest, { type: "STORE" }>,
): string | undefined {
  return context.settings.correlation === "token" ? lost.ref : undefined;
}
