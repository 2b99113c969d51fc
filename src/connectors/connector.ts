import type { Condition } from "../core/condition.ts";
import { Failure, type FailureCode } from "../core/failures.ts";
import type { UntakenFiles } from "../core/untaken-files.ts";

/** A file or message that is to reach the lab. Its name and bytes are fixed before the first attempt. */
export interface OutgoingFile {
  /** A plain file name without any folder. */
  readonly fileName: string;
  readonly bytes: Buffer;
  /** Asked right before it leaves: false once another daemon sends what this one had. */
  readonly mayLeave?: (() => boolean) | undefined;
}

/** @throws Failure LEDGER_CONTENDED when another daemon sends it now */
export function requireMayLeave({ mayLeave }: Pick<OutgoingFile, "mayLeave">): void {
  if (mayLeave?.() === false)
    throw new Failure("LEDGER_CONTENDED", "another worker sends this connector's results now");
}

/** One line of `cryobridge check`: what makes a condition, where something is wrong. */
export interface CheckLine extends Partial<Pick<Condition, "hint" | "stopsIntake">> {
  /** What was looked at, for people. */
  readonly subject: string;
  /** `act`: it doesn't work; `look`: it works, but is unwise; absent where all is well. */
  readonly level?: "act" | "look";
  /** What was found. */
  readonly detail: string;
}

/** The lab's side: takes messages in through the Intake it was given, and carries results out. */
export interface Connector {
  readonly name: string;
  readonly type: string;
  /** Recovers what an earlier run left half done, then begins to take input. */
  start(): Promise<void>;
  /** Stops taking input and finishes what is in hand. */
  stop(): Promise<void>;
  /** Looks at folders or ports without changing anything; with `isOffline` at nothing beyond this machine. */
  check(isOffline?: boolean): Promise<CheckLine[]>;
  /**
   * Looks at the folder that results go to, so that one that takes its place later is noticed; absent where there is none.
   * @throws Failure FILE_SYSTEM_ERROR while it can't be reached
   */
  readonly openResults?: (() => Promise<void>) | undefined;
  /**
   * Carries one result to the lab. Resolves when the lab has it durably; delivering the same file again has no
   * further effect. Throws a transient Failure when it should be tried later.
   */
  deliver(file: OutgoingFile): Promise<void>;
  /** Closes what is kept open for the next result, since another daemon may send that; absent where nothing is. */
  readonly hangUp?: (() => Promise<void>) | undefined;
  /** Why intake is not working right now, or undefined when it is. */
  readonly trouble: string | undefined;
  /** What somebody should know though intake works; undefined or absent when there is nothing. */
  readonly warning?: string | undefined;
  /** The code of what `trouble` says, or of what `warning` says where there is no trouble; undefined where that has none. */
  readonly failureCode?: FailureCode | undefined;
  /** What lies in its folder and is not taken; absent where there is no folder. */
  readonly untaken?: readonly UntakenFiles[] | undefined;
}
