import { filterFields, type ServiceList } from "../../core/service-catalogue.ts";
import type { Behaviour } from "../behaviour.ts";
import type { Random } from "../chance.ts";
import type { Table } from "../world/rows.ts";
import { invalid } from "./refusal.ts";

type Value = string | number | null | undefined;

interface ListedRow {
  readonly id: number;
  readonly facilityId: number;
  readonly insertedAt: number;
}

/** The fields that a list is filtered by, as the row has them. */
export function fieldsOf<Row extends object>(list: ServiceList): Record<string, (row: Row) => Value> {
  const read = (name: string) => (row: Row) => (row as Readonly<Record<string, Value>>)[name];
  return Object.fromEntries(filterFields(list).map((name) => [name, read(name)]));
}

/** A kind of row as list endpoints offer it. */
export interface Listing<Row extends ListedRow> {
  readonly table: Table<Row>;
  /** The field whose exact filter is answered from the table's second key. */
  readonly keyField: string;
  /** The fields that may be filtered, as they are written on the wire. */
  readonly fields: Readonly<Record<string, (row: Row) => Value>>;
  /** Rows that this list shows; all when absent. */
  readonly shows?: (row: Row, behaviour: Behaviour) => boolean;
}

interface ListContext {
  readonly behaviour: Behaviour;
  /** Whether the caller may see rows of this facility. */
  readonly maySee: (facilityId: number) => boolean;
  /** Monotonic ms, to leave out rows that the list doesn't show yet. */
  readonly nowMs: number;
  readonly random: Random;
}

/** A page of rows. `total` counts all that match. */
interface Page<Row> {
  readonly rows: Row[];
  readonly page: number;
  readonly perPage: number;
  readonly total: number;
}

interface Filter<Row> {
  readonly name: string;
  readonly field: string;
  readonly form: "" | "_like" | "_from" | "_to";
  readonly wanted: string;
  readonly read: (row: Row) => Value;
}

/** Reads one page by the common query parameters: `page`, `perPage`, `<field>`, `_like`, `_from`, `_to`. */
export function listPage<Row extends ListedRow>(
  listing: Listing<Row>,
  query: URLSearchParams,
  context: ListContext,
  paging: Behaviour["externalPaging"],
): Page<Row> {
  const { behaviour, maySee, nowMs, random } = context;
  if (paging === "refuse") refusePaging(query);
  const { page, perPage } = paging === "paged" ? readPaging(query, behaviour) : WHOLE;
  const filters = readFilters(listing, query, behaviour);
  const newest = nowMs - behaviour.listLagMs;
  const matching = candidates(listing, filters).filter(
    (row) =>
      maySee(row.facilityId) &&
      (behaviour.listLagMs === 0 || row.insertedAt <= newest) &&
      (listing.shows?.(row, behaviour) ?? true) &&
      filters.every((filter) => matches(filter, row, behaviour)),
  );
  const sorted = inOrder(matching, behaviour.sort, random);
  const slide = behaviour.shiftingPages && page > 1 ? Math.floor(random.next() * 3) - 1 : 0;
  const start = Math.max(0, (page - 1) * perPage + slide);
  return { rows: sorted.slice(start, start + perPage), page, perPage, total: sorted.length };
}

/** Entries of a page in their envelope. */
export function wrapPage(
  entries: readonly unknown[],
  { page, perPage, total }: Page<unknown>,
  envelope: Behaviour["listEnvelope"],
  hasMeta: boolean,
): unknown {
  if (envelope === "array") return entries;
  const paging = { page, perPage, total };
  return {
    [envelope]: entries,
    ...(envelope === "results" ? paging : {}),
    ...(hasMeta ? { meta: paging } : {}),
  };
}

/** One page that holds everything. */
const WHOLE = { page: 1, perPage: Number.MAX_SAFE_INTEGER };

function refusePaging(query: URLSearchParams): void {
  const asked = ["page", "perPage"].filter((name) => query.has(name));
  if (asked.length === 0) return;
  const fields = asked.map((field) => ({ field, message: "no such parameter" }));
  throw invalid(400, "unknown parameter", fields);
}

/** Items per page when the call names none (specification, Common query parameters). */
const DEFAULT_PER_PAGE = 10;

function readPaging(query: URLSearchParams, behaviour: Behaviour): { page: number; perPage: number } {
  const read = (name: string, fallback: number): number => {
    const text = query.get(name);
    if (text === null) return fallback;
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
    throw invalid(behaviour.validationStatus, `${name} must be a positive integer`, [
      { field: name, message: "must be a positive integer" },
    ]);
  };
  const perPage = read("perPage", Math.min(DEFAULT_PER_PAGE, behaviour.maxPerPage));
  if (perPage > behaviour.maxPerPage && behaviour.overPerPage === "refuse") {
    throw invalid(behaviour.validationStatus, "perPage is too large", [
      { field: "perPage", message: `at most ${behaviour.maxPerPage}` },
    ]);
  }
  return { page: read("page", 1), perPage: Math.min(perPage, behaviour.maxPerPage) };
}

function readFilters<Row extends ListedRow>(
  listing: Listing<Row>,
  query: URLSearchParams,
  behaviour: Behaviour,
): Filter<Row>[] {
  const filters: Filter<Row>[] = [];
  for (const [name, wanted] of query) {
    if (name === "page" || name === "perPage") continue;
    const split = /^(.+?)(_like|_from|_to)?$/.exec(name);
    const field = split?.[1] ?? name;
    const form = (split?.[2] ?? "") as Filter<Row>["form"];
    const read = Object.hasOwn(listing.fields, field) ? listing.fields[field] : undefined;
    if (!read) {
      if (behaviour.unknownFilters === "ignore") continue;
      throw invalid(400, "unknown filter", [{ field: name, message: "no such field" }]);
    }
    const { filters: honoured } = behaviour;
    const isHonoured =
      honoured === "all" || (honoured !== "none" && (honoured.includes(field) || honoured.includes(name)));
    if (isHonoured) filters.push({ name, field, form, wanted, read });
    else if (behaviour.otherFilters === "refuse") {
      throw invalid(400, "unknown filter", [{ field: name, message: "this list can't be filtered by it" }]);
    }
  }
  return filters;
}

/** The fewest rows that hold all matches and can be had without looking at the others. */
function candidates<Row extends ListedRow>(
  listing: Listing<Row>,
  filters: readonly Filter<Row>[],
): readonly Row[] {
  const wantedOf = (name: string) => filters.find((filter) => filter.name === name)?.wanted;
  const key = wantedOf(listing.keyField);
  if (key !== undefined) return listing.table.withKey(key);
  const idOf = (name: string, fallback: number) => {
    const text = wantedOf(name) ?? "";
    return /^\d+$/.test(text) ? Number(text) : fallback;
  };
  const only = idOf("id", -1);
  if (only >= 0) return listing.table.between(only, only);
  return listing.table.between(idOf("id_from", 0), idOf("id_to", Number.MAX_SAFE_INTEGER - 1));
}

function matches<Row extends ListedRow>(filter: Filter<Row>, row: Row, behaviour: Behaviour): boolean {
  const value = filter.read(row);
  if (value === null || value === undefined) return false;
  const isWord = filter.field === "status" || filter.field === "type";
  const written = isWord ? (behaviour.words[String(value)] ?? value) : value;
  switch (filter.form) {
    case "":
      return String(written) === filter.wanted;
    case "_like":
      return String(written).toLowerCase().includes(filter.wanted.toLowerCase());
    case "_from":
      return compare(written, filter.wanted) >= 0;
    case "_to":
      return compare(written, filter.wanted) <= 0;
  }
}

/** Text that begins with a date; the engine would read many another text as one, such as `Tank 1`. */
const DATED = /^\d{4}-\d{2}-\d{2}/;

/** Numbers as numbers, moments as moments (two ways of writing one are equal), anything else as text. */
function compare(value: string | number, wanted: string): number {
  if (typeof value === "number") return value - Number(wanted);
  if (DATED.test(value) && DATED.test(wanted)) {
    const difference = Date.parse(value) - Date.parse(wanted);
    if (!Number.isNaN(difference)) return difference;
  }
  if (value === wanted) return 0;
  return value < wanted ? -1 : 1;
}

/** Rows come in order of their ids, which is the order of their creation. */
function inOrder<Row>(rows: readonly Row[], sort: Behaviour["sort"], random: Random): readonly Row[] {
  if (sort === "id") return rows;
  if (sort === "-id") return rows.toReversed();
  return rows
    .map((row) => ({ row, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ row }) => row);
}
