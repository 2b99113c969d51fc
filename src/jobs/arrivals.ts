import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { asFailure } from "../core/failures.ts";
import type { MessageVerdict } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import type { Arrival } from "../ledger/arrival-rows.ts";
import { findLastArrival, type TakeUpOptions, takeUpArrivals } from "../ledger/arrivals.ts";
import { formatId } from "../ledger/ids.ts";
import type { Journal, JournalState } from "../ledger/journal/journal.ts";
import type { ArrivedMessage, MessageRecord } from "../ledger/message-record.ts";
import { listStoredMessages, type StoredMessage } from "../ledger/views.ts";
import { logVerdicts } from "./intake.ts";

/** What taking up the arrivals of one connector takes. */
export interface ArrivalsDeps {
  readonly pool: pg.Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly connector: string;
  /** Maps a message that arrived before this process did. */
  readonly mapAgain: (stored: StoredMessage) => MessageRecord;
  /** Called after each commit, with its verdicts. */
  readonly onCommitted: (connector: string, verdicts: readonly MessageVerdict[]) => void;
}

/** While messages come thick and fast they go first: orders are made once none was committed for so long, ms. */
const QUIET_MS = 25;
/** But a message waits no longer than this for its orders, ms: from then on those that come wait for it. */
const LONGEST_MS = 2_000;
/** Few enough for a short commit, and to be read at once. */
const BATCH = { messages: 250, bytes: 16 * 1024 * 1024 };
/** Mapped messages that are kept in memory; what is beyond is read from the ledger and mapped anew. */
const KEPT = { messages: 2 * BATCH.messages, bytes: BATCH.bytes };
const RETRY_MS = 1_000;
/** A ledger or a disk that doesn't answer keeps the daemon from ending no longer, ms; nothing is lost by it. */
const CLOSE_WITHIN_MS = 1_000;
/** How often to look for what another process has left, ms. */
const LOOK_EVERY_MS = 60_000;

/**
 * Makes the orders of messages that arrived and were answered, in the order in which they came; also of those that a
 * process left that was killed in between. Where messages go through a journal, it has them taken into the ledger first.
 */
export class Arrivals {
  readonly #deps: ArrivalsDeps;
  readonly #kept = new Map<number, MessageRecord>();
  #keptBytes = 0;
  /** Commits whose orders aren't made yet, oldest first. */
  #groups: { readonly at: number; readonly lastId: number }[] = [];
  /** Commits under way. */
  #commits = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  /** Another process, or an earlier run, may have left some. */
  #mayBeMore = true;
  #journal: Journal | undefined;
  #isRunning = false;
  #running: Promise<void> = Promise.resolve();
  #inHand: Promise<unknown> = Promise.resolve();
  readonly #stopping = new AbortController();

  constructor(deps: ArrivalsDeps) {
    this.#deps = deps;
  }

  /**
   * Takes up what is left from before, now and from time to time.
   *
   * @param journal in front of the ledger, with what an earlier run left there, which goes into the ledger at once; it
   * is closed by {@link stop}
   * @throws Failure LEDGER_UNAVAILABLE
   */
  async start(journal?: Journal): Promise<void> {
    this.#journal = journal;
    await this.emptyJournal();
    const watch = async () => {
      for (;;) {
        this.#mayBeMore = true;
        this.#wake();
        // Not waited for: a disk that doesn't answer must not keep anything else from being done.
        void this.#journal?.wipeLeft();
        await this.#deps.clock.sleep(LOOK_EVERY_MS, this.#stopping.signal);
      }
    };
    watch().catch(() => undefined);
  }

  /**
   * To be called before more messages are committed. When the oldest has waited for too long, some orders are made
   * first, so that no storm of messages gets far ahead of its orders.
   *
   * @throws Failure LEDGER_UNAVAILABLE
   */
  async makeRoom(): Promise<void> {
    if (this.#isLate(this.#journal?.oldestAt)) await this.#flush();
    if (this.#isLate(this.#groups[0]?.at)) await this.#takeUp();
  }

  /**
   * Puts messages into the journal; when it resolves with true they are on disk.
   *
   * @param arrivals in ascending order of their ids
   * @returns false when there is no journal, or no room in it: nothing was done
   */
  async putDown(arrivals: readonly Arrival[]): Promise<boolean> {
    if (!this.#journal) return false;
    const { clock } = this.#deps;
    this.#commits += 1;
    try {
      const times = { at: clock.monotonic(), receivedAt: clock.now() };
      return await this.#journal.append(arrivals, times);
    } finally {
      this.#commits -= 1;
      this.#lastAt = clock.monotonic();
      this.#wake();
    }
  }

  /** How the journal stands; undefined where there is none. */
  get journalState(): JournalState | undefined {
    return this.#journal?.stateAt(this.#deps.clock.monotonic());
  }

  /** Whether the journal holds messages that the ledger doesn't have yet. */
  get isJournalFilled(): boolean {
    return this.#journal?.oldestAt !== undefined;
  }

  /**
   * Resolves when the ledger has all that stands in the journal.
   *
   * @throws Failure LEDGER_UNAVAILABLE
   */
  async emptyJournal(): Promise<void> {
    while (this.isJournalFilled) await this.#flush();
  }

  /**
   * Takes note of messages that are being committed together.
   *
   * @param commit resolves with them, in the order of their ids, or with nothing when none of them arrived
   */
  async add(commit: Promise<readonly Arrival[]>): Promise<void> {
    this.#commits += 1;
    try {
      this.#note(await commit);
    } catch (error) {
      // It may have been committed all the same.
      this.#mayBeMore = true;
      this.#wake();
      throw error;
    } finally {
      this.#commits -= 1;
      this.#lastAt = this.#deps.clock.monotonic();
    }
  }

  #note(arrived: readonly Arrival[]): void {
    const last = arrived.at(-1);
    if (!last) return;
    for (const { messageId, record } of arrived) {
      if (this.#kept.size >= KEPT.messages || this.#keptBytes >= KEPT.bytes) break;
      this.#kept.set(messageId, record);
      this.#keptBytes += sizeOf(record);
    }
    this.#groups.push({ at: this.#deps.clock.monotonic(), lastId: last.messageId });
    this.#wake();
  }

  /**
   * Resolves when the orders of all messages that have arrived are made: what comes next may be about them.
   *
   * @throws Failure LEDGER_UNAVAILABLE
   */
  async settle(): Promise<void> {
    await this.emptyJournal();
    // Asked of the ledger, since another process may have left some, or a commit whose outcome stayed unknown.
    const last = await findLastArrival(this.#deps.pool, this.#deps.connector);
    for (let through: number | undefined = 0; through !== undefined && through < last; ) {
      through = await this.#takeUp();
    }
  }

  /** Makes the orders that are due, for as long as it may take; the rest is left to the next start. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    const { clock, logger, connector } = this.#deps;
    let isOver = false;
    const finish = async () => {
      await this.#running;
      while (this.#isDue && !isOver) await this.#step();
    };
    const waiting = new AbortController();
    const left = "acknowledged messages are left for the next start to make their orders";
    try {
      await Promise.race([finish(), clock.sleep(withinMs, waiting.signal)]);
      if (this.#isDue) logger.warn({ connector }, left);
    } catch (error) {
      logger.warn({ err: asFailure(error), connector }, left);
    } finally {
      isOver = true;
      waiting.abort();
      await this.#closeJournal();
    }
  }

  async #closeJournal(): Promise<void> {
    const { clock, logger, connector } = this.#deps;
    const closed = this.#journal?.close().catch((error: unknown) => {
      logger.warn({ err: asFailure(error), connector }, "the journal's files can't be closed");
    });
    const waiting = new AbortController();
    await Promise.race([closed, clock.sleep(CLOSE_WITHIN_MS, waiting.signal).catch(() => undefined)]);
    waiting.abort();
  }

  /** @param at since when a message waits, monotonic ms; undefined when none does */
  #isLate(at: number | undefined): boolean {
    return at !== undefined && this.#deps.clock.monotonic() - at >= LONGEST_MS;
  }

  get #isDue(): boolean {
    return this.#mayBeMore || this.#groups.length > 0 || this.isJournalFilled;
  }

  #wake(): void {
    if (this.#isRunning || this.#stopping.signal.aborted) return;
    this.#isRunning = true;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    const { clock, logger, connector } = this.#deps;
    const { signal } = this.#stopping;
    while (this.#isDue && !signal.aborted) {
      try {
        await this.#untilTurn();
        await this.#step();
      } catch (error) {
        if (signal.aborted) break;
        logger.warn({ err: asFailure(error), connector }, "arrived messages can't be taken up; trying again");
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
    this.#isRunning = false;
  }

  async #untilTurn(): Promise<void> {
    const { clock } = this.#deps;
    for (;;) {
      const isQuiet = this.#commits === 0 && clock.monotonic() - this.#lastAt >= QUIET_MS;
      if (isQuiet || this.#isLate(this.#journal?.oldestAt) || this.#isLate(this.#groups[0]?.at)) return;
      await clock.sleep(QUIET_MS, this.#stopping.signal);
    }
  }

  /** The journal goes first, so that it has room, unless it is orders that have waited for too long. */
  async #step(): Promise<void> {
    const areOrdersLate = this.#isLate(this.#groups[0]?.at) && !this.#isLate(this.#journal?.oldestAt);
    if (this.isJournalFilled && !areOrdersLate) await this.#flush();
    else await this.#takeUp();
  }

  async #flush(): Promise<void> {
    const flushed = await this.#journal?.flush();
    if (flushed) this.#groups.push(flushed);
    // It turned out that a commit of which nobody knew had come about.
    else this.#mayBeMore = true;
  }

  /** One batch, one after the other whoever asks; gives the newest arrival of it, undefined when nothing was due. */
  #takeUp(): Promise<number | undefined> {
    const taken = this.#inHand.then(() => this.#takeUpBatch());
    this.#inHand = taken.catch(() => undefined);
    return taken;
  }

  async #takeUpBatch(): Promise<number | undefined> {
    const { pool, logger, connector, onCommitted } = this.#deps;
    // What is committed from now on may not be found yet.
    const known = this.#groups.at(-1)?.lastId ?? 0;
    const options: TakeUpOptions = {
      most: BATCH,
      recordsOf: (client, arrived) => this.#recordsOf(client, arrived),
      isEachAlone: false,
    };
    const taken = await takeUpArrivals(pool, connector, options).catch((error: unknown) => {
      const failure = asFailure(error);
      if (failure.class === "transient") throw failure;
      logger.error({ err: failure, connector }, "messages are taken up one by one: one of them failed");
      return takeUpArrivals(pool, connector, { ...options, isEachAlone: true });
    });
    const done = new Set(taken.messageIds);
    if (taken.through === undefined) this.#mayBeMore = false;
    this.#forget(taken.through === undefined ? (id) => id <= known : (id) => done.has(id));
    if (taken.received.length > 0) {
      logVerdicts(logger, connector, taken.received);
      onCommitted(connector, taken.received);
    }
    return taken.through;
  }

  #forget(isDone: (messageId: number) => boolean): void {
    this.#groups = this.#groups.filter(({ lastId }) => !isDone(lastId));
    for (const [id, record] of [...this.#kept]) {
      if (!isDone(id)) continue;
      this.#kept.delete(id);
      this.#keptBytes -= sizeOf(record);
    }
  }

  async #recordsOf(client: pg.PoolClient, arrived: readonly ArrivedMessage[]): Promise<MessageRecord[]> {
    const others = arrived.flatMap(({ messageId }) => (this.#kept.has(messageId) ? [] : [messageId]));
    const stored = others.length === 0 ? [] : await listStoredMessages(client, others);
    const again = new Map(stored.map((message) => [message.messageId, message]));
    return arrived.map(({ messageId }) => {
      const kept = this.#kept.get(messageId);
      if (kept) return kept;
      const message = again.get(formatId("m", messageId));
      if (!message) throw new RangeError(`message ${messageId} is not in the ledger`);
      return this.#deps.mapAgain(message);
    });
  }
}

const sizeOf = ({ message }: MessageRecord) => message.raw.reveal().length;
