import { Failure } from "../core/failures.ts";
import { listSubjectContainers } from "./containers.ts";
import type { ServiceContext } from "./context.ts";
import { hasAnyRef, hasRef, type NewRequest } from "./correlation.ts";
import { getProcedure } from "./procedures.ts";
import { getRequest, hasSameContainerIds, hasSameLabels } from "./requests.ts";
import { searchRequests } from "./search-requests.ts";
import type { RequestStatus } from "./shapes.ts";

/** A creation whose answer never came. */
export type LostRequest = NewRequest & {
  /** When it was sent, by our clock. */
  readonly sentAfter: Date;
  /** Requests that can't be it: those of the snapshot before it was sent, and those that other orders own. */
  readonly knownIds: ReadonlySet<number>;
};

/** What a lost creation may have left at the service. */
export interface SettleFindings {
  /** Requests that are certainly this order's. More than one: the service has it doubled. */
  readonly matches: readonly number[];
  /** Requests that may be this order's, but could as well be someone else's. */
  readonly candidates: readonly number[];
}

/** Room for clocks that differ more than the `Date` header shows. */
const CLOCK_MARGIN_MS = 600_000;

type Likeness = "certain" | "possible" | "none";

/**
 * Looks in all statuses for what a creation without an answer may have created. Reads only. Nothing found means
 * "not listed now": whether that is believed is the caller's rule, since lists can lag.
 *
 * STORE: certain by the order's token in a description; without tokens by the exact set of labels on a request
 * that is new. RETRIEVAL: certain by the exact set of containers where the service tells them (the request itself
 * or, once accepted, its procedure); else each new request of that subject is possible.
 */
export async function findCreatedRequest(
  context: ServiceContext,
  lost: LostRequest,
  signal: AbortSignal,
): Promise<SettleFindings> {
  const listed = await searchRequests(context, lost, signal);
  const matches: number[] = [];
  const candidates: number[] = [];
  for (const entry of listed.values()) {
    if (lost.knownIds.has(entry.id)) continue;
    const likeness = await judge(context, lost, entry, signal);
    if (likeness === "certain") matches.push(entry.id);
    else if (likeness === "possible") candidates.push(entry.id);
  }
  return { matches, candidates };
}

async function judge(
  context: ServiceContext,
  lost: LostRequest,
  listed: RequestStatus,
  signal: AbortSignal,
): Promise<Likeness> {
  const age = ageOf(context, lost, listed);
  const byList =
    lost.type === "STORE" ? judgeStore(context, lost, listed, age) : judgeRetrieval(lost, listed, age);
  if (byList !== undefined) return byList;
  // The list entry is a short form: what the request and its procedure tell by id may settle it.
  const entry = await getRequest(context, listed.id, signal);
  if (entry.subjectCode && entry.subjectCode.reveal() !== lost.subjectCode.reveal()) return "none";
  if (entry.facilityId !== undefined && entry.facilityId !== lost.facilityId) return "none";
  if (entry.type !== undefined && entry.type !== lost.type) return "none";
  const byEntry =
    lost.type === "STORE" ? judgeStore(context, lost, entry, age) : judgeRetrieval(lost, entry, age);
  if (byEntry !== undefined) return byEntry;
  return judgeByProcedure(context, lost, entry.procedureId ?? listed.procedureId, signal);
}

/** Judges a storage request by what the entry tells; undefined when it tells no containers. */
function judgeStore(
  context: ServiceContext,
  lost: Extract<LostRequest, { type: "STORE" }>,
  entry: RequestStatus,
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
function judgeRetrieval(
  lost: Extract<LostRequest, { type: "RETRIEVAL" }>,
  entry: RequestStatus,
  age: Age,
): Likeness | undefined {
  if (age === "older") return "none";
  const isSame = hasSameContainerIds(lost, entry.containerIds);
  if (isSame === undefined) return undefined;
  return isSame ? "certain" : "none";
}

/** The last source: an accepted request's procedure names containers, and the containers carry our descriptions. */
async function judgeByProcedure(
  context: ServiceContext,
  lost: LostRequest,
  procedureId: number | undefined,
  signal: AbortSignal,
): Promise<Likeness> {
  if (procedureId === undefined) return "possible";
  const procedure = await getProcedure(context, procedureId, signal).catch((error: unknown) => {
    if (error instanceof Failure && error.class === "permanent") return undefined;
    throw error;
  });
  const ids = procedure?.containerIds;
  if (!ids || ids.length === 0) return "possible";
  if (lost.type === "RETRIEVAL") return hasSameContainerIds(lost, ids) ? "certain" : "none";
  const ref = tokenOf(context, lost);
  if (ref === undefined) return "possible";
  const containers = await listSubjectContainers(context, lost.subjectCode, signal);
  const isOurs = containers.some((each) => ids.includes(each.id) && hasRef(each.description ?? "", ref));
  return isOurs ? "certain" : "possible";
}

function tokenOf(context: ServiceContext, lost: Extract<LostRequest, { type: "STORE" }>): string | undefined {
  return context.settings.correlation === "token" ? lost.ref : undefined;
}

/** Whether a request was created after ours was sent, as far as its `createdAt` can tell. */
type Age = "older" | "newer" | "unknown";

/** By the service's clock as its `Date` headers show it, with a margin; a time without a zone tells nothing. */
function ageOf(context: ServiceContext, lost: LostRequest, entry: RequestStatus): Age {
  if (!entry.createdAt || !/(Z|[+-]\d{2}:?\d{2})$/i.test(entry.createdAt)) return "unknown";
  const createdAt = Date.parse(entry.createdAt);
  if (Number.isNaN(createdAt)) return "unknown";
  const sentAt = lost.sentAfter.getTime() + (context.transport.clockSkewMs ?? 0);
  return createdAt < sentAt - CLOCK_MARGIN_MS ? "older" : "newer";
}
