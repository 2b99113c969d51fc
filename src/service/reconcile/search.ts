import type { Phi } from "../../core/phi.ts";
import { LISTS } from "../../core/service-catalogue.ts";
import { hasZone, serviceTimeMs } from "../../core/service-time.ts";
import type { ServiceContext } from "../http/context.ts";
import { type Listing, readOnePage, untilStable, walkPages } from "../lists/list.ts";
import { requireIds } from "../lists/list-query.ts";
import {
  NO_STATUS,
  type ProcedureStatus,
  parseProcedure,
  parseRequest,
  type RequestStatus,
  type ServiceEntry,
} from "../shapes.ts";
import { isOtherType, type RawObject, theirStatusWords } from "../values.ts";

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
  return { endpoint: LISTS.requests.path, query, ends: "empty" };
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

/** Whose requests or procedures are looked for, and of which type. */
export interface SubjectSearch {
  readonly facilityId: number;
  readonly subjectCode: Phi;
  readonly type: "STORE" | "RETRIEVAL";
}

/** One full walk: the entries of that facility, subject and type, and those that don't show one of them. */
export async function searchProcedures(
  context: ServiceContext,
  wanted: SubjectSearch,
  signal: AbortSignal,
): Promise<Map<number, ProcedureStatus>> {
  const { facilityId, type } = wanted;
  const query = { facilityId, type };
  const listing = { endpoint: LISTS.externalProcedures.path, query, ends: "empty" } as const;
  const found = new Map<number, ProcedureStatus>();
  for await (const page of walkPages(context, listing, signal)) {
    requireIds(listing.endpoint, page);
    for (const raw of page) {
      const entry = parseProcedure(raw, context.settings.words);
      if (entry && isOf(entry, wanted)) found.set(entry.id, entry);
    }
  }
  return found;
}

/** Whether what a request or a procedure shows leaves it possible that it is one of those. */
export function isOf(entry: ServiceEntry, wanted: SubjectSearch): boolean {
  return misfitOf(entry, wanted) === undefined;
}

/** The value by which an entry is none of those; undefined when it fits or doesn't show. */
export function misfitOf(
  { subjectCode, facilityId, type }: ServiceEntry,
  wanted: SubjectSearch,
): keyof SubjectSearch | undefined {
  if (subjectCode !== undefined && subjectCode.reveal() !== wanted.subjectCode.reveal()) return "subjectCode";
  if (facilityId !== undefined && facilityId !== wanted.facilityId) return "facilityId";
  return isOtherType(type, wanted.type) ? "type" : undefined;
}

/**
 * Whether something was created after ours was sent, as far as its `createdAt` shows. Several clocks have a say in that: the
 * service's, that of the gateway which writes `Date`, and the database's. So it may speak for something that shows the
 * right content. It never speaks against such a one; and against one that shows no content only when it is `older` by more than
 * clocks and time zones are ever wrong.
 */
export type Age = "older" | "newer" | "unknown";

/** Room for clocks that differ more than the `Date` header shows. */
export const CLOCK_MARGIN_MS = 600_000;
/** Further apart are no clocks that anybody works by, nor two time zones. */
export const WRONG_CLOCK_MS = 86_400_000;

/** A time as the service wrote it, ms by its own clock; undefined where it has no zone, is none, or stands for none. */
export function createdAtMs(text: string | undefined): number | undefined {
  return text !== undefined && hasZone(text) ? serviceTimeMs(text) : undefined;
}

/** By the service's clock as its `Date` headers show it, with a margin; a time without a zone proves nothing. */
export function ageOf(
  context: ServiceContext,
  sentAfter: Date,
  entry: { readonly createdAt?: string | undefined },
): Age {
  const createdAt = createdAtMs(entry.createdAt);
  if (createdAt === undefined) return "unknown";
  const sentAt = sentAfter.getTime() + (context.transport.clockSkewMs ?? 0);
  if (createdAt >= sentAt - CLOCK_MARGIN_MS) return "newer";
  return createdAt < sentAfter.getTime() - WRONG_CLOCK_MS ? "older" : "unknown";
}
