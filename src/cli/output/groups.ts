import { type Column, cellText, listColumns } from "../../operator/column.ts";
import type { Session } from "../session.ts";
import { renderTable } from "./table.ts";

/** Ids of a group that are named; the others are counted. */
const MOST_NAMED = 3;

/**
 * A list of which people see rows with the same text as one line, with what distinguishes them in the first column.
 * @param groups.limit lines at most
 */
export function groupedLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { by, limit }: { readonly by: (row: Row) => string; readonly limit: number },
  session: Session,
): string[] {
  const groups = [...Map.groupBy(rows, by).values()];
  const grouped = listColumns(columns).map((column, n) => ofGroups(column, n === 0 ? namesOf : sameOrFirst));
  const more = groups.length - limit;
  return [
    ...renderTable(grouped, groups.slice(0, limit), session),
    ...(more > 0 ? [`… and ${more} more: --limit shows them`] : []),
  ];
}

function ofGroups<Row>(
  column: Column<Row>,
  summarise: (texts: readonly string[]) => string,
): Column<readonly Row[]> {
  return {
    ...(column.title === undefined ? {} : { title: column.title }),
    ...(column.isRight === undefined ? {} : { isRight: column.isRight }),
    ...(column.isFlexible === undefined ? {} : { isFlexible: column.isFlexible }),
    show: (group, session) => summarise(group.map((row) => cellText(column, row, session))),
    paint: ([first]) => (first === undefined ? undefined : column.paint?.(first)),
  };
}

/** `o1`, or `o1 o2 o3 and 12 more`. */
function namesOf(texts: readonly string[]): string {
  const more = texts.length - MOST_NAMED;
  return [...texts.slice(0, MOST_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join(" ");
}

/** What all of them say, or what the first one says. */
function sameOrFirst(texts: readonly string[]): string {
  const [first = ""] = texts;
  return texts.every((text) => text === first) ? first : `${first} …`;
}
