import { Failure } from "../core/failures.ts";
import { phi } from "../core/phi.ts";
import type { Surface } from "../core/surface.ts";
import type { ServiceContext } from "./context.ts";
import { type EntryFilter, passes, toEntryFilter } from "./entry-filter.ts";
import { isAllowed } from "./filter-policy.ts";
import { fetchPage, type Listing, walkPages } from "./list.ts";
import { requireReadableIds } from "./list-query.ts";
import { getOne } from "./single.ts";
import type { Query } from "./transport.ts";
import { idOf, linkedId, type RawObject } from "./values.ts";

/** The lists that a person may read, with their paths on each surface that has them. */
const LISTS = {
  subjects: { request: "/api/subjects" },
  requests: { request: "/api/procedure-requests" },
  procedures: { request: "/api/procedures", external: "/api/v1/external/procedures" },
  containers: { request: "/api/sample-containers", external: "/api/v1/external/sample-containers" },
  storage: { request: "/api/storage" },
} as const satisfies Record<string, Partial<Record<Surface, string>>>;
export type ReadableList = keyof typeof LISTS;

/** What can be read by its id. */
const RECORDS = {
  subject: { request: "/api/subjects/{id}" },
  request: { request: "/api/procedure-requests/{id}" },
  procedure: { request: "/api/procedures/{id}", external: "/api/v1/external/procedures/{id}" },
  location: { request: "/api/sample-containers/{id}/location" },
} as const satisfies Record<string, Partial<Record<Surface, string>>>;
export type ReadableRecord = keyof typeof RECORDS;

/** More than any list of a person's patience. */
const MAX_PAGES = 100_000;

/** What is to be read of a list. */
export interface ListQuestion {
  readonly list: ReadableList;
  readonly surface: Surface;
  /** The four filter forms of the specification: `code`, `code_like`, `createdAt_from`, `createdAt_to`. */
  readonly filters: Readonly<Record<string, string | number>>;
  /** Those of the filters that are only looked at here, since their spelling over there isn't known. */
  readonly unsent?: readonly string[] | undefined;
  /** Page size to ask for; the configured one when absent. */
  readonly perPage?: number | undefined;
}

/** Why entries that the service listed were filtered here. */
export type FilterRemark = "ignored" | "refused" | "not sent";

/** A page of a list as the service sent it. Holds patients' values. */
export interface ReadPage {
  /** Those that pass the filters and were on no earlier page. */
  readonly entries: readonly RawObject[];
  /** How many the service sent that were on no earlier page. */
  readonly listed: number;
  /** Filters that an entry of this page didn't pass, and why it came all the same. */
  readonly remarks: ReadonlyMap<string, FilterRemark>;
  /** Filters on fields that no entry of this page tells, so that they could not be looked at again. */
  readonly unchecked: readonly string[];
}

/** The path of a list; undefined when the surface has no such list. */
export function pathOfList(list: ReadableList, surface: Surface): string | undefined {
  const paths: Partial<Record<Surface, string>> = LISTS[list];
  return paths[surface];
}

/**
 * A list page by page, fetched while it is taken, so that no more than one page is ever held. Each entry comes once
 * although pages shift while they are read, and has been looked at again with every filter.
 * @throws Failure SERVICE_NOT_FOUND when the surface has no such list, and those of a list walk.
 */
export async function* readList(
  context: ServiceContext,
  question: ListQuestion,
  signal: AbortSignal,
): AsyncGenerator<ReadPage, void, void> {
  const listing = toListing(question);
  const filters = filtersOf(question);
  for await (const page of walkPages(context, listing, signal)) {
    requireReadable(listing.endpoint, page);
    yield sift(context, listing, filters, page);
  }
}

/** One page of a list as the service numbers them. @throws Failure those of {@link readList}. */
export async function readPage(
  context: ServiceContext,
  question: ListQuestion,
  page: number,
  signal: AbortSignal,
): Promise<ReadPage> {
  const listing = toListing(question);
  const perPage = listing.perPage ?? context.settings.perPage;
  const entries = await fetchPage(context, listing, { page, perPage }, signal);
  requireReadable(listing.endpoint, entries);
  return sift(context, listing, filtersOf(question), entries);
}

/**
 * One record by its id, as the service sent it.
 * @throws Failure SERVICE_NOT_FOUND, also when the surface has no such read; SERVICE_SHAPE_UNKNOWN for an answer that
 *   is about another record; those of `Transport.call`.
 */
export function readRecord(
  context: ServiceContext,
  record: ReadableRecord,
  surface: Surface,
  id: number,
  signal: AbortSignal,
): Promise<RawObject> {
  const routes: Partial<Record<Surface, string>> = RECORDS[record];
  const route = routes[surface];
  if (route === undefined) throw noSuchRead(record, surface);
  const parse = (raw: RawObject): RawObject => {
    requireReadable(route, raw);
    const told = record === "location" ? linkedId(raw, "sampleContainerId", "sampleContainer") : idOf(raw);
    if (told === undefined || told === id) return raw;
    throw new Failure("SERVICE_SHAPE_UNKNOWN", `GET ${route}: the answer is about another id (${told})`);
  };
  return getOne(context, { route, id }, parse, signal);
}

/** What a storage solution holds; its shape is not specified, so it is handed on as it came. */
export function getInventory(
  context: ServiceContext,
  storageId: number,
  signal: AbortSignal,
): Promise<unknown> {
  const route = "/api/storage/{id}/inventory";
  return context.transport.call(
    {
      method: "GET",
      route,
      id: storageId,
      sensitive: [],
      read: (answer) => {
        requireReadable(route, answer.json);
        return answer.json ?? null;
      },
    },
    signal,
  );
}

/**
 * A person must not be shown an id that was rounded on the way.
 * @throws Failure SERVICE_SHAPE_UNKNOWN
 */
function requireReadable(place: string, value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, each] of Object.entries(value)) {
    if (/(^id|Ids?)$/.test(key))
      requireReadableIds(
        place,
        [each].flat().map((id) => ({ id })),
      );
    requireReadable(place, each);
  }
}

function toListing({ list, surface, filters, unsent = [], perPage }: ListQuestion): Listing {
  const endpoint = pathOfList(list, surface);
  if (endpoint === undefined) throw noSuchRead(list, surface);
  const query: Query = Object.fromEntries(Object.entries(filters).filter(([name]) => !unsent.includes(name)));
  const sensitive = Object.entries(filters).flatMap(([name, value]) =>
    /^(subject\.)?(code|subjectCode|firstName|lastName|dateOfBirth)(_|$)/.test(name)
      ? [phi(String(value))]
      : [],
  );
  return { endpoint, query, sensitive, ends: "short", perPage, maxPages: MAX_PAGES };
}

function noSuchRead(what: string, surface: Surface): Failure {
  return new Failure("SERVICE_NOT_FOUND", `the ${surface} surface has no ${what} to read`);
}

function filtersOf({ filters }: ListQuestion): EntryFilter[] {
  return Object.entries(filters).map(([name, value]) => toEntryFilter(name, String(value)));
}

function sift(
  { capabilities, settings }: ServiceContext,
  { endpoint, query }: Listing,
  filters: readonly EntryFilter[],
  page: readonly RawObject[],
): ReadPage {
  const remarks = new Map<string, FilterRemark>();
  const untold = new Set(page.length === 0 ? [] : filters.map(({ name }) => name));
  const entries = page.filter((entry) => {
    let isWanted = true;
    for (const filter of filters) {
      const isPassed = passes(entry, filter, settings.words);
      if (isPassed !== undefined) untold.delete(filter.name);
      if (isPassed !== false) continue;
      isWanted = false;
      remarks.set(filter.name, remarkOn(filter.name));
    }
    return isWanted;
  });
  function remarkOn(name: string): FilterRemark {
    if (!(name in query) || !isAllowed(settings.filters, endpoint, name)) return "not sent";
    if (capabilities.isRefused(endpoint, name)) return "refused";
    capabilities.sawFilter(endpoint, name, "ignored");
    return "ignored";
  }
  return { entries, listed: page.length, remarks, unchecked: [...untold] };
}
