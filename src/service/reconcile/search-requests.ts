import { LISTS } from "../../core/service-catalogue.ts";
import type { ServiceContext } from "../http/context.ts";
import { type Listing, readOnePage, untilStable, walkPages } from "../lists/list.ts";
import { requireIds } from "../lists/list-query.ts";
import { NO_STATUS, parseRequest, type RequestStatus } from "../shapes.ts";
import { type RawObject, theirStatusWords } from "../values.ts";
import { misfitOf, type SubjectSearch } from "./search-procedures.ts";

/** A request that a search found. */
export interface SearchedRequest extends RequestStatus {
  /** It is only listed when asked for by its status, so that a snapshot doesn't show whether it was there before. */
  readonly isHidden?: boolean | undefined;
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
  search: SubjectSearch,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, SearchedRequest>> {
  return untilStable(() => onePass(context, search, signal));
}

/** The ids of what {@link searchRequests} finds. */
export async function searchRequestIds(
  context: ServiceContext,
  search: SubjectSearch,
  signal: AbortSignal,
): Promise<number[]> {
  return [...(await searchRequests(context, search, signal)).keys()];
}

/**
 * The ids of a subject's requests of one type as the list has them when it is asked for no status, taken before the first call of
 * an order whose request will carry no mark: there, only "was not there before" distinguishes a new one. One call where the list
 * fits on a page, in which nothing can shift; else walks to an empty page until two agree.
 *
 * What is {@link SearchedRequest.isHidden hidden} is missing, and for that is never taken for new.
 * @throws Failure those of {@link searchRequests}
 */
export async function snapshotRequestIds(
  context: ServiceContext,
  search: SubjectSearch,
  signal: AbortSignal,
): Promise<number[]> {
  const listing = listingOf(search);
  const found = new Map<number, SearchedRequest>();
  const page = await readOnePage(context, listing, signal);
  if (page) {
    take(context, page, search, found);
    return [...found.keys()];
  }
  const pass = async () => {
    const walked = new Map<number, SearchedRequest>();
    await walkInto(context, listing, search, walked, signal);
    return walked;
  };
  return [...(await untilStable(pass)).keys()];
}

/** Not by type: its spelling isn't known, and one that a service compares exactly would leave out what is ours. */
function listingOf({ facilityId, subjectCode }: SubjectSearch): Listing {
  const query = { facilityId, subjectCode: subjectCode.reveal() };
  return { endpoint: LISTS.requests.path, query, sensitive: [subjectCode], ends: "empty" };
}

async function onePass(
  context: ServiceContext,
  search: SubjectSearch,
  signal: AbortSignal,
): Promise<Map<number, SearchedRequest>> {
  const listing = listingOf(search);
  const listed = new Map<number, SearchedRequest>();
  const seen = await walkInto(context, listing, search, listed, signal);
  // Some are perhaps only listed when asked for. A storage that is believed to be absent is sent again, so for one each
  // status that was not seen is asked for; a retrieval isn't, and one that is not pending among them shows enough.
  if (search.type === "RETRIEVAL" && [...seen].some((status) => status !== "PENDING")) return listed;
  const found = new Map(listed);
  for (const status of STATUSES.filter((each) => !seen.has(each)).flatMap((each) =>
    theirStatusWords(each, context.settings.words),
  )) {
    await walkInto(context, { ...listing, query: { ...listing.query, status } }, search, found, signal);
  }
  for (const [id, entry] of found) if (!listed.has(id)) found.set(id, { ...entry, isHidden: true });
  return found;
}

/** Walks one list into `found`; gives the statuses of the requests that it showed. */
async function walkInto(
  context: ServiceContext,
  listing: Listing,
  search: SubjectSearch,
  found: Map<number, SearchedRequest>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  for await (const page of walkPages(context, listing, signal)) {
    for (const status of take(context, page, search, found)) seen.add(status);
  }
  return seen;
}

/** Takes what fits of a page into `found`; gives the statuses of all that it shows. */
function take(
  { capabilities, settings }: ServiceContext,
  page: readonly RawObject[],
  search: SubjectSearch,
  found: Map<number, SearchedRequest>,
): ReadonlySet<string> {
  const { path } = LISTS.requests;
  requireIds(path, page);
  const seen = new Set<string>();
  for (const raw of page) {
    const entry = parseRequest(raw, settings.words);
    if (!entry) continue;
    if (entry.status !== NO_STATUS) seen.add(entry.status);
    const misfit = misfitOf(entry, search);
    if (misfit === undefined) found.set(entry.id, entry);
    else capabilities.sawFilter(path, misfit, "ignored");
  }
  return seen;
}
