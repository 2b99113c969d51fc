import type { Problem } from "./failures.ts";
import { linesOf, type Place } from "./place.ts";

/** A file may have thousands of rows of one order. */
const MOST_LINES_NAMED = 10;

/**
 * The problems of an order that is refused, so that each of its rows is named: what is wrong with one row refuses the
 * others, and nobody would look for those.
 *
 * @param problems those of some of the rows; none where nothing is wrong
 */
export function namingAllRows(
  problems: readonly Problem[],
  rows: readonly { readonly line: number }[],
): readonly Problem[] {
  if (problems.length === 0 || rows.length < 2) return problems;
  const named = new Set(problems.flatMap(({ place }) => linesOf(place)));
  const others = rows.map(({ line }) => line).filter((line) => !named.has(line));
  const [reason] = named;
  if (others.length === 0 || reason === undefined) return problems;
  const isMore = others.length > MOST_LINES_NAMED;
  const at = others.slice(0, MOST_LINES_NAMED);
  const place: Place = { lines: { at, by: ",", ...(isMore ? { isMore } : {}) } };
  const message = `not taken, since line ${reason} is of the same order and was refused`;
  return [...problems, { code: "CSV_ROW_OF_REFUSED_ORDER", place, message }];
}
