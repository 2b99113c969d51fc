import { Failure } from "../../core/failures.ts";
import type { Phi } from "../../core/phi.ts";
import { type Answer, describeLists, unwrapList } from "../http/answer.ts";
import type { ServiceContext } from "../http/context.ts";
import type { Query } from "../http/transport.ts";
import { idOf, type RawObject } from "../values.ts";
import {
  askForPage,
  DEFAULT_PER_PAGE,
  isPlainArray,
  readAtOtherLengths,
  requireReadableIds,
  samePages,
  unpaged,
} from "./list-query.ts";

/** A list to be read page by page. */
export interface Listing {
  /** The list's path, such as `/api/procedures`. */
  readonly endpoint: string;
  /** Filters. Only hints: the caller looks at each entry again, since a service may ignore any of them. */
  readonly query: Query;
  readonly sensitive: readonly Phi[];
  /**
   * When the walk is over, by what an entry that is missed would do. `short`: nothing much, so the walk ends at a page
   * shorter than the longest one seen lately, which saves a request. `whole`: what is missed counts as not there, so a list
   * that may be cut is an error; it ends like `short`. `empty`: as `whole`, and only at an empty page.
   */
  readonly ends: "short" | "whole" | "empty";
  /** Page size to ask for instead of the configured one. */
  readonly perPage?: number | undefined;
  /** Pages after which the walk is given up instead of {@link MAX_PAGES}. */
  readonly maxPages?: number | undefined;
}

/** More pages than that are not a list that was meant to be read to its end. */
const MAX_PAGES = 2_000;

/**
 * Reads a list page by page and yields of each page the entries that no earlier page had: pages shift while they
 * are read, and a service that ignores `page` gives the first one for ever.
 * @throws Failure SERVICE_LIST_TOO_LONG, SERVICE_SHAPE_UNKNOWN, and those of `Transport.call`.
 */
export async function* walkPages(
  context: ServiceContext,
  listing: Listing,
  signal: AbortSignal,
): AsyncGenerator<RawObject[], void, void> {
  const { capabilities, settings } = context;
  const perPage = listing.perPage ?? settings.perPage;
  // Lengths of pages say something about the service's cap only while the same size is asked for.
  const isLearning = perPage === settings.perPage;
  const seen = new Set<number | string>();
  let previousLength = 0;
  let pagesWithoutNews = 0;
  let longestHere = 0;
  const { maxPages = MAX_PAGES } = listing;
  const first = await readPage(context, listing, { page: 1, perPage }, signal);
  const size = Number(first.query.perPage ?? DEFAULT_PER_PAGE);
  for (let page = 1; page <= maxPages; page += 1) {
    const entries =
      page === 1 ? first.entries : await readLaterPage(context, listing, { first, page }, signal);
    if (entries.length === 0) return;
    const fresh = entries.filter((entry) => !seen.has(keyOf(entry)));
    for (const entry of fresh) seen.add(keyOf(entry));
    if (isLearning) capabilities.sawPage(listing.endpoint, entries.length);
    // A page that repeats entries of an earlier one says nothing of a cap: perhaps there are no pages at all.
    const isAllNew = fresh.length === entries.length || !isPlainArray(listing.endpoint);
    if (isLearning && fresh.length > 0 && isAllNew && page > 1 && previousLength < perPage) {
      capabilities.sawCap(listing.endpoint, previousLength);
    }
    if (fresh.length > 0) yield fresh;
    pagesWithoutNews = fresh.length === 0 ? pagesWithoutNews + 1 : 0;
    const full = page === 1 ? capabilities.longestPage(listing.endpoint) : longestHere;
    longestHere = Math.max(longestHere, entries.length);
    const isShort = isLearning && entries.length < shortBelow(page, full ?? 0);
    const mostWithoutNews = listing.ends === "short" ? 0 : 1;
    if (
      isPlainArray(listing.endpoint) &&
      pagesWithoutNews > mostWithoutNews &&
      pagesWithoutNews === page - 1 &&
      entries.length === size
    ) {
      const ask = (length: number) => fetchPage(context, listing, { page: 1, perPage: length }, signal);
      for await (const others of readAtOtherLengths(listing.endpoint, size, ask)) {
        const more = others.filter((entry) => !seen.has(keyOf(entry)));
        for (const entry of more) seen.add(keyOf(entry));
        if (more.length > 0) yield more;
      }
      return;
    }
    if (listing.ends !== "empty" && isShort) return;
    if (listing.ends === "short" && pagesWithoutNews > 0) return;
    if (pagesWithoutNews > 1) {
      // A whole list that just fills the page looks the same as a list cut to one page: not to be believed. So does one
      // that fills the default page, where a missed entry would do harm.
      const isDefaultPage = entries.length === DEFAULT_PER_PAGE && !isPlainArray(listing.endpoint);
      if (page === 3 && (entries.length === size || isDefaultPage)) {
        throw unpaged(listing.endpoint, samePages(entries.length));
      }
      return;
    }
    previousLength = entries.length;
  }
  capabilities.doubt(listing.endpoint);
  throw new Failure("SERVICE_LIST_TOO_LONG", `GET ${listing.endpoint}: no end within ${maxPages} pages`);
}

/** A page and the question that it answers. */
interface AnsweredPage {
  readonly entries: readonly RawObject[];
  readonly query: Query;
}

/**
 * Reads a page after the first one, asked for just as that was, whatever other calls have learned since: in another form its
 * number would mean other entries. A list that was not paged is over.
 *
 * Some services answer 404 after the last page, in JSON; a gateway may as well. It is believed where the page is not there
 * a second time and the first page still is.
 * @throws Failure SERVICE_UNAVAILABLE when the first page isn't there any more either.
 */
async function readLaterPage(
  context: ServiceContext,
  listing: Listing,
  { first, page }: { readonly first: AnsweredPage; readonly page: number },
  signal: AbortSignal,
): Promise<readonly RawObject[]> {
  if (first.query.page === undefined) return [];
  const read = async (nth: number): Promise<readonly RawObject[] | undefined> => {
    try {
      return await readEntries(context, listing, { ...first.query, page: nth }, signal);
    } catch (error) {
      if (isNoSuchPage(error)) return undefined;
      throw error;
    }
  };
  const entries = (await read(page)) ?? (await read(page));
  if (entries !== undefined) return entries;
  if ((await read(1)) !== undefined) return [];
  const message = `GET ${listing.endpoint}: first its page ${page}, then the whole list is not found`;
  throw new Failure("SERVICE_UNAVAILABLE", message);
}

function isNoSuchPage(error: unknown): boolean {
  return error instanceof Failure && error.code === "SERVICE_NOT_FOUND" && error.answer?.shape === "json";
}

/**
 * The length below which a page is the last. A first page is measured by those of earlier walks, and the service may
 * have lowered its cap since then, though hardly below the default; so a first page of that length or more is not
 * believed to be the last until the next one is seen.
 */
function shortBelow(page: number, full: number): number {
  return page === 1 ? Math.min(full, DEFAULT_PER_PAGE) : full;
}

/** Reads one page. @throws Failure SERVICE_SHAPE_UNKNOWN when no list is found in the answer. */
export async function fetchPage(
  context: ServiceContext,
  listing: Pick<Listing, "endpoint" | "query" | "sensitive">,
  paging: { readonly page: number; readonly perPage: number },
  signal: AbortSignal,
): Promise<readonly RawObject[]> {
  return (await readPage(context, { ...listing, ends: "short" }, paging, signal)).entries;
}

/** Reads one page in the first form that the service takes. */
function readPage(
  context: ServiceContext,
  listing: Listing,
  paging: { readonly page: number; readonly perPage: number },
  signal: AbortSignal,
): Promise<AnsweredPage> {
  const { endpoint, query, ends } = listing;
  const { capabilities, settings } = context;
  const question = {
    endpoint,
    filters: query,
    ...paging,
    isWholeWanted: ends !== "short",
    isUnpaged: settings.unpaged.has(endpoint),
  };
  return askForPage(question, { capabilities, policy: settings.filters }, (sent) =>
    readEntries(context, listing, sent, signal),
  );
}

function readEntries(
  { capabilities, settings, transport }: ServiceContext,
  { endpoint, sensitive }: Listing,
  query: Query,
  signal: AbortSignal,
): Promise<readonly RawObject[]> {
  const read = (answer: Answer): readonly RawObject[] => {
    if (answer.shape === "empty") return [];
    // The specification calls the external surface's lists bare arrays; only those of the other one are left open.
    const usual = isPlainArray(endpoint) ? "auto" : settings.listEnvelope;
    const wrapping = settings.listEnvelopes[endpoint] ?? usual;
    const unwrapped = unwrapList(answer.json, wrapping);
    if (!unwrapped) {
      throw new Failure(
        "SERVICE_SHAPE_UNKNOWN",
        `GET ${endpoint}: no list found in the answer (listEnvelope is ${wrapping}; ${describeLists(answer.json)})`,
      );
    }
    requireReadableIds(endpoint, unwrapped.entries);
    capabilities.sawEnvelope(endpoint, unwrapped.envelope);
    return unwrapped.entries;
  };
  return transport.call({ method: "GET", route: endpoint, query, sensitive, read }, signal);
}

/** All entries of a list that `keep` turns into something. */
export async function collect<T>(
  context: ServiceContext,
  listing: Listing,
  keep: (entry: RawObject) => T | undefined,
  signal: AbortSignal,
): Promise<T[]> {
  const kept: T[] = [];
  for await (const page of walkPages(context, listing, signal)) {
    for (const entry of page) {
      const value = keep(entry);
      if (value !== undefined) kept.push(value);
    }
  }
  return kept;
}

/** Passes over a list before it is given up as unstable. */
const MAX_PASSES = 5;

/**
 * Runs `pass` until two in a row find the same ids: a page walk can miss an entry when pages shift under it, but
 * hardly the same one twice.
 * @throws Failure SERVICE_LIST_UNSTABLE after five passes.
 */
export async function untilStable<T extends { readonly id: number }>(
  pass: () => Promise<ReadonlyMap<number, T>>,
): Promise<ReadonlyMap<number, T>> {
  let before = await pass();
  for (let count = 2; count <= MAX_PASSES; count += 1) {
    const found = await pass();
    if (found.size === before.size && [...found.keys()].every((id) => before.has(id))) return found;
    before = found;
  }
  throw new Failure("SERVICE_LIST_UNSTABLE", `the list of requests differed in each of ${MAX_PASSES} passes`);
}

function keyOf(entry: RawObject): number | string {
  return idOf(entry) ?? JSON.stringify(entry);
}
