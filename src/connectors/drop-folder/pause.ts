import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { formatMinute } from "../../core/utc-minute.ts";
import { errnoOf } from "./file-ops.ts";

const PAUSE_MS = { first: 500, longest: 30_000 };
/** What a file system says when no file can be written or read now, whichever it is. */
const FOLDER_TROUBLE = new Set([
  "ENOSPC",
  "EDQUOT",
  "EROFS",
  "EIO",
  "EMFILE",
  "ENFILE",
  "ESTALE",
  "ENOTCONN",
]);

/** Whether an error concerns every file and not only the one it was met with. */
export function isCommonTrouble(error: unknown): boolean {
  const isTransient =
    error instanceof Failure && error.class === "transient" && error.code !== "FILE_CHANGED";
  return isTransient || FOLDER_TROUBLE.has(errnoOf(error) ?? "");
}

/** Intake at rest while the ledger or a folder is out of reach. Nothing is moved or removed meanwhile. */
export class Pause {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #failures = 0;
  #untilMs = 0;
  #words: string | undefined;
  #since: Date | undefined;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Why intake rests, for an operator. */
  get words(): string | undefined {
    return this.#words;
  }

  /** How long it still lasts, ms; 0 when it is over. */
  get leftMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.monotonic());
  }

  /** Begins or prolongs it: twice as long each time, or as long as the other side asked. */
  begin(error: unknown): void {
    this.#failures += 1;
    const askedMs = error instanceof Failure ? (error.retryAfterMs ?? 0) : 0;
    this.#untilMs = this.#clock.monotonic() + Math.max(askedMs, backoffMs(PAUSE_MS, this.#failures));
    this.#since ??= new Date(this.#clock.now());
    this.#words = `intake is waiting since ${formatMinute(this.#since)}: ${wordsOf(error)}`;
    if (this.#failures === 1) this.#logger.error({ err: error }, "intake is waiting");
  }

  /** Something worked again. */
  end(): void {
    if (this.#failures > 0) this.#logger.info("intake goes on");
    this.#failures = 0;
    this.#untilMs = 0;
    this.#words = undefined;
    this.#since = undefined;
  }
}

/** Doubling from the first wait to the longest; attempts count from 1. */
export function backoffMs(range: { first: number; longest: number }, attempts: number): number {
  return Math.min(range.longest, range.first * 2 ** Math.min(attempts - 1, 20));
}

/** An error for an operator. Foreign messages are left out: they may quote what they choke on. */
export function wordsOf(error: unknown): string {
  if (error instanceof Failure) return `${error.message} [${error.code}]`;
  return errnoOf(error) ?? (error instanceof Error ? error.name : "unknown error");
}
