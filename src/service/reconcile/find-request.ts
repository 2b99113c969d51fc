import { type ServiceContext, unlessRefused } from "../http/context.ts";
import { hasSameContainerIds } from "../new-request.ts";
import { listSubjectContainers } from "../request-surface/containers.ts";
import { getProcedure, getRequest } from "../request-surface/requests.ts";
import type { RequestStatus } from "../shapes.ts";
import { isOtherType } from "../values.ts";
import {
  ageOf,
  hasMark,
  judgeContainers,
  judgeRetrieval,
  judgeStore,
  type LostRequest,
  type Match,
  tokenOf,
} from "./match.ts";
import { searchRequests } from "./search-requests.ts";

/** What a lost creation may have left at the service. */
export interface ReconcileFindings {
  /** Requests that are certainly this order's. More than one: the service has it more than once. */
  readonly matches: readonly number[];
  /** Requests that may be this order's, but could as well be someone else's. */
  readonly candidates: readonly number[];
  /** Those of the candidates that carry the order's mark, but not with its labels alone as far as the service shows. */
  readonly marked?: readonly number[] | undefined;
  /** Those of the candidates that may have been there before the creation: no snapshot shows them. */
  readonly hidden?: readonly number[] | undefined;
  /** Containers that prove the creation had an effect although nothing else shows it (external surface). */
  readonly traces?: readonly number[] | undefined;
}

/**
 * Looks in all statuses for what a creation without an answer may have created. Reads only. Nothing found means
 * "not listed now": whether that is believed is the caller's rule, since lists can lag.
 *
 * STORE: certain by the order's mark in a description together with its exact labels; without marks by the exact set of
 * labels on a request that is new. RETRIEVAL: certain by the exact set of containers where the service shows them (the request itself
 * or, once accepted, its procedure); else each new request of that subject is possible. What is certain for being new is only
 * possible where the list shows it only when asked for its status: it may have been there before.
 */
export async function findCreatedRequest(
  context: ServiceContext,
  lost: LostRequest,
  signal: AbortSignal,
): Promise<ReconcileFindings> {
  const listed = await searchRequests(context, lost, signal);
  const isMarked = lost.type === "STORE" && tokenOf(context, lost) !== undefined;
  const matchById = new Map<number, Match>();
  for (const entry of listed.values()) {
    if (lost.knownIds.has(entry.id)) continue;
    const match = await judge(context, lost, entry, signal);
    // Without a mark it is certain as far as it is new, and of a hidden one nothing shows that.
    const isCertain = match === "certain" && (isMarked || !entry.isHidden);
    matchById.set(entry.id, match === "certain" && !isCertain ? "possible" : match);
  }
  const found = sortFindings(matchById);
  const hidden = isMarked ? [] : found.candidates.filter((id) => listed.get(id)?.isHidden);
  return hidden.length > 0 ? { ...found, hidden } : found;
}

/** What was found, by how much it is like the lost one. */
export function sortFindings(matchById: ReadonlyMap<number, Match>): ReconcileFindings {
  const ids = (...wanted: readonly Match[]) =>
    [...matchById].filter(([, match]) => wanted.includes(match)).map(([id]) => id);
  const marked = ids("marked");
  const found = { matches: ids("certain"), candidates: ids("marked", "possible") };
  return marked.length > 0 ? { ...found, marked } : found;
}

async function judge(
  context: ServiceContext,
  lost: LostRequest,
  listed: RequestStatus,
  signal: AbortSignal,
): Promise<Match> {
  const age = ageOf(context, lost, listed);
  const byList =
    lost.type === "STORE" ? judgeStore(context, lost, listed, age) : judgeRetrieval(lost, listed, age);
  if (byList !== undefined) return byList;
  // The list entry is a short form: what the request and its procedure show by id may decide it.
  const entry = await getRequest(context, listed.id, signal);
  if (entry.subjectCode && entry.subjectCode.reveal() !== lost.subjectCode.reveal()) return "none";
  if (entry.facilityId !== undefined && entry.facilityId !== lost.facilityId) return "none";
  if (isOtherType(entry.type, lost.type)) return "none";
  const byEntry =
    lost.type === "STORE" ? judgeStore(context, lost, entry, age) : judgeRetrieval(lost, entry, age);
  if (byEntry !== undefined) return byEntry;
  const byProcedure = await judgeByProcedure(context, lost, entry.procedureId ?? listed.procedureId, signal);
  const ref = lost.type === "STORE" ? tokenOf(context, lost) : undefined;
  const isMarked = ref !== undefined && (hasMark(listed, ref) || hasMark(entry, ref));
  return isMarked && byProcedure !== "certain" ? "marked" : byProcedure;
}

/** The last source: an accepted request's procedure names containers, and the containers carry our descriptions. */
async function judgeByProcedure(
  context: ServiceContext,
  lost: LostRequest,
  procedureId: number | undefined,
  signal: AbortSignal,
): Promise<Match> {
  if (procedureId === undefined) return "possible";
  const procedure = await unlessRefused(() => getProcedure(context, procedureId, signal));
  const ids = procedure?.containerIds;
  if (!ids || ids.length === 0) return "possible";
  if (lost.type === "RETRIEVAL") return hasSameContainerIds(lost, ids) ? "certain" : "none";
  const ref = tokenOf(context, lost);
  if (ref === undefined) return "possible";
  const containers = await listSubjectContainers(
    context,
    { surface: "request", subjectCode: lost.subjectCode },
    signal,
  );
  return judgeContainers(lost, ref, ids, containers);
}
