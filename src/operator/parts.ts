import type { Problem } from "../core/failures.ts";
import type { OrderEvent } from "../ledger/operator/views.ts";
import { type Column, type Paint, recordJson, type Viewer } from "./column.ts";
import type { Known } from "./ready-hint.ts";

// What is known of one record is declared once: the command line and the console are two renderers of it.

/** All that is known of one record. */
export interface Details extends Overview {
  readonly heading: Heading;
}

/** What people look at that is several tables: the details of a record, or one of `overviews/`. */
export interface Overview {
  /** Why it stands as it does, and what to do about it. */
  readonly remarks?: readonly Remark[];
  readonly parts: readonly Part[];
}

interface Heading {
  /** Such as `Order o17 (P-1001)`. */
  readonly name: string;
  /** What it is, such as `STORE`. */
  readonly what?: string | undefined;
  readonly state: string;
  readonly paint?: Paint | readonly Paint[] | undefined;
  /** Since when it is in that state. */
  readonly since?: Date;
}

export interface Remark {
  readonly title: string;
  readonly text: string;
  readonly hint?: string | undefined;
  /** Whether it waits for a person. */
  readonly isAct?: boolean;
}

/** A part of what is known. */
export type Part = {
  /** By which a page finds it. */
  readonly name: string;
  /** What stands above it. */
  readonly title?: string;
  /** What programs are given of it; nothing unless given. */
  readonly json?: Readonly<Record<string, unknown>>;
} & (
  | { readonly kind: "json" }
  | { readonly kind: "fields"; readonly columns: readonly Column<never>[]; readonly row: never }
  | Table
  | { readonly kind: "entries"; readonly entries: readonly Entry[] }
  | { readonly kind: "problems"; readonly problems: readonly Problem[]; readonly known?: Known }
  | Text
  | { readonly kind: "timeline"; readonly events: readonly OrderEvent[] }
);

interface Table {
  readonly kind: "table";
  readonly columns: readonly Column<never>[];
  readonly rows: readonly never[];
  /** What people read in place of an empty table, which is left out without. */
  readonly nothing: string | undefined;
  /** Where it was cut, what shows more on the command line; and for the console, what stands behind `after` in an address. */
  readonly more?: { readonly words: string; readonly after: string } | undefined;
  /** What people do about its rows. */
  readonly notes?: readonly string[];
}

/** A text that may name a patient. */
interface Text {
  readonly kind: "text";
  /** How it went, in a sentence. */
  readonly note?: string;
  /** The console's page about it. */
  readonly link?: string | undefined;
  /** Undefined where it is not there; `nothing` says so. */
  readonly sizeBytes: number | undefined;
  readonly nothing: string;
  /** Undefined where it is hidden. */
  readonly lines: readonly string[] | undefined;
}

/** Something that happened, in words. */
export interface Entry {
  readonly at: Date;
  readonly text: string;
  readonly hint?: string | undefined;
  /** What was sent or came with it. */
  readonly body?: string | undefined;
  /** Whether there is a body that is shown to who asks alone. */
  readonly isHidden?: boolean;
}

/** The values of the record. */
export function fieldsPart<Row>(
  columns: readonly Column<Row>[],
  row: Row,
  viewer: Viewer,
  title?: string,
): Part {
  const json = recordJson(columns, row, viewer);
  return {
    ...{
      kind: "fields",
      name: "facts",
      json,
      columns: columns as readonly Column<never>[],
      row: row as never,
    },
    ...(title === undefined ? {} : { title }),
  };
}

/** A list that belongs to the record, or to the overview. @param key under which programs find it; its name unless given */
export function tablePart<Row>(
  name: string,
  {
    key = name,
    columns,
    rows,
    ...table
  }: Pick<Table, "more" | "notes"> & {
    readonly key?: string;
    readonly title?: string;
    readonly columns: readonly Column<Row>[];
    readonly rows: readonly Row[];
    readonly nothing?: string;
  },
  viewer: Viewer,
): Part {
  return {
    ...{ kind: "table", name, nothing: undefined, ...table },
    json: { [key]: rows.map((row) => recordJson(columns, row, viewer)) },
    columns: columns as readonly Column<never>[],
    rows: rows as readonly never[],
  };
}
