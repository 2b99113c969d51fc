import type { IdKind } from "../ledger/ids.ts";
import type { Column } from "./column.ts";
import { connectorNames, type Place } from "./place.ts";
import type { Thing } from "./thing.ts";

// A list that people look through is declared once: the command line and the console are two renderers of it.

/** Where a list is read, and for whom. */
export interface ListPlace extends Place {
  readonly nowMs: number;
  /** As the reader's {@link Viewer.mayAskPhi}. */
  readonly mayAskPhi?: boolean | undefined;
}

/** How people ask for a filter. */
export interface Asked {
  /** What it leaves in the list, for `--help`. */
  readonly help: string;
  /** What stands behind the option, such as `name`. */
  readonly value: string;
  /** What the console's form calls it; one without is not offered there. */
  readonly label?: string;
  /** What that form calls it where nothing is asked for; `any` unless given. */
  readonly unset?: string;
}

export interface Choice<Word extends string> extends Asked {
  readonly kind: "choice" | "choices";
  readonly words: readonly Word[];
  /** A word as people read it. */
  inWords?(word: Word): string;
}

export interface Known extends Asked {
  readonly kind: "known";
  readonly choices: (place: ListPlace) => Promise<readonly string[]> | readonly string[];
}

export interface Text extends Asked {
  readonly kind: "code" | "search";
}

export interface Since extends Asked {
  readonly kind: "since";
}

/**
 * What narrows a list. Its name is the option of the command line and the parameter of the console's address, but for a search,
 * which is always `find` there.
 */
export type Filter = Choice<string> | Known | Text | Since;
export type Filters = Readonly<Record<string, Filter>>;

/** One word of several. */
export const choice = <Word extends string>(
  words: readonly Word[],
  asked: Asked & Pick<Choice<NoInfer<Word>>, "inWords">,
) => ({
  ...asked,
  kind: "choice" as const,
  words,
});

/** Some words of several, with commas between them. */
export const choices = <Word extends string>(
  words: readonly Word[],
  asked: Asked & Pick<Choice<NoInfer<Word>>, "inWords">,
) => ({
  ...asked,
  kind: "choices" as const,
  words,
});

/** One of what is known by name here. */
export const known = (choices: Known["choices"], asked: Asked): Known => ({
  ...asked,
  kind: "known",
  choices,
});

/** A code; the console's form has it only where a link brought it. */
export const code = (asked: Asked): Text => ({ ...asked, kind: "code" });

/** What somebody types. It may name a patient, so no address of the console has it. */
export const search = (asked: Asked): Text => ({ ...asked, kind: "search" });

/** What came through one connector; `what` is, such as `files that came`. */
export const byConnector = (what: string): Known =>
  known(({ config }) => connectorNames(config), {
    ...{ value: "name", label: "Connector" },
    help: `only ${what} through this connector`,
  });

/** What is younger than a time; `what` is, such as `files that came in `. */
export const since = (what = ""): Since => ({
  ...{ kind: "since", value: "time", label: "Within" },
  help: `only ${what}since: 2h, 3d, or 2026-11-21T08:00`,
});

type ValueOf<F extends Filter> = F extends Since
  ? Date
  : F extends { readonly kind: "choices"; readonly words: readonly (infer Word)[] }
    ? readonly Word[]
    : F extends { readonly kind: "choice"; readonly words: readonly (infer Word)[] }
      ? Word
      : string;

/** What a list is narrowed to. */
export type FilterValues<F extends Filters> = { readonly [Name in keyof F]?: ValueOf<F[Name]> | undefined };

/** Which part of a list is read. */
export interface ListPart {
  readonly limit: number;
  /** The number of the record that the part comes after in the list; undefined for its beginning. */
  readonly after?: number | undefined;
}

/** How many entries of a list that has no pages are read at most: more there never are. */
export const WHOLE = 1_000;

/** A list that people look through, page by page. */
export interface List<Row, F extends Filters> {
  /** The key of the list in JSON. */
  readonly key: string;
  /** What the command does, for `--help`. */
  readonly help: string;
  readonly filters: F;
  readonly columns: readonly Column<Row>[];
  /** What people read where the list is empty from its beginning. */
  readonly nothing: (values: FilterValues<F>) => string;
  readonly read: (place: ListPlace, values: FilterValues<F>, part: ListPart) => Promise<readonly Row[]>;
  /** What is said above it on its page. */
  readonly note?: string;
  /** Whether a person may read on its page what a refresh would hide. */
  readonly isStill?: boolean;
  /** The kind of its records, where what is done to them is done in the list: they have no page of their own. */
  readonly thing?: Thing<Row>;
  /** Which records are written down as looked at where patients' data are shown. */
  readonly seen?: (row: Row) => string | undefined;
  /** By what the next page is asked for; absent for what is never that many. */
  readonly page?: {
    /** What its records' ids begin with; absent for plain numbers. */
    readonly kind?: IdKind;
    /** Of a list whose oldest entries stand first it is what comes `after`. */
    readonly flag?: "before" | "after";
    /** A record's id, as people see it. */
    readonly of: (row: Row) => string;
  };
}

/** What people read in place of a part of a list that has no entries. */
export function nothingOf<Row, F extends Filters>(
  list: List<Row, F>,
  values: FilterValues<F>,
  { after }: Pick<ListPart, "after">,
): string {
  return after === undefined ? list.nothing(values) : "No more.";
}

/** Whether a list is narrowed by nothing but these filters. */
export function isNarrowedOnlyBy(values: FilterValues<Filters>, ...names: readonly string[]): boolean {
  return Object.entries(values).every(([name, value]) => (value !== undefined) === names.includes(name));
}

/** Declares a list, with its filters' own types. */
export function list<Row, F extends Filters>(declared: List<Row, F>): List<Row, F> {
  return declared;
}
