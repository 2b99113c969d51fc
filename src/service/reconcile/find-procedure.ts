import { LISTS } from "../../core/service-catalogue.ts";
import { getExternalProcedure } from "../external-surface/procedures.ts";
import { type ServiceContext, unlessRefused } from "../http/context.ts";
import { untilStable, walkPages } from "../lists/list.ts";
import { requireIds } from "../lists/list-query.ts";
import { hasRef, hasSameContainerIds } from "../new-request.ts";
import { listSubjectContainers } from "../request-surface/containers.ts";
import { type ProcedureStatus, parseProcedure, type ServiceContainer } from "../shapes.ts";
import { isOtherType } from "../values.ts";
import { type ReconcileFindings, sortFindings } from "./find-request.ts";
import {
  ageOf,
  hasMark,
  judgeContainers,
  judgeStore,
  type LostRequest,
  type Match,
  tokenOf,
} from "./match.ts";

/**
 * Looks on the external surface, in all statuses, for the procedure that a creation without an answer may have
 * created. Reads only. Nothing found means "not listed now": whether that is believed is the caller's rule.
 *
 * The list is asked by facility and type, the two filters that the specification names; its entries show the subject
 * and not the containers, so each of the subject's is read by its id. STORE: certain by the order's mark in a description,
 * there or in the list of the subject's containers, together with its exact labels; without marks by the exact set of labels
 * on a procedure that is new. RETRIEVAL: certain by the exact set of containers on one that is new.
 *
 * Containers that carry the mark while no procedure does are `traces`: proof of an effect, though not of its place.
 * That list may leave out what isn't stored yet, so finding none there proves nothing.
 */
export async function findCreatedProcedure(
  context: ServiceContext,
  lost: LostRequest,
  signal: AbortSignal,
): Promise<ReconcileFindings> {
  const listed = await untilStable(() => searchProcedures(context, lost, signal));
  // A cross-check only: a list that this service has no use for, such as one without subjects, proves nothing.
  const target = { surface: "external", subjectCode: lost.subjectCode } as const;
  const containersOnce = onlyOnce(
    async () => (await unlessRefused(() => listSubjectContainers(context, target, signal))) ?? [],
  );
  const matchById = new Map<number, Match>();
  for (const entry of listed.values()) {
    if (lost.knownIds.has(entry.id)) continue;
    matchById.set(entry.id, await judge(context, lost, entry, containersOnce, signal));
  }
  const found = sortFindings(matchById);
  const isUnseen = found.matches.length + found.candidates.length === 0;
  return { ...found, traces: isUnseen ? await findTraces(context, lost, containersOnce) : [] };
}

/** Whose procedures are looked for, and of which type. */
type Wanted = Pick<LostRequest, "facilityId" | "type" | "subjectCode">;

/** One full walk: the entries of that facility, subject and type, and those that don't show one of them. */
export async function searchProcedures(
  context: ServiceContext,
  lost: Wanted,
  signal: AbortSignal,
): Promise<Map<number, ProcedureStatus>> {
  const { facilityId, type } = lost;
  const query = { facilityId, type };
  const listing = { endpoint: LISTS.externalProcedures.path, query, sensitive: [], ends: "empty" } as const;
  const found = new Map<number, ProcedureStatus>();
  for await (const page of walkPages(context, listing, signal)) {
    requireIds(listing.endpoint, page);
    for (const raw of page) {
      const entry = parseProcedure(raw, context.settings.words);
      if (entry && isOfLost(entry, lost)) found.set(entry.id, entry);
    }
  }
  return found;
}

/** Whether what a procedure shows leaves it possible that it is the lost one. */
function isOfLost(entry: ProcedureStatus, lost: Wanted): boolean {
  const { subjectCode, facilityId, type } = entry;
  if (subjectCode !== undefined && subjectCode.reveal() !== lost.subjectCode.reveal()) return false;
  if (facilityId !== undefined && facilityId !== lost.facilityId) return false;
  return !isOtherType(type, lost.type);
}

type Containers = () => Promise<readonly ServiceContainer[]>;

async function judge(
  context: ServiceContext,
  lost: LostRequest,
  listed: ProcedureStatus,
  containers: Containers,
  signal: AbortSignal,
): Promise<Match> {
  // Without a subject in the entries all of the facility's would have to be read; those from before can't be it.
  if (listed.subjectCode === undefined && ageOf(context, lost, listed) === "older") return "none";
  const entry = await unlessRefused(() => getExternalProcedure(context, listed.id, signal));
  // Listed and not to be read: nobody can know.
  if (!entry) return "possible";
  if (!isOfLost(entry, lost)) return "none";
  const createdAt = entry.createdAt ?? listed.createdAt;
  const age = ageOf(context, lost, { createdAt });
  if (lost.type === "RETRIEVAL") {
    const isSame = hasSameContainerIds(lost, entry.containerIds);
    if (isSame === false) return "none";
    // The same containers, but seemingly from before: an earlier attempt of somebody's, or a clock that is wrong.
    return isSame && age === "newer" ? "certain" : "possible";
  }
  const byEntry = judgeStore(context, lost, entry, age);
  if (byEntry === "certain" || byEntry === "marked" || byEntry === "none") return byEntry;
  const ref = tokenOf(context, lost);
  if (ref === undefined) return "possible";
  const listedContainers = await containers();
  const made = judgeContainers(lost, ref, entry.containerIds ?? [], listedContainers);
  // The entry has shown the labels already; only the mark was missing.
  if (byEntry === "possible" && made === "marked") return "certain";
  return made === "possible" && hasMark(entry, ref) ? "marked" : made;
}

/** The subject's containers that carry the order's mark. */
async function findTraces(
  context: ServiceContext,
  lost: LostRequest,
  containers: Containers,
): Promise<number[]> {
  const ref = lost.type === "STORE" ? tokenOf(context, lost) : undefined;
  if (ref === undefined) return [];
  const listed = await containers();
  return listed.filter((each) => hasRef(each.description ?? "", ref)).map((each) => each.id);
}

function onlyOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
