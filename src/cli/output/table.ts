import { Phi } from "../../core/phi.ts";
import type { Paint, Session } from "../session.ts";
import { clean, HIDDEN, reveal } from "./text.ts";
import { localTime, relativeTime, timeWithAge } from "./times.ts";

/**
 * One value of a record, for people and for programs: a column of a list and a line of the details. A time is shown as
 * local time, an array with blanks between its values; programs are given values as they are, null for undefined.
 */
export type Column<Row> = Look<Row> &
  (
    | { readonly key: Extract<keyof Row, string>; readonly value?: undefined }
    | { readonly key?: string; readonly value: (row: Row) => unknown }
    | { readonly key?: undefined; readonly value?: undefined; readonly show: Show<Row> }
  );

interface Look<Row> {
  /** What people read as its name; without one it is for programs alone, as without a key it is for people alone. */
  readonly title?: string;
  /** What people see where that is not the value. */
  readonly show?: Show<Row>;
  readonly paint?: (row: Row) => Paint | readonly Paint[] | undefined;
  /** A text that may identify a patient, masked without `--show-phi` as a {@link Phi} always is. */
  readonly isPhi?: boolean;
  /** Where people see it; in both unless said. */
  readonly only?: "list" | "details";
  /** Numbers stand better at the right. */
  readonly isRight?: boolean;
  /** May be cut to fit the screen. */
  readonly isFlexible?: boolean;
}

type Show<Row> = (row: Row, session: Session) => unknown;

const GAP = 2;
const NARROWEST = 8;

/** Columns for programs alone, with the record's own values. */
export function forPrograms<Row>(...keys: Extract<keyof Row, string>[]): Column<Row>[] {
  return keys.map((key) => ({ key }));
}

/** A column with how long ago something was, or how soon it will be. */
export function ageColumn<Row>(of: (row: Row) => Date, title = "age"): Column<Row> {
  return {
    title,
    only: "list",
    isRight: true,
    show: (row, session) => relativeTime(of(row), session.clock.now()),
  };
}

/** A record for programs. */
export function recordJson<Row>(columns: readonly Column<Row>[], row: Row, session: Session) {
  return Object.fromEntries(
    columns.flatMap((column) => {
      if (column.key === undefined) return [];
      const value = rawValue(column, row) ?? null;
      const shown = value instanceof Phi ? reveal(value, session.mayShowPhi) : hide(value, column, session);
      return [[column.key, shown] as const];
    }),
  );
}

/** A record for people: lines of `title  value`, aligned, without those that have no value. */
export function renderFields<Row>(columns: readonly Column<Row>[], row: Row, session: Session): string[] {
  const now = session.clock.now();
  const fields = columns.flatMap((column) => {
    if (column.title === undefined || column.only === "list") return [];
    const text = textOf(column, row, session, (time) => timeWithAge(time, now));
    return text === "" ? [] : [[column.title, text] as const];
  });
  const width = Math.max(0, ...fields.map(([title]) => title.length));
  return fields.map(([title, text]) => `${title.padEnd(width + GAP)}${text}`);
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
 * their content; when that is more than the screen, the flexible ones are cut, widest first, down to eight characters.
 * Without a screen nothing is ever cut.
 */
export function layOutTable<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  session: Session,
): TableLayout<Row> {
  const columns = all.filter(({ title, only }) => title !== undefined && only !== "details");
  const titles = columns.map(({ title = "" }) => title.toUpperCase());
  const textsOf = (row: Row) => columns.map((column) => textOf(column, row, session, localTime));
  const texts = rows.map(textsOf);
  const widths = titles.map((title, index) =>
    texts.reduce((most, row) => Math.max(most, lengthOf(row[index] ?? "")), title.length),
  );
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

function rawValue<Row>({ key, value }: Column<Row>, row: Row): unknown {
  return value === undefined ? row[key as keyof Row] : value(row);
}

function hide(value: unknown, { isPhi }: Look<never>, { mayShowPhi }: Session): unknown {
  return isPhi && !mayShowPhi && value !== "" && value !== null ? HIDDEN : value;
}

function textOf<Row>(
  column: Column<Row>,
  row: Row,
  session: Session,
  timeOf: (time: Date) => string,
): string {
  const inWords = (value: unknown): string => {
    if (value === undefined || value === null) return "";
    if (value instanceof Phi) return reveal(value, session.mayShowPhi) ?? "";
    if (value instanceof Date) return timeOf(value);
    return Array.isArray(value) ? value.map(inWords).join(" ") : String(value);
  };
  const value = column.show ? column.show(row, session) : rawValue(column, row);
  return clean(inWords(hide(value, column, session)));
}

/** What people see of a row in one column of a list. */
export function cellText<Row>(column: Column<Row>, row: Row, session: Session): string {
  return textOf(column, row, session, localTime);
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
