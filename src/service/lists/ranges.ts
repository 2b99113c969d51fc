import type { ServiceContext } from "../http/context.ts";
import { idOf, type RawObject } from "../values.ts";
import { fetchPage, type Listing } from "./list.ts";

/** The ids from one to another, both included, as a filter has them. */
export interface IdRange {
  readonly id_from: number;
  readonly id_to: number;
}

interface RangeSearch {
  readonly listing: Pick<Listing, "endpoint" | "query">;
  readonly ids: Iterable<number>;
  /** Is given each page, which may hold others too. */
  readonly take: (page: readonly RawObject[]) => void;
  /** Pages after which the rest is left. */
  readonly mostPages?: number;
}

/**
 * Reads the entries of a list that have certain ids: asks for the range from the first of them to the last one, a page each time,
 * and goes on after what the page has shown. Each page begins with an id that is wanted, so none costs more than a single read; the
 * service's order of the list, by rising or falling ids, shows which end a page was taken from. Whether it follows the filter is
 * noted for later.
 *
 * @returns the range that is left to read in whatever order the list has; undefined where nothing is, or the filter is ignored
 * @throws Failure those of {@link fetchPage}
 */
export async function readRanges(
  context: ServiceContext,
  { listing, ids: wanted, take, mostPages = Number.POSITIVE_INFINITY }: RangeSearch,
  signal: AbortSignal,
): Promise<IdRange | undefined> {
  const { capabilities, settings } = context;
  let ids = [...wanted].sort((a, b) => a - b);
  for (let pages = 0; pages < mostPages; pages += 1) {
    const [from, to] = [ids[0], ids.at(-1)];
    if (from === undefined || to === undefined || from === to) return undefined;
    const range = { id_from: from, id_to: to };
    const query = { ...listing.query, ...range };
    const paging = { page: 1, perPage: settings.perPage };
    const page = await fetchPage(context, { ...listing, query }, paging, signal);
    const shown = page.flatMap((raw) => idOf(raw) ?? []);
    take(page);
    const [first, last] = [shown[0], shown.at(-1)];
    if (first === undefined || last === undefined) return undefined;
    if (shown.some((id) => id < range.id_from || id > range.id_to)) {
      capabilities.sawFilter(listing.endpoint, "id", "ignored");
      return undefined;
    }
    capabilities.sawFilter(listing.endpoint, "id", "honoured");
    if (isRising(shown)) ids = ids.filter((id) => id > last);
    else if (isRising(shown.toReversed())) ids = ids.filter((id) => id < last);
    else return range;
  }
  return undefined;
}

/** Whether a list may be asked for ranges of ids, as far as is known. */
export function hasRanges({ capabilities }: ServiceContext, endpoint: string): boolean {
  return capabilities.filter(endpoint, "id") !== "ignored";
}

function isRising(ids: readonly number[]): boolean {
  return ids.every((id, index) => index === 0 || (ids[index - 1] ?? id) < id);
}
