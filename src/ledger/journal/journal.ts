import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { syncFolder } from "../../core/sync-folder.ts";
import { type Arrival, bytesOf, joinRows } from "../arrival-rows.ts";
import { findThrough, insertJournaled, markThrough, passMessageId, takeMessageIds } from "../arrivals.ts";
import { UNIQUE_VIOLATION } from "../database.ts";
import { isCode } from "../embedded/home.ts";
import { JournalFile, type JournalOwner } from "./journal-file.ts";
import { decodeRecord, encodeRecord } from "./record.ts";

export interface JournalOptions extends JournalOwner {
  /** Where journals are, `<dataDir>/postgres/journal`. */
  readonly folder: string;
  readonly pool: pg.Pool;
  readonly logger: Logger;
}

/** A record that is still to be taken into the ledger. */
interface Pending {
  readonly record: Buffer;
  readonly file: JournalFile;
  readonly firstId: number;
  readonly lastId: number;
  readonly messages: number;
  /** When it was written, monotonic ms. */
  readonly at: number;
}

/** How a connector's journal stands. */
export interface JournalState {
  readonly connector: string;
  /** Acknowledged messages that are nowhere else, as far as is known. */
  readonly messages: number;
  /** For how long the oldest of them has been there; 0 when there is none. */
  readonly oldestSeconds: number;
  /** False after a write that failed: until the next start nothing is put down in it. */
  readonly isUsable: boolean;
}

/** Messages that went from the journal into the ledger. */
export interface Flushed {
  readonly lastId: number;
  /** When the oldest of them was written, monotonic ms. */
  readonly at: number;
}

const FILES = ["a", "b"] as const;
/** Of records in one file, bytes; what is pending is in memory, too. */
const MOST_BYTES = 32 * 1024 * 1024;
/** Of one commit to the ledger; a record that has more goes alone. */
const BATCH = { messages: 250, bytes: 8 * 1024 * 1024 };

/**
 * Messages of one connector on their way into the ledger of this machine: each is on disk, in a file beside the ledger,
 * before it is answered, and the ledger has it soon after. Two files take turns: one is written while what stands in the
 * other goes into the ledger. What is in the ledger is wiped from the file.
 *
 * How far the ledger has taken it stands in the ledger itself, written in the commit that takes it: whatever a crash
 * leaves in the files is taken once.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #files: readonly [JournalFile, JournalFile];
  #current: JournalFile;
  #pending: Pending[] = [];
  /** The highest id that the files or the ledger know of. */
  #lastId = 0;
  /** A commit whose outcome nobody knows: the ledger is asked how far it got. */
  #isUnsure = false;
  #isWriting = false;
  /** The disk failed; nothing is written any more. */
  #isBroken = false;
  /** The last message of a record that may or may not be on the disk and must not be taken from there. */
  #disowned: number | undefined;
  #wiping: Promise<void> | undefined;
  #wipingLeft: Promise<void> | undefined;
  #inHand: Promise<unknown> = Promise.resolve();

  private constructor(options: JournalOptions, files: readonly [JournalFile, JournalFile]) {
    this.#options = options;
    this.#files = files;
    this.#current = files[0];
  }

  /**
   * Opens a connector's journal with what an earlier process left in it, to be flushed. No other process may have it
   * open.
   *
   * @throws Failure JOURNAL_FOREIGN, JOURNAL_DAMAGED, JOURNAL_UNUSABLE, LEDGER_UNAVAILABLE
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const { folder, connector } = options;
    const files: JournalFile[] = [];
    try {
      await makeFolder(folder);
      for (const name of FILES)
        files.push(await JournalFile.open(join(folder, `${connector}.${name}`), options));
      const journal = new Journal(options, files as [JournalFile, JournalFile]);
      await journal.#readLeft();
      return journal;
    } catch (error) {
      for (const file of files) await file.close();
      throw asJournalFailure(error);
    }
  }

  /** When the oldest message was written that is still to be flushed, monotonic ms; undefined when nothing is. */
  get oldestAt(): number | undefined {
    return this.#pending[0]?.at ?? (this.#disowned === undefined ? undefined : Number.NEGATIVE_INFINITY);
  }

  /** Messages that are not in the ledger yet. */
  get count(): number {
    return this.#pending.reduce((sum, { messages }) => sum + messages, 0);
  }

  /** How it stands at a moment, monotonic ms. What an earlier run left in it counts as just written. */
  stateAt(now: number): JournalState {
    const since = this.#pending.find(({ at }) => Number.isFinite(at))?.at ?? now;
    const { connector } = this.#options;
    const oldestSeconds = Math.max(0, now - since) / 1_000;
    return { connector, messages: this.count, oldestSeconds, isUsable: !this.#isBroken };
  }

  /**
   * Puts messages into the journal. When it resolves with true, they are on disk, all of them or (after a crash in
   * between) none. One call at a time.
   *
   * @param arrivals in ascending order of their ids, which last (see `takeLastingMessageIds`) and are above all that were
   * appended before
   * @param times now, monotonic ms, and as ms since 1970
   * @returns false when there is no room, the ledger's numbers went back, or the disk fails: nothing was done, and the
   * journal may still hold others
   */
  async append(
    arrivals: readonly Arrival[],
    times: { readonly at: number; readonly receivedAt: number },
  ): Promise<boolean> {
    while (this.#wiping) await this.#wiping;
    if (this.#isBroken) {
      await this.empty();
      return false;
    }
    const [first, last] = [arrivals[0], arrivals.at(-1)];
    if (!first || !last) return true;
    // The ledger would be thought to have it already.
    if (first.messageId <= this.#lastId) return false;
    this.#isWriting = true;
    try {
      const file = this.#fileFor(arrivals);
      if (file === undefined) return false;
      const record = encodeRecord(file.mark, arrivals, times.receivedAt);
      this.#lastId = last.messageId;
      await file.append(record);
      const [firstId, lastId] = [first.messageId, last.messageId];
      this.#pending.push({ record, file, firstId, lastId, messages: arrivals.length, at: times.at });
      return true;
    } catch (error) {
      this.#break(error);
      this.#disowned = last.messageId;
      await this.empty();
      return false;
    } finally {
      this.#isWriting = false;
    }
  }

  /**
   * Commits the oldest messages to the ledger; undefined when there was none.
   *
   * @throws Failure LEDGER_UNAVAILABLE; nothing is lost by it.
   */
  flush(): Promise<Flushed | undefined> {
    const flushed = this.#inHand.then(() => this.#flushBatch());
    this.#inHand = flushed.catch(() => undefined);
    return flushed;
  }

  /** Commits all messages to the ledger. @throws Failure LEDGER_UNAVAILABLE */
  async empty(): Promise<void> {
    while ((await this.flush()) !== undefined);
  }

  /**
   * Of a journal that isn't used any more: tries again to wipe what is left in its files, which holds patients' data, once
   * the ledger has all of it. A try that fails is logged. To be called from time to time.
   */
  wipeLeft(): Promise<void> {
    this.#wipingLeft ??= this.#tryWipingLeft().finally(() => {
      this.#wipingLeft = undefined;
    });
    return this.#wipingLeft;
  }

  /** Leaves what isn't flushed to the next that opens it. */
  async close(): Promise<void> {
    await this.#inHand;
    await this.wipeLeft();
    for (const file of this.#files) await file.close();
  }

  async #readLeft(): Promise<void> {
    const { pool, connector, logger } = this.#options;
    const through = await findThrough(pool, connector);
    for (const file of this.#files) {
      let copy: string | undefined;
      for (const { record, isBehindDamage } of await file.read()) {
        const { messageIds } = decodeRecord(file.mark, record);
        const [firstId = 0, lastId = 0] = [messageIds[0], messageIds.at(-1)];
        if (lastId <= through) continue;
        if (isBehindDamage) {
          copy ??= await file.keepCopy();
          logger.error({ connector, copy }, "the journal is damaged: messages before others can't be read");
        }
        this.#pending.push({
          record,
          file,
          firstId,
          lastId,
          messages: messageIds.length,
          at: Number.NEGATIVE_INFINITY,
        });
      }
      if (file.hasBrokenEnd) {
        copy ??= await file.keepCopy();
        logger.error({ connector, copy }, "the journal ends with messages that can't be read");
      }
    }
    this.#pending.sort((one, other) => one.firstId - other.firstId);
    this.#lastId = Math.max(through, this.#pending.at(-1)?.lastId ?? 0);
    // A ledger that was restored would give them again.
    await passMessageId(pool, this.#lastId);
    if (this.count > 0)
      logger.warn(
        { connector, messages: this.count },
        "acknowledged messages of an earlier run are in the journal",
      );
    await this.#wipeDone();
  }

  /** Where there is room; a file is changed only when the ledger has all of the other. */
  #fileFor(arrivals: readonly Arrival[]): JournalFile | undefined {
    const bytes = bytesOf(arrivals);
    if (this.#current.length + bytes <= MOST_BYTES) return this.#current;
    const other = this.#files.find((file) => file !== this.#current);
    if (other === undefined || other.length > 0 || bytes > MOST_BYTES) return undefined;
    this.#current = other;
    return other;
  }

  async #flushBatch(): Promise<Flushed | undefined> {
    const { pool, connector } = this.#options;
    if (this.#isUnsure) await this.#forgetDone();
    const batch = this.#oldest();
    const [first, last] = [batch[0], batch.at(-1)];
    if (!first || !last) return this.#disown();
    let rows = joinRows(batch.map(({ record, file }) => decodeRecord(file.mark, record)));
    this.#isUnsure = true;
    try {
      await insertJournaled(pool, connector, rows, last.lastId);
    } catch (error) {
      if (!isCode(error, UNIQUE_VIOLATION)) throw error;
      // A commit that was given up, even by a process that was killed, has come about while this one waited for it.
      await this.#forgetDone();
      if (this.#pending[0] !== first) return this.#flushBatch();
      // The ledger, restored, has given the numbers to others.
      rows = { ...rows, messageIds: await takeMessageIds(pool, rows.messageIds.length) };
      this.#isUnsure = true;
      await insertJournaled(pool, connector, rows, last.lastId);
    }
    this.#isUnsure = false;
    this.#pending.splice(0, batch.length);
    await this.#wipeDone();
    return { lastId: rows.messageIds.at(-1) ?? last.lastId, at: first.at };
  }

  #oldest(): Pending[] {
    let [messages, bytes] = [0, 0];
    const tooMany = this.#pending.findIndex((each, n) => {
      messages += each.messages;
      bytes += each.record.length;
      return n > 0 && (messages > BATCH.messages || bytes > BATCH.bytes);
    });
    return this.#pending.slice(0, tooMany === -1 ? this.#pending.length : tooMany);
  }

  async #forgetDone(): Promise<void> {
    const through = await findThrough(this.#options.pool, this.#options.connector);
    this.#pending = this.#pending.filter(({ lastId }) => lastId > through);
    this.#isUnsure = false;
    await this.#wipeDone();
  }

  /** Wipes each file of which the ledger has all; the one in use only when nothing is on its way into it. */
  async #wipeDone(): Promise<void> {
    const done = this.#files.filter(
      (file) =>
        file.length > 0 &&
        !(file === this.#current && this.#isWriting) &&
        !this.#pending.some((pending) => pending.file === file),
    );
    if (done.length === 0 || this.#isBroken) return;
    const wiping = Promise.all(done.map((file) => file.wipe())).then(
      () => undefined,
      (error: unknown) => this.#break(error),
    );
    // The other isn't written to before it is empty.
    if (done.includes(this.#current)) this.#wiping = wiping;
    await wiping;
    this.#wiping = undefined;
  }

  /** Not before a failed record is disowned: whatever the disk comes to show later, it must not be taken from there. */
  async #tryWipingLeft(): Promise<void> {
    if (!this.#isBroken || this.#pending.length > 0 || this.#disowned !== undefined) return;
    const left = this.#files.filter((file) => file.length > 0);
    if (left.length === 0) return;
    const { logger, connector } = this.#options;
    try {
      for (const file of left) await file.wipe();
      logger.info({ connector }, "the journal that isn't used any more is wiped: the ledger has all of it");
    } catch (error) {
      const err = asJournalFailure(error);
      logger.warn({ err, connector }, "messages that the ledger has can't be wiped from the journal");
    }
  }

  #break(error: unknown): void {
    this.#isBroken = true;
    const { logger, connector } = this.#options;
    logger.error(
      { err: asJournalFailure(error), connector },
      "the journal isn't used any more until the next start",
    );
  }

  /**
   * Nobody knows what a failed write has left on the disk. Its messages come another way, so the ledger must not take
   * them from here, too. All before them must be in the ledger.
   */
  async #disown(): Promise<undefined> {
    if (this.#disowned === undefined) return;
    await markThrough(this.#options.pool, this.#options.connector, this.#disowned);
    this.#disowned = undefined;
  }
}

/** The connectors that have a journal in a folder. @throws Failure JOURNAL_UNUSABLE */
export async function listJournals(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    return [...new Set(names.filter((name) => /\.[ab]$/.test(name)).map((name) => name.slice(0, -2)))].sort();
  } catch (error) {
    if (isCode(error, "ENOENT")) return [];
    throw asJournalFailure(error);
  }
}

/** Deletes the files of a journal that nobody has open and of which the ledger has all. @throws Failure JOURNAL_UNUSABLE */
export async function removeJournal(folder: string, connector: string): Promise<void> {
  try {
    for (const name of FILES) await rm(join(folder, `${connector}.${name}`), { force: true });
  } catch (error) {
    throw asJournalFailure(error);
  }
}

/** A folder that is itself as lasting as what will be written into it. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await syncFolder(dirname(folder));
}

function asJournalFailure(error: unknown): unknown {
  if (!(error instanceof Error) || !("syscall" in error)) return error;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return new Failure("JOURNAL_UNUSABLE", { message: `${syscall}: ${code}`, cause: error });
}
