import { clean } from "./clean.ts";

/** A column of a table. */
export interface Column {
  readonly title: string;
  /** Numbers stand better at the right. */
  readonly isRight?: boolean | undefined;
  /** May be cut to fit the screen. */
  readonly isFlexible?: boolean | undefined;
}

/** A cell: its text, and how it is coloured once its width is settled. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

const GAP = 2;
const NARROWEST = 8;

/**
 * The lines of a table, titles first. Columns are as wide as their content; when that is more than `width`, the
 * flexible ones are cut, widest first, down to eight characters. Without a width nothing is ever cut.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number | undefined,
): string[] {
  const { header, lines } = layOutTable(columns, rows, width);
  return [header, ...lines(rows)];
}

/** A table whose widths are settled by its first rows; further rows may follow. */
export interface TableLayout {
  readonly header: string;
  /** Rows in the columns of the first ones; what is longer is cut in flexible columns and sticks out in others. */
  lines(rows: readonly (readonly Cell[])[]): string[];
}

/** Settles the widths of a table by `rows`, for tables that are too long to be held as a whole. */
export function layOutTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number | undefined,
): TableLayout {
  const titles = columns.map(({ title }) => title.toUpperCase());
  const texts = rows.map((row) => columns.map((_, index) => clean(textOf(row[index] ?? ""))));
  const widths = titles.map((title, index) =>
    texts.reduce((most, row) => Math.max(most, lengthOf(row[index] ?? "")), title.length),
  );
  if (width !== undefined) shrink(widths, columns, width);
  const layOut = (row: readonly string[], cells?: readonly Cell[]) =>
    row
      .map((text, index) => {
        const isCut = width !== undefined && columns[index]?.isFlexible === true;
        const padded = pad(text, widths[index] ?? 0, columns[index]?.isRight === true, isCut);
        const cell = cells?.[index];
        return typeof cell === "object" ? cell.paint(padded) : padded;
      })
      .join(" ".repeat(GAP))
      .replace(/ +$/, "");
  return {
    header: layOut(titles),
    lines: (more) =>
      more.map((row) =>
        layOut(
          columns.map((_, index) => clean(textOf(row[index] ?? ""))),
          row,
        ),
      ),
  };
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}

function lengthOf(text: string): number {
  return [...text].length;
}

function shrink(widths: number[], columns: readonly Column[], width: number): void {
  const total = () => widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1));
  while (total() > width) {
    const candidates = columns.flatMap((column, index) =>
      column.isFlexible && (widths[index] ?? 0) > NARROWEST ? [index] : [],
    );
    const widest = candidates.reduce<number | undefined>(
      (best, index) => (best === undefined || (widths[index] ?? 0) > (widths[best] ?? 0) ? index : best),
      undefined,
    );
    if (widest === undefined) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

function pad(text: string, width: number, isRight: boolean, isCut: boolean): string {
  const chars = [...text];
  const shown =
    isCut && chars.length > width
      ? `${chars
          .slice(0, width - 1)
          .join("")
          .trimEnd()}…`
      : text;
  const blank = " ".repeat(Math.max(0, width - lengthOf(shown)));
  return isRight ? blank + shown : shown + blank;
}

/** Lines of `name  value`, aligned; entries without a value are left out. */
export function renderFields(
  fields: readonly (readonly [name: string, value: string | undefined])[],
): string[] {
  const told = fields.filter((field): field is readonly [string, string] => field[1] !== undefined);
  const width = Math.max(0, ...told.map(([name]) => name.length));
  return told.map(([name, value]) => `${name.padEnd(width + GAP)}${clean(value)}`);
}
