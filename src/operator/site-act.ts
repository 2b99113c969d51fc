import type { FailureCode } from "../core/failures.ts";
import type { Act } from "../ledger/operator/audit.ts";
import type { Viewer } from "./column.ts";
import type { Place } from "./place.ts";
import type { ActPlace, ActWords } from "./thing.ts";

// What a person does to something that is no record: a queue, a daemon, or the whole site. Declared once, as acts on records are.

/** The whole site, of which there is one. */
export type TheSite = Readonly<Record<string, never>>;

/** Where something is done to a site, and for whom. */
export interface SitePlace extends ActPlace {
  readonly viewer: Viewer;
  /** Called after each record, where it is done to many. */
  readonly onEach: () => void;
}

/** A line of what became of it: a remark has no sign. */
export type OutcomeLine = readonly [sign: "done" | "partly" | "failed" | "remark", text: string];

/** What became of an act. */
export interface Outcome {
  readonly isDone: boolean;
  /** Which failure the exit status of the command is for, where it was not done for a reason of its own. */
  readonly code?: FailureCode | undefined;
  readonly lines: readonly OutcomeLine[];
  /** What became of each record of many: the command line prints all before the lines, the console what is news behind them. */
  readonly each?: readonly { readonly isNews: boolean; readonly lines: readonly string[] }[];
  /** What programs are given. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** What an act would be done to. */
interface Meant {
  /** Such as `Release 2 messages through lims`. */
  readonly title: string;
  readonly explains: string;
  /** How many at most; 0 where there is nothing to do, which `explains` says. */
  readonly total: number;
}

/** Something that a person does to a queue, a daemon, or the site: `On` is what that person chose. */
export interface SiteAct<On extends object = TheSite> extends ActWords<On> {
  /** Where its form leads in the console, below the page that has it. */
  readonly path: `/${string}`;
  /** What the word of its command means, where the button names that; undefined for what is none. */
  readonly on?: (word: string) => On | undefined;
  /** Whether it can be done without the ledger, which then lacks an entry in its audit. */
  readonly canLackLedger?: boolean;
  /** What a person should know before it is done, as things stand: the command asks, the console's form says it. Nothing where nothing is lost. */
  readonly warnings?: (place: Pick<SitePlace, "pool">) => Promise<readonly string[]>;
  /** What an act on many records would be done to: the console says so before it, and shows how far it is. */
  readonly many?: (place: Place, on: On) => Promise<Meant>;
  /** Whether the command asks, too, by the title of that. */
  readonly isAsked?: boolean;
  /** @throws Failure CLI_USAGE, CLI_NOT_FOUND, CLI_NOT_APPLICABLE */
  readonly act: (place: SitePlace, by: Act, on: On) => Promise<Outcome>;
}
