import { Failure } from "../core/failures.ts";
import type { RawObject } from "./values.ts";

/** Where the specification describes lists as plain arrays and says nothing of pages. */
const EXTERNAL = "/api/v1/external/";
/** Longer lists than that are not read in one answer. */
const MOST_PER_PAGE = 1_000_000;

/** Whether a list is one of those that the specification describes as a plain array, without a word about pages. */
export function isPlainArray(endpoint: string): boolean {
  return endpoint.startsWith(EXTERNAL);
}

/**
 * Finds out what a list is of which each page is the same and exactly as long as was asked for: whole, by accident of
 * that length, or cut because `page` is ignored. Asks for other lengths; gives answers with whatever they hold.
 *
 * Asked for more, a service that follows `perPage` gives more, until it gives less than asked: then that is all. One
 * that gives as much even when asked for less follows neither: its lists are not paged, so each is whole.
 *
 * @param ask reads the first page at a length
 * @throws Failure SERVICE_SHAPE_UNKNOWN when the service follows `perPage` up to just this length and ignores `page`.
 */
export async function* readAtOtherLengths(
  endpoint: string,
  perPage: number,
  ask: (perPage: number) => Promise<readonly RawObject[]>,
): AsyncGenerator<readonly RawObject[], void, void> {
  for (let asked = perPage * 2; asked <= MOST_PER_PAGE; asked *= 2) {
    const entries = await ask(asked);
    yield entries;
    if (entries.length <= perPage) break;
    if (entries.length !== asked) return;
  }
  const fewer = perPage > 1 ? await ask(perPage - 1) : [];
  yield fewer;
  if (fewer.length >= perPage) return;
  throw new Failure("SERVICE_SHAPE_UNKNOWN", `${endpoint}: \`page\` is ignored, each page is the first`);
}
