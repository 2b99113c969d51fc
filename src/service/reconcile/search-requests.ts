import type { Phi } from "../../core/phi.ts";
import { LISTS } from "../../core/service-catalogue.ts";
import type { ServiceContext } from "../http/context.ts";
import { type Listing, untilStable, walkPages } from "../lists/list.ts";
import { requireIds } from "../lists/list-query.ts";
import { NO_STATUS, parseRequest, type RequestStatus } from "../shapes.ts";
import { isOtherType, theirStatusWords } from "../values.ts";

/** What the requests of one subject and type are searched by. */
interface RequestSearch {
  readonly facilityId: number;
  readonly subjectCode: Phi;
  readonly type: "STORE" | "RETRIEVAL";
}

const STATUSES = ["PENDING", "ACCEPTED", "REJECTED", "CANCELLED"];

/**
 * All procedure requests, in every status, that are of that facility, subject and type or don't show: complete, by
 * full walks to an empty page that are repeated until two passes agree. The service is asked to filter, and each
 * entry is compared again here.
 * @throws Failure SERVICE_LIST_UNSTABLE, SERVICE_LIST_TOO_LONG, and those of `Transport.call`.
 */
export function searchRequests(
  context: ServiceContext,
  search: RequestSearch,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, RequestStatus>> {
  return untilStable(() => onePass(context, search, signal));
}

/**
 * The ids of a subject's requests of one type as they stand, taken before a retrieval is posted: a retrieval has no
 * text of ours in it, so only "was not there before" marks a new one.
 */
export async function snapshotRequestIds(
  context: ServiceContext,
  facilityId: number,
  subjectCode: Phi,
  type: "STORE" | "RETRIEVAL",
  signal: AbortSignal,
): Promise<number[]> {
  return [...(await searchRequests(context, { facilityId, subjectCode, type }, signal)).keys()];
}

async function onePass(
  context: ServiceContext,
  search: RequestSearch,
  signal: AbortSignal,
): Promise<Map<number, RequestStatus>> {
  const { facilityId, subjectCode, type } = search;
  // Not the type: its spelling isn't known, and one that a service compares exactly would leave out what is ours.
  const query = { facilityId, subjectCode: subjectCode.reveal() };
  const listing = { endpoint: LISTS.requests.path, query, sensitive: [subjectCode], ends: "empty" } as const;
  const found = new Map<number, RequestStatus>();
  const seen = await walkInto(context, listing, search, found, signal);
  // Some are perhaps only listed when asked for. A storage that is believed to be absent is sent again, so for one each
  // status that was not seen is asked for; a retrieval isn't, and one that is not pending among them shows enough.
  if (type === "RETRIEVAL" && [...seen].some((status) => status !== "PENDING")) return found;
  for (const status of STATUSES.filter((each) => !seen.has(each)).flatMap((each) =>
    theirStatusWords(each, context.settings.words),
  )) {
    await walkInto(context, { ...listing, query: { ...query, status } }, search, found, signal);
  }
  return found;
}

/** Walks one list into `found`; gives the statuses of the requests that it showed. */
async function walkInto(
  context: ServiceContext,
  listing: Listing,
  search: RequestSearch,
  found: Map<number, RequestStatus>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  for await (const page of walkPages(context, listing, signal)) {
    requireIds(listing.endpoint, page);
    for (const raw of page) {
      const entry = parseRequest(raw, context.settings.words);
      if (!entry) continue;
      if (entry.status !== NO_STATUS) seen.add(entry.status);
      const misfit = misfitOf(entry, search);
      if (misfit === undefined) found.set(entry.id, entry);
      else context.capabilities.sawFilter(LISTS.requests.path, misfit, "ignored");
    }
  }
  return seen;
}

/** The filter that an entry shows to be ignored; undefined when the entry fits or doesn't show. */
function misfitOf(entry: RequestStatus, search: RequestSearch): string | undefined {
  if (entry.subjectCode && entry.subjectCode.reveal() !== search.subjectCode.reveal()) return "subjectCode";
  if (entry.facilityId !== undefined && entry.facilityId !== search.facilityId) return "facilityId";
  if (isOtherType(entry.type, search.type)) return "type";
  return undefined;
}
