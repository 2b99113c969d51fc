import { type Column, cellText, detailTexts, type Look, listColumns } from "../../operator/column.ts";
import type { Session } from "../session.ts";

const GAP = 2;
const NARROWEST = 8;

/** A record for people: lines of `title  value`, aligned, without those that have no value. */
export function renderFields<Row>(columns: readonly Column<Row>[], row: Row, session: Session): string[] {
  const fields = detailTexts(columns, row, session);
  const width = Math.max(0, ...fields.map(({ title }) => title.length));
  return fields.map(({ title, text }) => `${title.padEnd(width + GAP)}${text}`);
}

/** The lines of a table, titles first. */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  session: Session,
): string[] {
  const { header, lines } = layOutTable(columns, rows, session);
  return [header, ...lines(rows)];
}

/** A table whose widths follow from its first rows; further rows may follow. */
export interface TableLayout<Row> {
  readonly header: string;
  /** Rows in the columns of the first ones; what is longer is cut in flexible columns and sticks out in others. */
  lines(rows: readonly Row[]): string[];
}

/**
 * Fixes the widths of a table by `rows`, for tables that are too long to be kept as a whole. Columns are as wide as
 * their content; when that is more than the screen, the flexible ones are cut, widest first, down to eight characters, and where
 * that is not enough, columns that say less are left out. Without a screen nothing is ever cut.
 */
export function layOutTable<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  session: Session,
): TableLayout<Row> {
  const shown = fitting(
    listColumns(all).map((column) => ({ column, width: widthOf(column, rows, session) })),
    session.width,
  );
  const columns = shown.map(({ column }) => column);
  const widths = shown.map(({ width }) => width);
  const titles = columns.map(titleOf);
  const textsOf = (row: Row) => columns.map((column) => cellText(column, row, session));
  if (session.width !== undefined) shrink(widths, columns, session.width);
  const layOut = (cells: readonly string[], row?: Row) =>
    columns
      .map((column, index) => {
        const padded = pad(cells[index] ?? "", widths[index] ?? 0, column, session.width !== undefined);
        const style = row === undefined ? undefined : column.paint?.(row);
        return style === undefined ? padded : session.paint(style, padded);
      })
      .join(" ".repeat(GAP))
      .replace(/ +$/, "");
  return { header: layOut(titles), lines: (more) => more.map((row) => layOut(textsOf(row), row)) };
}

interface Measured<Row> {
  readonly column: Column<Row>;
  /** Of its longest text. */
  readonly width: number;
}

const titleOf = ({ title = "" }: Look<never>): string => title.toUpperCase();

function widthOf<Row>(column: Column<Row>, rows: readonly Row[], session: Session): number {
  const texts = rows.map((row) => cellText(column, row, session));
  return texts.reduce((most, text) => Math.max(most, lengthOf(text)), titleOf(column).length);
}

/** The columns that a screen has room for: times whose age stands beside them go first, then lesser ones from the right. */
function fitting<Row>(all: readonly Measured<Row>[], most: number | undefined): readonly Measured<Row>[] {
  if (most === undefined) return all;
  const kept = new Set(all);
  const room = () =>
    [...kept].reduce(
      (sum, { column, width }) => sum + (column.isFlexible ? Math.min(width, NARROWEST) : width) + GAP,
      -GAP,
    );
  const times = all.filter((_, index) => all[index + 1]?.column.isAge);
  const lesser = all.filter(({ column }) => column.isLesser).reverse();
  for (const each of [...times, ...lesser]) if (room() > most) kept.delete(each);
  return [...kept];
}

function lengthOf(text: string): number {
  return [...text].length;
}

function shrink(widths: number[], columns: readonly Look<never>[], width: number): void {
  const total = () => widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1));
  while (total() > width) {
    const flexible = widths.map((each, index) => (columns[index]?.isFlexible ? each : 0));
    const widest = Math.max(...flexible);
    if (widest <= NARROWEST) return;
    widths[flexible.indexOf(widest)] = widest - 1;
  }
}

function pad(text: string, width: number, column: Look<never>, hasScreen: boolean): string {
  const chars = [...text];
  const isCut = hasScreen && column.isFlexible === true && chars.length > width;
  const cut = () => chars.slice(0, width - 1).join("");
  const shown = isCut ? `${cut().trimEnd()}…` : text;
  const blank = " ".repeat(Math.max(0, width - lengthOf(shown)));
  return column.isRight ? blank + shown : shown + blank;
}
