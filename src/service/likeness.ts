import type { ServiceContext } from "./context.ts";
import { hasAnyRef, hasRef, type NewRequest } from "./correlation.ts";
import { hasSameContainerIds, hasSameLabels, type Told } from "./requests.ts";

/** A creation whose answer never came. */
export type LostRequest = NewRequest & {
  /** When it was sent, by our clock. */
  readonly sentAfter: Date;
  /** What can't be it: what was there before it was sent, and what other orders own. */
  readonly knownIds: ReadonlySet<number>;
};

/** Whether something at the service is what a lost creation made. */
export type Likeness = "certain" | "possible" | "none";

/** Whether something was created after ours was sent, as far as its `createdAt` can tell. */
export type Age = "older" | "newer" | "unknown";

/** Room for clocks that differ more than the `Date` header shows. */
const CLOCK_MARGIN_MS = 600_000;

/** By the service's clock as its `Date` headers show it, with a margin; a time without a zone tells nothing. */
export function ageOf(
  context: ServiceContext,
  lost: LostRequest,
  entry: { readonly createdAt?: string | undefined },
): Age {
  if (!entry.createdAt || !/(Z|[+-]\d{2}:?\d{2})$/i.test(entry.createdAt)) return "unknown";
  const createdAt = Date.parse(entry.createdAt);
  if (Number.isNaN(createdAt)) return "unknown";
  const sentAt = lost.sentAfter.getTime() + (context.transport.clockSkewMs ?? 0);
  return createdAt < sentAt - CLOCK_MARGIN_MS ? "older" : "newer";
}

/** Judges a storage by what the entry tells; undefined when it tells no containers. */
export function judgeStore(
  context: ServiceContext,
  lost: Extract<LostRequest, { type: "STORE" }>,
  entry: Told,
  age: Age,
): Likeness | undefined {
  const ref = tokenOf(context, lost);
  const descriptions = entry.containers?.map((each) => each.description ?? "") ?? [];
  if (ref !== undefined && descriptions.some((each) => hasRef(each, ref))) return "certain";
  // Another order of ours, whatever its labels.
  if (ref !== undefined && descriptions.some(hasAnyRef)) return "none";
  if (age === "older") return "none";
  const hasLabels = hasSameLabels(lost, entry);
  if (hasLabels === undefined) return undefined;
  if (!hasLabels) return "none";
  // Same labels, new, but without our token: a look-alike, or descriptions that the service cuts.
  return ref === undefined && age === "newer" ? "certain" : "possible";
}

/** Judges a retrieval by what the entry tells; undefined when it tells no containers. */
export function judgeRetrieval(
  lost: Extract<LostRequest, { type: "RETRIEVAL" }>,
  entry: Told,
  age: Age,
): Likeness | undefined {
  if (age === "older") return "none";
  const isSame = hasSameContainerIds(lost, entry.containerIds);
  if (isSame === undefined) return undefined;
  return isSame ? "certain" : "none";
}

/** The order's correlation token, where the site lets it be used. */
export function tokenOf(
  context: ServiceContext,
  lost: Extract<LostRequest, { type: "STORE" }>,
): string | undefined {
  return context.settings.correlation === "token" ? lost.ref : undefined;
}
