import { type Column, cellText, recordJson } from "../../operator/column.ts";
import type { Session } from "../session.ts";
import { insetWidth, type Section } from "./details.ts";
import { renderTable } from "./table.ts";

/** Ids of a group that are named; the others are counted. */
const MOST_NAMED = 3;

interface GroupedTable<Row> {
  readonly key: string;
  readonly title: string;
  /** The first one distinguishes the rows of a group. */
  readonly columns: readonly Column<Row>[];
  /** Rows with the same text are one line for people. */
  readonly groupBy: (row: Row) => string;
  /** Rows for programs, and lines for people, at most. */
  readonly limit: number;
}

/** A list of which people see equal rows as one, with their ids, and programs each row. */
export function groupedTable<Row>(
  { key, title, columns, groupBy, limit }: GroupedTable<Row>,
  rows: readonly Row[],
  session: Session,
): Section {
  const groups = [...Map.groupBy(rows, groupBy).values()];
  const shown = columns.filter((column) => column.title !== undefined && column.only !== "details");
  const grouped = shown.map((column, n) => ofGroups(column, n === 0 ? namesOf : sameOrFirst));
  const more = groups.length - limit;
  return {
    title,
    json: { [key]: rows.slice(0, limit).map((row) => recordJson(columns, row, session)) },
    lines:
      rows.length === 0
        ? []
        : [
            ...renderTable(grouped, groups.slice(0, limit), { ...session, width: insetWidth(session) }),
            ...(more > 0 ? [`… and ${more} more: --limit shows them`] : []),
          ],
  };
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
