import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { asFailure, type FailureCode } from "../core/failures.ts";
import { IdFilter } from "../core/id-filter.ts";
import type { Logger } from "../core/logger.ts";
import { hasControlId, hasWaiting, readControlIds } from "../ledger/control-ids.ts";

const RETRY_MS = 1_000;

/** No sender's control ids are so long (MSH-10 has 199 characters at most), nor does the ledger's index hold much longer ones. */
const LONGEST_ID = 500;

/** What knowing a connector's control ids takes. */
export interface KnownControlIdsDeps {
  readonly pool: pg.Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly connector: string;
}

/** Bounds, for tests that have few ids. */
export interface KnownControlIdsLimits {
  /** More ids than that are not kept: then each of them may have come. */
  readonly most?: number;
  /** Ids that are read at once. */
  readonly page?: number;
}

/**
 * What can be known without asking the ledger of messages that came through one connector: whether a control id
 * (MSH-10) may have come before, and whether a message may wait for a code table. Both are "maybe" until the ledger was
 * read, where {@link areNew} looks it up; and "surely not" is right for as long as this process alone takes messages
 * through the connector and {@link add} and {@link noteWaiting} are called for all of them. 4 bytes to 16 are kept of an
 * id.
 */
export class KnownControlIds {
  readonly #deps: KnownControlIdsDeps;
  readonly #page: number | undefined;
  readonly #ids: IdFilter;
  /** Those that the ledger may not have yet. */
  #underWay = new IdFilter();
  #isLoaded = false;
  #mayWait = true;
  /** How often something was noted, so that a look that began before knows that it is too old. */
  #noted = 0;

  constructor(deps: KnownControlIdsDeps, { most, page }: KnownControlIdsLimits = {}) {
    this.#deps = deps;
    this.#page = page;
    this.#ids = new IdFilter(most);
  }

  /** Whether the ledger was read to its end. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Whether a message of the connector may wait for a code table, or behind one that does. */
  get mayWait(): boolean {
    return !this.#isLoaded || this.#mayWait;
  }

  /**
   * Reads the ledger; as long as that fails, again each second. Messages may come meanwhile. Resolves when it is read, or
   * when the signal has ended it after the page in hand, and never rejects.
   */
  async load(signal: AbortSignal): Promise<void> {
    const { clock, logger, connector } = this.#deps;
    let logged: FailureCode | undefined;
    while (!signal.aborted && !this.#isLoaded) {
      try {
        await this.#read(signal);
      } catch (error) {
        if (signal.aborted) return;
        const failure = asFailure(error);
        const level = failure.class === "transient" ? "warn" : "error";
        const words = "control ids can't be read; until they are, each message is looked up in the ledger";
        if (failure.code !== logged) logger[level]({ err: failure, connector }, words);
        logged = failure.code;
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
  }

  /**
   * Takes note of control ids that came; to be called before anything is asked about the next message, also while the
   * ledger is being read.
   */
  add(ids: Iterable<string>): void {
    for (const id of ids) this.#underWay.add(id);
    this.#keep(ids);
  }

  /** To be called when the ledger has all messages whose ids were added. */
  noteInLedger(): void {
    if (this.#underWay.size > 0 || this.#underWay.isFull) this.#underWay = new IdFilter();
  }

  /**
   * Whether nothing is to be decided about messages with these control ids: none came before, and no message waits. Asks
   * the ledger where that can't be known without. False where some may still be on their way into the ledger.
   *
   * @throws Failure LEDGER_UNAVAILABLE
   */
  async areNew(ids: readonly string[]): Promise<boolean> {
    await this.look();
    if (this.#mayWait) return false;
    const unsure = ids.filter((id) => this.mayHave(id));
    if (unsure.length === 0) return true;
    if (unsure.some((id) => isOdd(id) || this.#underWay.mayHave(id))) return false;
    const { pool, connector } = this.#deps;
    return !(await hasControlId(pool, connector, unsure));
  }

  #keep(ids: Iterable<string>): void {
    const wasFull = this.#ids.isFull;
    for (const id of ids) {
      if (!isOdd(id)) this.#ids.add(id.toWellFormed());
    }
    if (wasFull || !this.#ids.isFull) return;
    const { logger, connector } = this.#deps;
    logger.warn(
      { connector },
      "too many control ids to know them all; from now on each message is looked up in the ledger",
    );
  }

  /** Whether the id may have come before. What the ledger can't hold as it is, may always. */
  mayHave(id: string): boolean {
    return !this.#isLoaded || isOdd(id) || this.#ids.mayHave(id.toWellFormed());
  }

  /** Takes note of a message that waits. Before its commit is over, nobody may {@link look}. */
  noteWaiting(): void {
    this.#mayWait = true;
    this.#noted += 1;
  }

  /**
   * Asks the ledger whether a message still waits, where one may.
   *
   * @throws Failure LEDGER_UNAVAILABLE
   */
  async look(): Promise<void> {
    if (!this.#mayWait) return;
    const { pool, connector } = this.#deps;
    const noted = this.#noted;
    const waits = await hasWaiting(pool, connector);
    if (noted === this.#noted) this.#mayWait = waits;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { pool, connector } = this.#deps;
    for await (const ids of readControlIds(pool, connector, this.#page)) {
      signal.throwIfAborted();
      this.#keep(ids);
      if (this.#ids.isFull) break;
    }
    await this.look();
    this.#isLoaded = true;
  }
}

/**
 * Whether the ledger keeps no such id, or would have to be asked at length. (Half a character is kept as U+FFFD, which
 * is what `toWellFormed` makes of it.)
 */
const isOdd = (id: string) => id.length > LONGEST_ID || id.includes("\0");
