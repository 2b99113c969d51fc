import { Failure } from "../../core/failures.ts";
import { type Answer, describeLists, totalOf, unwrapList } from "../http/answer.ts";
import type { ServiceContext } from "../http/context.ts";
import type { Query } from "../http/transport.ts";
import { idOf, type RawObject } from "../values.ts";
import { DEFAULT_PER_PAGE, isWholeList } from "./capabilities.ts";
import {
  askForPage,
  envelopeOf,
  isPlainArray,
  isUnpaged,
  readAtOtherLengths,
  requireReadableIds,
  type SentPage,
  samePages,
  unpaged,
} from "./list-query.ts";

/** A list to be read page by page. */
export interface Listing {
  /** The list's path, such as `/api/procedures`. */
  readonly endpoint: string;
  /** Filters. Only hints: the caller looks at each entry again, since a service may ignore any of them. */
  readonly query: Query;
  /**
   * When the walk is over, by what an entry that is missed would do. `short`: nothing much, so the walk ends at a first page that
   * is the whole list ({@link isWholeList}), and at a later one that is shorter than those before it. `whole`: what is missed
   * counts as not there, so a list that may be cut is an error; it ends like `short`. `empty`: as `whole`, and only at an empty page.
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
  const { endpoint, ends, maxPages = MAX_PAGES } = listing;
  const seen = new Set<number | string>();
  let previousLength = 0;
  let pagesWithoutNews = 0;
  let longestHere = 0;
  const first = await readPage(
    context,
    listing,
    { page: 1, perPage: listing.perPage ?? settings.perPage },
    signal,
  );
  const size = sizeOf(first);
  for (let page = 1; page <= maxPages; page += 1) {
    const entries =
      page === 1 ? first.entries : await readLaterPage(context, listing, { first, page }, signal);
    if (entries.length === 0) return;
    const fresh = entries.filter((entry) => !seen.has(keyOf(entry)));
    for (const entry of fresh) seen.add(keyOf(entry));
    // A page that repeats entries of an earlier one says nothing of a cap: perhaps there are no pages at all.
    const isAllNew = fresh.length === entries.length || !isPlainArray(endpoint);
    if (fresh.length > 0 && isAllNew && page > 1 && previousLength < size) {
      capabilities.sawCap(endpoint, previousLength);
    }
    if (fresh.length > 0) yield fresh;
    pagesWithoutNews = fresh.length === 0 ? pagesWithoutNews + 1 : 0;
    const isLast = page === 1 ? isWhole(context, listing, first) : entries.length < longestHere;
    longestHere = Math.max(longestHere, entries.length);
    const mostWithoutNews = ends === "short" ? 0 : 1;
    if (
      isPlainArray(endpoint) &&
      pagesWithoutNews > mostWithoutNews &&
      pagesWithoutNews === page - 1 &&
      entries.length === size
    ) {
      const ask = (length: number) => fetchPage(context, listing, { page: 1, perPage: length }, signal);
      for await (const others of readAtOtherLengths(endpoint, size, ask)) {
        const more = others.filter((entry) => !seen.has(keyOf(entry)));
        for (const entry of more) seen.add(keyOf(entry));
        if (more.length > 0) yield more;
      }
      return;
    }
    if (ends !== "empty" && isLast) return;
    if (ends === "short" && pagesWithoutNews > 0) return;
    if (pagesWithoutNews > 1) {
      // A whole list that just fills the page looks the same as a list cut to one page: not to be believed. So does one
      // that fills the default page, where a missed entry would do harm.
      const isDefaultPage = entries.length === DEFAULT_PER_PAGE && !isPlainArray(endpoint);
      if (page === 3 && (entries.length === size || isDefaultPage)) {
        throw unpaged(endpoint, samePages(entries.length));
      }
      return;
    }
    previousLength = entries.length;
  }
  capabilities.doubt(endpoint);
  throw new Failure("SERVICE_LIST_TOO_LONG", `GET ${endpoint}: no end within ${maxPages} pages`);
}

/**
 * The whole of a list that fits on one page: nothing can shift in it. Undefined where a second page may follow.
 * @throws Failure those of {@link walkPages}
 */
export async function readOnePage(
  context: ServiceContext,
  listing: Listing,
  signal: AbortSignal,
): Promise<readonly RawObject[] | undefined> {
  const perPage = listing.perPage ?? context.settings.perPage;
  const first = await readPage(context, listing, { page: 1, perPage }, signal);
  return isWhole(context, listing, first) ? first.entries : undefined;
}

function isWhole({ capabilities }: ServiceContext, { endpoint }: Listing, first: AnsweredPage): boolean {
  const { entries, query, total } = first;
  // There is nothing to ask for besides.
  if (query.page === undefined) return true;
  return isWholeList({
    length: entries.length,
    asked: sizeOf(first),
    total,
    ...capabilities.pagesOf(endpoint),
  });
}

/** How many entries were asked for. */
function sizeOf({ query }: AnsweredPage): number {
  return Number(query.perPage ?? DEFAULT_PER_PAGE);
}

/** A page and the question that it answers. */
type AnsweredPage = Awaited<ReturnType<typeof askForPage>>;

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
      return (await readEntries(context, listing, { ...first.query, page: nth }, signal)).entries;
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

/** Reads one page. @throws Failure SERVICE_SHAPE_UNKNOWN when no list is found in the answer. */
export async function fetchPage(
  context: ServiceContext,
  listing: Pick<Listing, "endpoint" | "query">,
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
    isUnpaged: isUnpaged(endpoint, settings),
  };
  return askForPage(question, { capabilities, policy: settings.filters }, (sent) =>
    readEntries(context, listing, sent, signal),
  );
}

function readEntries(
  { capabilities, settings, transport }: ServiceContext,
  { endpoint }: Listing,
  query: Query,
  signal: AbortSignal,
): Promise<SentPage> {
  const read = (answer: Answer): SentPage => {
    if (answer.shape === "empty") return { entries: [] };
    const wrapping = envelopeOf(endpoint, settings);
    const unwrapped = unwrapList(answer.json, wrapping);
    if (!unwrapped) {
      throw new Failure(
        "SERVICE_SHAPE_UNKNOWN",
        `GET ${endpoint}: no list found in the answer (listEnvelope is ${wrapping}; ${describeLists(answer.json)})`,
      );
    }
    const { entries, envelope } = unwrapped;
    requireReadableIds(endpoint, entries);
    capabilities.sawEnvelope(endpoint, envelope);
    // A list that takes no paging says nothing of how long pages may be.
    if ("page" in query) capabilities.sawPage(endpoint, entries.length);
    return { entries, total: totalOf(answer.json) };
  };
  return transport.call({ method: "GET", route: endpoint, query, read }, signal);
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
  throw new Failure("SERVICE_LIST_UNSTABLE", `the list differed in each of ${MAX_PASSES} passes over it`);
}

function keyOf(entry: RawObject): number | string {
  return idOf(entry) ?? JSON.stringify(entry);
}
