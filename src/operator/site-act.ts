import type { FailureCode } from "../core/failures.ts";
import type { Act } from "../ledger/operator/audit.ts";
import type { Viewer } from "./column.ts";
import type { ActPlace, ActWords } from "./thing.ts";

// What a person does to something that is no record: a queue, a daemon, or the whole site. Declared once, as acts on records are.

/** The whole site, of which there is one. */
export type TheSite = Readonly<Record<string, never>>;

/** Where something is done to a site, and for whom. */
export interface SitePlace extends ActPlace {
  readonly viewer: Viewer;
}

/** A line of what became of it: a remark has no sign. */
export type OutcomeLine = readonly [sign: "done" | "partly" | "failed" | "remark", text: string];

/** What became of an act. */
export interface Outcome {
  readonly isDone: boolean;
  /** Which failure the exit status of the command is for, where it was not done for a reason of its own. */
  readonly code?: FailureCode | undefined;
  readonly lines: readonly OutcomeLine[];
  /** What programs are given. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** Something that a person does to a queue, a daemon, or the site: `On` is what that person chose. */
export interface SiteAct<On extends object = TheSite> extends ActWords<On> {
  /** @throws Failure CLI_USAGE, CLI_NOT_FOUND, CLI_NOT_APPLICABLE */
  readonly act: (place: SitePlace, by: Act, on: On) => Promise<Outcome>;
}
