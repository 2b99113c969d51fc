import { parseId } from "../ledger/ids.ts";
import {
  type Filter,
  type Filters,
  type FilterValues,
  type List,
  type ListPlace,
  nothingOf,
  WHOLE,
} from "../operator/list.ts";
import { filterForm, listTable, nextPage, options, SEARCH_AGAIN } from "./components.ts";
import type { Records } from "./deps.ts";
import { type Content, type Html, html } from "./html.ts";
import { withCommands } from "./page-of-command.ts";
import { SECTIONS, type Section } from "./sections.ts";
import { type Site, type Visit, wholeNumber } from "./site.ts";

// A list that the command line has too, on a page.

const A_PAGE = 50;

/** For how long back a list is looked at, by the value in the address. */
const SINCE = {
  "1h": ["an hour", 1],
  "24h": ["a day", 24],
  "7d": ["a week", 168],
  "30d": ["30 days", 720],
} as const;

/** A part of a list, as a page has it. */
export interface ListPage<Row, F extends Filters> {
  /** Undefined for a search that is not kept any more. */
  readonly values: FilterValues<F> | undefined;
  readonly rows: readonly Row[];
  /** What stands in place of an empty list. */
  readonly nothing: string;
  /** The list as a table, or some of its rows. */
  readonly table: (options?: TableOptions<Row>) => Html;
  /** The form by which the list is narrowed. */
  readonly form: Html;
  /** The link to the next part, where there is one. */
  readonly more: Html | "";
}

type TableOptions<Row> = Partial<Parameters<typeof listTable<Row>>[3]> & { readonly rows?: readonly Row[] };

interface Particulars<Row, F extends Filters> {
  /** The page's heading; as the menu names it unless given. */
  readonly heading?: string;
  /** What stands above the filter, and between that and the list. */
  readonly above?: (visit: Visit) => Promise<Content> | Content;
  readonly between?: (page: ListPage<Row, F>, visit: Visit) => Promise<Content> | Content;
  /** The list itself, where it is more than its table. */
  readonly list?: (page: ListPage<Row, F>, visit: Visit) => Content;
}

/** Adds the page of a list. */
export function addListPage<Row, F extends Filters>(
  site: Site,
  path: Section,
  list: List<Row, F>,
  records: Records,
  { heading, above, between, list: shown = ({ table }) => table() }: Particulars<Row, F> = {},
): void {
  const title = SECTIONS[path];
  site.filter(path);
  site.page(path, async (visit) => {
    const [page, head] = await Promise.all([readListPage(list, path, visit, records), above?.(visit)]);
    return {
      ...{ title, section: path, isLive: !list.isStill },
      body: html`
<h1>${heading ?? title}</h1>
${list.note && html`<p class="note">${list.note}</p>`}
${head}
${page.form}
${await between?.(page, visit)}
${shown(page, visit)}
${page.more}`,
    };
  });
}

/** Where lists are read for a page. */
export function placeOf({ pool, config }: Records, { viewer }: Pick<Visit, "viewer">): ListPlace {
  return { pool, config, nowMs: viewer.clock.now(), mayAskPhi: viewer.mayAskPhi };
}

/** Reads the part of a list that an address asks for; `path` is the page's, whose filter is posted (`Site.filter`). */
export async function readListPage<Row, F extends Filters>(
  list: List<Row, F>,
  path: Parameters<Site["filter"]>[0],
  visit: Visit,
  records: Records,
): Promise<ListPage<Row, F>> {
  const { query } = visit;
  const place = placeOf(records, visit);
  const values = filterValues(list, query, visit);
  const { kind, flag = "before", of } = list.page ?? {};
  const limit = of ? A_PAGE : WHOLE;
  const from = (of && query.get(flag)) ?? "";
  const after = kind === undefined ? wholeNumber(from, 15) : parseId(kind, from);
  const [found, inputs] = await Promise.all([
    values === undefined ? [] : list.read(place, values, { limit: limit + 1, after }),
    inputsOf(list.filters, place, visit),
  ]);
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const nothing = values === undefined ? SEARCH_AGAIN : nothingOf(list, values, { after });
  return {
    ...{ values, rows, nothing },
    table: ({ rows: shown = rows, ...options } = {}) =>
      listTable(list.columns, shown, visit.viewer, { nothing: withCommands(nothing), ...options }),
    form: inputs.length === 0 ? html`` : filterForm(path, inputs, visit),
    more: of && found.length > limit && last ? nextPage(query, path, of(last), flag) : "",
  };
}

/** What an address narrows a list to; undefined for a search that is not kept any more. */
export function filterValues<Row, F extends Filters>(
  { filters }: List<Row, F>,
  query: URLSearchParams,
  { words, viewer }: Visit,
): FilterValues<F> | undefined {
  const word = words.of(query);
  if (word === undefined) return undefined;
  const values = Object.entries(filters).map(([name, filter]) => {
    if (filter.kind === "search") return [name, word || undefined];
    if (filter.label === undefined) return [name, undefined];
    return [name, readValue(filter, query.getAll(name), viewer.clock.now())];
  });
  return Object.fromEntries(values) as FilterValues<F>;
}

/** What is no word of a choice counts as none. */
function readValue(filter: Filter, given: readonly string[], nowMs: number): unknown {
  const [first = ""] = given;
  switch (filter.kind) {
    case "choice":
      return filter.words.find((word) => word === first);
    case "choices": {
      const words = wordsIn(filter.words, given);
      return words.length === 0 ? undefined : words;
    }
    case "since": {
      const hours = SINCE[first as keyof typeof SINCE]?.[1];
      return hours === undefined ? undefined : new Date(nowMs - hours * 3_600_000);
    }
    default:
      return first || undefined;
  }
}

function wordsIn(words: readonly string[], given: readonly string[]): string[] {
  return given.flatMap((each) => each.split(",")).filter((each) => words.includes(each));
}

async function inputsOf(filters: Filters, place: ListPlace, visit: Visit): Promise<Html[]> {
  const inputs: Html[] = [];
  for (const [name, filter] of Object.entries(filters)) {
    const { label } = filter;
    if (label === undefined) continue;
    if (filter.kind === "search")
      inputs.push(
        html`<label>${label}<input type="search" name="find" maxlength="200" value="${visit.words.of(visit.query)}"></label>`,
      );
    else {
      const chosen = visit.query.getAll(name).join() || undefined;
      if (filter.kind === "code" && chosen === undefined) continue;
      const offered = await offeredBy(filter, chosen, place);
      inputs.push(
        html`<label>${label}<select name="${name}">${options(offered, chosen, filter.unset)}</select></label>`,
      );
    }
  }
  return inputs;
}

/** What a select offers, by value and name. */
async function offeredBy(
  filter: Filter,
  chosen: string | undefined,
  place: ListPlace,
): Promise<readonly (readonly [value: string, name: string])[]> {
  const asItIs = (each: string) => [each, each] as const;
  switch (filter.kind) {
    case "since":
      return Object.entries(SINCE).flatMap(([value, [name]]) =>
        name === filter.unset ? [] : [[value, name] as const],
      );
    case "known":
      return (await filter.choices(place)).map(asItIs);
    case "choice":
    case "choices": {
      const { words, inWords = (word) => word } = filter;
      const several = chosen?.includes(",") ? [wordsIn(words, [chosen])] : [];
      return [...several, ...words.map((word) => [word])].map(
        (each) => [each.join(), each.map((word) => inWords(word)).join(", ")] as const,
      );
    }
    default:
      return chosen === undefined ? [] : [asItIs(chosen)];
  }
}
