import type pg from "pg";
import { Failure } from "../core/failures.ts";
import type { IdKind } from "../ledger/ids.ts";
import type { Act } from "../ledger/operator/audit.ts";
import type { LedgerOrder } from "../ledger/orders/row.ts";
import type { Acted, Acts, Run } from "./acts.ts";
import type { Viewer } from "./column.ts";
import type { Details } from "./parts.ts";
import type { Place } from "./place.ts";

// What people see of one record and can do to it is declared once: the command line and the console are two renderers of it.

/** Where something is done to records. */
export interface ActPlace extends Place {
  readonly acts: Acts;
}

/** What a person says besides the reason, in one input of the console's form. */
interface Input<Row> {
  readonly name: string;
  readonly label: (row: Row) => string;
  /** What is offered, by value and name; a whole number is typed without. */
  readonly choices?: readonly (readonly [value: string, name: string])[];
  /** What the act is given; undefined for what can't be meant. */
  readonly parse: (text: string) => unknown;
  /** What became of the record where it was left out, in words that follow its name. */
  readonly missing: string;
}

/** What people are told of an act before they do it: by the help of its command, and by its form in the console. */
export interface ActWords<Row> {
  /** The command, such as `orders retry`. */
  readonly command: string;
  /** What the command does, for `--help`. */
  readonly help?: string;
  /** A command line that shows its use. */
  readonly example?: string;
  /** `required`: nothing is done without; `usual`: the console asks for it, and a command may leave it out. */
  readonly reason: "required" | "usual" | "optional" | "none";
  /** What the command's `--reason` is for, where that is not the audit alone. */
  readonly reasonHelp?: string;
  /** What is pressed in the console; and what stands on the opened form where that might be misread there. */
  readonly button: string | ((row: Row) => string);
  readonly opened?: string;
  /** What it does, before somebody does it. */
  readonly explains?: string | ((row: Row) => string);
  readonly isDangerous?: boolean;
}

/** Something that a person does to a record. */
export interface DeclaredAct<Row, Given = undefined> extends ActWords<Row> {
  /** The option with which the command is this act and not the plain one. */
  readonly flag?: { readonly name: string; readonly help: string };
  /** Asked before it is done to several: `Retry 2 orders (…)?`; with what it is called in the help of `--yes`. */
  readonly asks?: readonly [verb: string, doing: string];
  readonly button: string;
  readonly input?: Input<Row>;
  /** How the console does it to many records of its list; absent where it doesn't. */
  readonly many?: Many<Row>;
  readonly ofOrder?: OfOrder<Row>;
  /** Whether a record, as it stands, has a use for it. */
  readonly suits: (row: Row, acts: Acts) => boolean;
  readonly start: (place: ActPlace, by: Act, given: Given) => Promise<Run<Row>> | Run<Row>;
}

/** An act on all records that belong to an order: an option of its command, and a form on the page of the order. */
export interface OfOrder<Row> {
  readonly option: string;
  readonly help: string;
  readonly button: string;
  readonly explains: string;
  readonly list: (pool: pg.Pool, order: LedgerOrder) => Promise<readonly Row[]>;
  /** What is said where there are none. */
  readonly nothing: (order: LedgerOrder) => string;
}

/** Those records. @throws Failure CLI_NOT_APPLICABLE where there are none */
export async function getOfOrder<Row>(
  { list, nothing }: OfOrder<Row>,
  pool: pg.Pool,
  order: LedgerOrder,
): Promise<readonly Row[]> {
  const found = await list(pool, order);
  if (found.length > 0) return found;
  throw new Failure("CLI_NOT_APPLICABLE", nothing(order));
}

interface Many<Row> {
  readonly verb: string;
  readonly explains: string | ((rows: readonly Row[]) => string);
  /** What became of them, in words that follow their number. */
  readonly done: string;
  /** Which records are left out, in words that follow them. */
  readonly leftOut?: string;
}

/**
 * A kind of record: what is known of one, and what can be done to it. `Found` is one that was looked up by itself, which may
 * have more than a list shows.
 */
export interface Thing<Row, Found extends Row = Row> {
  readonly kind: IdKind;
  readonly noun: string;
  /** The console's list of them, below which each has its page where there are details. */
  readonly path: `/${string}`;
  readonly find: (pool: pg.Pool, id: number) => Promise<Found | undefined>;
  /** Several, in the order of receipt; absent where nothing is done to many. */
  readonly findAll?: (pool: pg.Pool, ids: readonly number[]) => Promise<readonly Row[]>;
  readonly numberOf: (row: Row) => number;
  /** What it is called in sentences; its id unless given. */
  readonly nameOf?: (row: Row) => string;
  /** How it stands, in a word or two. */
  readonly stateOf?: (row: Row) => string;
  /** More of it, for who is to confirm what is done to it. */
  readonly describe?: (row: Row) => string;
  readonly details?: {
    readonly help: string;
    readonly read: (place: Place, row: Found, viewer: Viewer, part?: DetailsPart) => Promise<Details>;
    /** What is written down where its patients' data are shown; absent where it has none. */
    readonly seen?: (place: Place, row: Found) => Promise<readonly string[]> | readonly string[];
  };
  /** By the last word of their paths in the console. */
  readonly acts: Readonly<Record<string, DeclaredAct<Row, never>>>;
}

/** Which part of a long list within the details is read. */
export interface DetailsPart {
  readonly limit: number;
  readonly after: number;
}

/** That the ledger has no record of this name. @param more what follows from that */
export function notFound(
  { noun, path }: Pick<Thing<never>, "noun" | "path">,
  word: string,
  more = "",
): Failure {
  const besides =
    noun === "order"
      ? "; `cryobridge messages waiting` and `cryobridge files list` show what may not be an order yet"
      : "";
  const [, family, list = "list"] = path.split("/");
  const hint = `\`cryobridge ${family} ${list}\` shows what there is${besides}.`;
  return new Failure("CLI_NOT_FOUND", { message: `no ${noun} ${word}${more}`, hint });
}

/** What became of one of many records where it can't be done to that one, which stops no other. @throws every other error */
export function refusalOf(error: unknown): Acted {
  if (error instanceof Failure && error.code === "CLI_NOT_APPLICABLE")
    return [false, `is left as it is: ${error.message}`];
  throw error;
}

/** An act that knows of no other record. */
export function onEach<Row, Given = undefined>(
  act: (place: ActPlace, row: Row, by: Act, given: Given) => Promise<Acted>,
): DeclaredAct<Row, Given>["start"] {
  return (place, by, given) => ({ each: (row) => act(place, row, by, given) });
}
