import { Failure } from "../../core/failures.ts";
import {
  findList,
  type ListKind,
  RECORDS,
  RECORDS_OF,
  type RecordKind,
} from "../../core/service-catalogue.ts";
import type { Surface } from "../../core/surface.ts";
import { getOne, type ServiceContext } from "../http/context.ts";
import type { Query } from "../http/transport.ts";
import {
  idOf,
  isObject,
  linkedId,
  normalizeStatus,
  normalizeType,
  type RawObject,
  type ServiceWords,
  subjectCodeOf,
} from "../values.ts";
import { isAllowed } from "./capabilities.ts";
import { fetchPage, type Listing, walkPages } from "./list.ts";

/** More than any list of a person's patience. */
const MAX_PAGES = 100_000;

/** What is to be read of a list. */
export interface ListQuestion {
  readonly list: ListKind;
  readonly surface: Surface;
  /** The four filter forms of the specification: `code`, `code_like`, `createdAt_from`, `createdAt_to`. */
  readonly filters: Readonly<Record<string, string | number>>;
  /** Those of the filters that are only looked at here, since their spelling over there isn't known. */
  readonly unsent?: readonly string[] | undefined;
  /** What is missed would count as not there: a list that may be cut is an error then. */
  readonly isWhole?: boolean | undefined;
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
  /** Filters that an entry of this page didn't pass, and why it came nevertheless. */
  readonly remarks: ReadonlyMap<string, FilterRemark>;
  /** Filters on fields that no entry of this page shows, so that they could not be looked at again. */
  readonly unchecked: readonly string[];
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
  return sift(context, listing, filtersOf(question), entries);
}

/**
 * One record by its id, as the service sent it.
 * @throws Failure SERVICE_NOT_FOUND, also when the surface has no such read; SERVICE_SHAPE_UNKNOWN for an answer that
 *   is about another record; those of `Transport.call`.
 */
export function readRecord(
  context: ServiceContext,
  record: RecordKind,
  surface: Surface,
  id: number,
  signal: AbortSignal,
): Promise<RawObject> {
  const routes: Partial<Record<Surface, string>> = RECORDS_OF[record];
  const route = routes[surface];
  if (route === undefined) throw noSuchRead(record, surface);
  const parse = (raw: RawObject): RawObject => {
    const shown = record === "location" ? linkedId(raw, "sampleContainerId", "sampleContainer") : idOf(raw);
    if (shown === undefined || shown === id) return raw;
    throw new Failure("SERVICE_SHAPE_UNKNOWN", `GET ${route}: the answer is about another id (${shown})`);
  };
  return getOne(context, { route, id }, parse, signal);
}

/**
 * What a storage solution holds; its shape is not specified, so it is handed on as it came.
 * @param page asked for where the service shows inventories in pages
 */
export function getInventory(
  context: ServiceContext,
  storageId: number,
  signal: AbortSignal,
  page?: number,
): Promise<unknown> {
  return context.transport.call(
    {
      method: "GET",
      route: RECORDS.inventory,
      id: storageId,
      query: page === undefined ? {} : { page, perPage: context.settings.perPage },
      read: (answer) => answer.json ?? null,
    },
    signal,
  );
}

function toListing({ list, surface, filters, unsent = [], isWhole, perPage }: ListQuestion): Listing {
  const endpoint = findList(list, surface)?.path;
  if (endpoint === undefined) throw noSuchRead(list, surface);
  const query: Query = Object.fromEntries(Object.entries(filters).filter(([name]) => !unsent.includes(name)));
  return { endpoint, query, ends: isWhole ? "whole" : "short", perPage, maxPages: MAX_PAGES };
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
  const unshown = new Set(page.length === 0 ? [] : filters.map(({ name }) => name));
  const entries = page.filter((entry) => {
    let isWanted = true;
    for (const filter of filters) {
      const isPassed = passes(entry, filter, settings.words);
      if (isPassed !== undefined) unshown.delete(filter.name);
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
  return { entries, listed: page.length, remarks, unchecked: [...unshown] };
}

/** The four filter forms of the specification: exact, `_like`, `_from`, `_to`. */
const FORMS = ["like", "from", "to"] as const;
type Form = "is" | (typeof FORMS)[number];

/** One filter of a list, to be looked at again in each entry. */
interface EntryFilter {
  /** As it is sent: `lastName_like`. */
  readonly name: string;
  readonly field: string;
  readonly form: Form;
  readonly value: string;
}

/** Takes a filter apart by its name. */
export function toEntryFilter(name: string, value: string): EntryFilter {
  const form = FORMS.find((each) => name.endsWith(`_${each}`) && name.length > each.length + 1);
  if (form === undefined) return { name, field: name, form: "is", value };
  return { name, field: name.slice(0, -form.length - 1), form, value };
}

/**
 * Whether an entry passes a filter; undefined when it doesn't show the field. Where the specification leaves room the
 * entry gets the benefit: words of status and type in any spelling, and a bare date as the end of a range means all of
 * that day.
 */
export function passes(entry: RawObject, filter: EntryFilter, words: ServiceWords): boolean | undefined {
  const shown = fieldOf(entry, filter.field);
  if (shown === undefined) return undefined;
  const values = (Array.isArray(shown) ? shown : [shown]).filter(
    (each) => !isObject(each) && !Array.isArray(each),
  );
  if (values.length === 0 && Array.isArray(shown) && shown.length > 0) return undefined;
  return values.some((value) => isPassed(value, filter, words));
}

function isPassed(value: unknown, { field, form, value: wanted }: EntryFilter, words: ServiceWords): boolean {
  if (value === null) return form === "is" && /^(null)?$/.test(wanted);
  const text = String(value);
  if (form === "like") return text.toLowerCase().includes(wanted.toLowerCase());
  if (form === "from") return compare(text, wanted, "start") >= 0;
  if (form === "to") return compare(text, wanted, "end") <= 0;
  if (text === wanted) return true;
  if (field === "status") return normalizeStatus(text, words) === normalizeStatus(wanted, words);
  if (field === "type") return normalizeType(text, words) === normalizeType(wanted, words);
  return false;
}

/** The value under a field: its own key, `facility.id` for `facilityId`, `subject.code`, or a path with dots. */
function fieldOf(entry: RawObject, field: string): unknown {
  if (Object.hasOwn(entry, field)) return entry[field];
  if (field === "subjectCode") return subjectCodeOf(entry);
  if (field.endsWith("Id")) return linkedId(entry, field, field.slice(0, -2));
  if (!field.includes(".")) return undefined;
  return field
    .split(".")
    .reduce<unknown>(
      (inner, key) => (isObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
      entry,
    );
}

/** Numbers by size, times by when they are, anything else by its text. */
function compare(value: string, wanted: string, bound: "start" | "end"): number {
  const numbers = [value, wanted].map((text) => (text.trim() === "" ? Number.NaN : Number(text)));
  const times = [timeOf(value, "start"), timeOf(wanted, bound)];
  for (const [a = Number.NaN, b = Number.NaN] of [numbers, times]) {
    if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  }
  return value < wanted ? -1 : value > wanted ? 1 : 0;
}

/** Ms since the epoch of an ISO 8601 date or time; the last ms of a bare date where it ends a range. */
function timeOf(text: string, bound: "start" | "end"): number {
  if (!/^\d{4}-\d{2}-\d{2}([T ]|$)/.test(text)) return Number.NaN;
  const isBareDate = text.length === 10;
  return Date.parse(text) + (isBareDate && bound === "end" ? 86_399_999 : 0);
}
