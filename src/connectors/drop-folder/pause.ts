import type { Backoff } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import { formatMinute } from "../../core/duration.ts";
import { Failure, type FailureCode } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { Outage } from "../../core/outage.ts";
import { errnoOf } from "./file-ops.ts";

const PAUSES: Backoff = { firstMs: 500, maxMs: 30_000 };
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
  readonly #outage: Outage<{ readonly words: string; readonly code: FailureCode | undefined }>;
  readonly #logger: Logger;

  constructor(clock: Clock, logger: Logger) {
    this.#outage = new Outage(clock, PAUSES, Math.random);
    this.#logger = logger;
  }

  /** Why intake rests, for an operator. */
  get words(): string | undefined {
    const { away } = this.#outage;
    return away && `intake is waiting since ${formatMinute(away.since)}: ${away.cause.words}`;
  }

  /** The code of that, where it has one. */
  get code(): FailureCode | undefined {
    return this.#outage.away?.cause.code;
  }

  /** How long it still lasts, ms; 0 when it is over. */
  get leftMs(): number {
    return this.#outage.leftMs;
  }

  /** Begins or prolongs it: twice as long each time, or as long as the other side asked. */
  begin(error: unknown): void {
    if (this.#outage.away === undefined) this.#logger.error({ err: error }, "intake is waiting");
    const { code, retryAfterMs } = error instanceof Failure ? error : {};
    this.#outage.failed({ words: wordsOf(error), code }, retryAfterMs);
  }

  /** Something worked again. */
  end(): void {
    if (this.#outage.over()) this.#logger.info("intake goes on");
  }
}

/** An error for an operator. Foreign messages are left out: they may quote what they choke on. */
export function wordsOf(error: unknown): string {
  if (error instanceof Failure) return `${error.message} [${error.code}]`;
  return errnoOf(error) ?? (error instanceof Error ? error.name : "unknown error");
}
