import type { Problem } from "./failures.ts";

/** A file may have thousands of rows of one order. */
const MOST_LINES_NAMED = 10;

/**
 * The problems of an order that is refused, so that each of its rows is named: what is wrong with one row refuses the
 * others, and nobody would look for those.
 *
 * @param problems those of some of the rows, whose places begin with the lines; none where nothing is wrong
 */
export function namingAllRows(
  problems: readonly Problem[],
  rows: readonly { readonly line: number }[],
): readonly Problem[] {
  if (problems.length === 0 || rows.length < 2) return problems;
  const named = new Set(problems.flatMap(({ place }) => linesIn(place)));
  const others = rows.map(({ line }) => line).filter((line) => !named.has(line));
  const [reason] = named;
  if (others.length === 0 || reason === undefined) return problems;
  const listed = others.slice(0, MOST_LINES_NAMED).join(", ");
  const place = `${others.length === 1 ? "line" : "lines"} ${listed}${others.length > MOST_LINES_NAMED ? ", …" : ""}`;
  const message = `not taken, since line ${reason} is of the same order and was refused`;
  return [...problems, { code: "CSV_ROW_OF_REFUSED_ORDER", place, message }];
}

/** The lines that a place names: `line 3, column label`, `lines 3 and 5`, `lines 2-4`. */
function linesIn(place: string): number[] {
  const list = /^lines? (\d+(?:(?:-|, | and )\d+)*)/.exec(place)?.[1] ?? "";
  return list.split(/, | and /).flatMap((part) => {
    const [from = 0, to = from] = part.split("-").map(Number);
    return part === "" ? [] : Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}
