import type { styleText } from "node:util";
import type { Clock } from "../core/clock.ts";
import { Phi } from "../core/phi.ts";
import { clean, HIDDEN, reveal } from "./text.ts";
import { localTime, relativeTime, timeWithAge } from "./times.ts";

/** Who reads: on a terminal, in a browser, or a program. */
export interface Viewer {
  readonly clock: Clock;
  /** Whether what identifies a patient is shown. */
  readonly mayShowPhi: boolean;
  /** Whether the reader may ask for that; who may not isn't told either which records are of one patient. */
  readonly mayAskPhi?: boolean | undefined;
  /** The console's page of the record that an id names; the command line has none. */
  readonly pageOf?: (id: string) => string | undefined;
}

/** A colour or weight of `util.styleText`. */
export type Paint = Extract<Parameters<typeof styleText>[0], string>;

/**
 * One value of a record, for people and for programs: a column of a list and a line of the details. A time is shown as
 * local time, an array with blanks between its values; programs are given values as they are, null for undefined.
 */
export type Column<Row> = Look<Row> &
  (
    | { readonly key: Extract<keyof Row, string>; readonly value?: undefined }
    | { readonly key?: string; readonly value: (row: Row, viewer: Viewer) => unknown }
    | { readonly key?: undefined; readonly value?: undefined; readonly show: Show<Row> }
  );

export interface Look<Row> {
  /** What people read as its name; without one it is for programs alone, as without a key it is for people alone. */
  readonly title?: string;
  /** What people see where that is not the value. */
  readonly show?: Show<Row>;
  readonly paint?: (row: Row) => Paint | readonly Paint[] | undefined;
  /** The console's page about it, such as `/orders/o17`. */
  readonly link?: (row: Row, viewer: Viewer) => string | undefined;
  /** Whether its mask stands in its place, without a link; a {@link Phi} is masked without `--show-phi` anyway. */
  readonly isHidden?: (row: Row, viewer: Viewer) => boolean;
  /** Where people see it; in both unless said. */
  readonly only?: "list" | "details";
  /** Numbers stand better at the right. */
  readonly isRight?: boolean;
  /** Says only how long ago the column before it was. */
  readonly isAge?: boolean;
  /** Left out of a list whose screen has no room for it; the details have it. */
  readonly isLesser?: boolean;
  /** May be cut to fit the screen. */
  readonly isFlexible?: boolean;
}

type Show<Row> = (row: Row, viewer: Viewer) => unknown;

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
    isAge: true,
    show: (row, viewer) => relativeTime(of(row), viewer.clock.now()),
  };
}

/** A record for programs. */
export function recordJson<Row>(columns: readonly Column<Row>[], row: Row, viewer: Viewer) {
  return Object.fromEntries(
    columns.flatMap((column) => {
      if (column.key === undefined) return [];
      const value = rawValue(column, row, viewer) ?? null;
      const shown =
        value instanceof Phi ? reveal(value, viewer.mayShowPhi) : hide(value, column, row, viewer);
      return [[column.key, shown] as const];
    }),
  );
}

/** What people see of a row in one column of a list. */
export function cellText<Row>(column: Column<Row>, row: Row, viewer: Viewer): string {
  return textOf(column, row, viewer, localTime);
}

/** The values of a record that its details show people, without those that it doesn't have. */
export function detailTexts<Row>(
  columns: readonly Column<Row>[],
  row: Row,
  viewer: Viewer,
): { readonly title: string; readonly text: string; readonly link: string | undefined }[] {
  const now = viewer.clock.now();
  return columns.flatMap((column) => {
    if (column.title === undefined || column.only === "list") return [];
    const text = textOf(column, row, viewer, (time) => timeWithAge(time, now));
    return text === "" ? [] : [{ title: column.title, text, link: linkOf(column, row, viewer) }];
  });
}

/** The console's page that a value leads to. */
export function linkOf<Row>(column: Column<Row>, row: Row, viewer: Viewer): string | undefined {
  return column.isHidden?.(row, viewer) ? undefined : column.link?.(row, viewer);
}

/** The columns that a list shows people. */
export function listColumns<Row>(columns: readonly Column<Row>[]): Column<Row>[] {
  return columns.filter(({ title, only }) => title !== undefined && only !== "details");
}

function textOf<Row>(column: Column<Row>, row: Row, viewer: Viewer, timeOf: (time: Date) => string): string {
  const inWords = (value: unknown): string => {
    if (value === undefined || value === null) return "";
    if (value instanceof Phi) return reveal(value, viewer.mayShowPhi) ?? "";
    if (value instanceof Date) return timeOf(value);
    return Array.isArray(value) ? value.map(inWords).join(" ") : String(value);
  };
  const value = column.show ? column.show(row, viewer) : rawValue(column, row, viewer);
  return clean(inWords(hide(value, column, row, viewer)));
}

function rawValue<Row>({ key, value }: Column<Row>, row: Row, viewer: Viewer): unknown {
  return value === undefined ? row[key as keyof Row] : value(row, viewer);
}

function hide<Row>(value: unknown, { isHidden }: Look<Row>, row: Row, viewer: Viewer): unknown {
  const isNothing = value === "" || value === null || value === undefined;
  return !isNothing && isHidden?.(row, viewer) ? HIDDEN : value;
}
