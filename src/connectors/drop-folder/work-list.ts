import { lstat } from "node:fs/promises";
import { type Backoff, longestBackoffMs } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import { type DroppedFiles, NotInHand } from "../../core/dropped-files.ts";
import { Failure } from "../../core/failures.ts";
import type { Settled } from "../../core/intake.ts";
import type { Logger } from "../../core/logger.ts";
import type { CarryOut } from "./carry-out.ts";
import type { Claim } from "./claim.ts";
import { type DecideDeps, decideFile } from "./decide-file.ts";
import { errnoOf, exists, fingerprint } from "./file-ops.ts";
import { isCommonTrouble, type Pause, wordsOf } from "./pause.ts";
import type { FileFormat } from "./settings.ts";

/** While that many claimed files wait for a retry, no more are claimed: the fault is hardly theirs. */
const MOST_WAITING = 10;
/** Decided one after the other, then carried out together, so that they share the syncs. */
const CARRIED_OUT_TOGETHER = 32;
/** A report may be long; those in memory together may not. */
const PROBLEMS_TOGETHER = 2_000;
/** Of a file that can't be taken. */
const RETRY: Backoff = { firstMs: 1_000, maxMs: 300_000 };

/** A claimed file and what is known of it in memory; all that must survive stands in its row. */
interface Item {
  readonly claim: Claim;
  /** Undefined until it is decided. */
  settled: Settled | undefined;
  /** The fingerprint with which it is known to rest; undefined until it does. */
  expected: string | undefined;
  resting: { fingerprint: string; sinceMs: number } | undefined;
  attempts: number;
  /** Monotonic. */
  nextAtMs: number;
  trouble: string | undefined;
}

/** Tries of a file that may not be read, with pauses of 1, 2, 4 … s between them: a minute. */
const MOST_TRIES = 6;

interface WorkListDeps extends Omit<DecideDeps, "format" | "isLastTry"> {
  /** How a file is read, by the settings of the moment at which it is begun with. */
  readonly format: () => FileFormat;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dropped: DroppedFiles;
  readonly carryOut: CarryOut;
  readonly pause: Pause;
  readonly stableForMs: number;
  /** Throws where a folder is not the one that it was: then that a file is not there says nothing. */
  readonly assertFolders: () => Promise<void>;
}

/** The claimed files: worked on in the order in which they were claimed, each until it lies where it belongs. */
export class WorkList {
  readonly #deps: WorkListDeps;
  readonly #items = new Map<string, Item>();

  constructor(deps: WorkListDeps) {
    this.#deps = deps;
  }

  /** What is wrong with a file that can't be taken, for an operator. */
  get trouble(): string | undefined {
    for (const item of this.#items.values()) if (item.trouble) return item.trouble;
    return undefined;
  }

  /** Whether what was claimed has to be done first. Files that had their try may be overtaken, unless there are many. */
  get isBusy(): boolean {
    const items = [...this.#items.values()];
    return items.some((item) => item.attempts === 0) || this.isHeldUp;
  }

  /** Whether enough files wait for a retry that claiming more would only add to them. */
  get isHeldUp(): boolean {
    let waiting = 0;
    for (const item of this.#items.values()) if (item.trouble) waiting += 1;
    return waiting >= MOST_WAITING;
  }

  /** How long until the next file is due, ms, at most `longestMs`. */
  untilNext(longestMs: number): number {
    const nowMs = this.#deps.clock.monotonic();
    let soonestMs = longestMs;
    for (const item of this.#items.values()) soonestMs = Math.min(soonestMs, item.nextAtMs - nowMs);
    return Math.max(0, soonestMs);
  }

  /** The ids of the claims that are in hand. */
  get ids(): readonly string[] {
    return [...this.#items.keys()];
  }

  /** Whether a claim is in hand, by its id. */
  has(claimId: string): boolean {
    return this.#items.has(claimId);
  }

  /**
   * Takes a claim on. What the ledger says of one that is in hand takes the place of what it said before: this worker has it under
   * another number now.
   *
   * @param expected the fingerprint with which it was found to be whole, if it was
   */
  add(claim: Claim, { expected, settled }: Partial<Pick<Item, "expected" | "settled">>): void {
    const item = this.#items.get(claim.id);
    if (item) {
      item.settled = settled;
      return;
    }
    const start = { resting: undefined, attempts: 0, nextAtMs: 0, trouble: undefined };
    this.#items.set(claim.id, { claim, expected, settled, ...start });
  }

  /** Works on everything that is due. Throws nothing: what fails is tried again, alone or after a pause. */
  async run(): Promise<void> {
    const { clock, pause, signal } = this.#deps;
    // Looked at once: a file that comes to rest while the loop runs must not overtake those before it.
    const nowMs = clock.monotonic();
    let settled: Item[] = [];
    // A file is taken by one configuration from its first byte to its closing.
    let release = await this.#hold();
    try {
      for (const item of [...this.#items.values()]) {
        if (signal.aborted || pause.leftMs > 0) break;
        if (item.nextAtMs > nowMs) continue;
        if (settled.length === 0) {
          release();
          release = await this.#hold();
        }
        try {
          if (item.settled || (await this.#settle(item))) settled.push(item);
        } catch (error) {
          await this.#afterError(item, error);
        }
        if (settled.length < CARRIED_OUT_TOGETHER && problemsOf(settled) <= PROBLEMS_TOGETHER) continue;
        await this.#carryOut(settled);
        settled = [];
      }
      await this.#carryOut(settled);
    } finally {
      release();
    }
  }

  async #hold(): Promise<() => void> {
    return (await this.#deps.intake.hold?.()) ?? (() => {});
  }

  /** One try at deciding about a file. False while it has yet to come to rest. */
  async #settle(item: Item): Promise<boolean> {
    const { intake, carryOut, logger } = this.#deps;
    const { claim } = item;
    if (!(await this.#isResting(item))) return false;
    const isLastTry = item.attempts >= MOST_TRIES;
    const { fileId, fate, close } = await decideFile(claim, item.expected ?? "", {
      ...this.#deps,
      format: this.#deps.format(),
      isLastTry,
    });
    const undecided = { ...fate, day: localDay(claim.receivedAt) };
    const names = await carryOut.namesFor(claim, undecided);
    const kept = { fate: undecided, names };
    item.settled = await intake.settleFile({ claimId: claim.id, fileId, kept, close });
    const { report, folder } = fate;
    const words = { claim: claim.id, folder, result: report?.result ?? "taken" };
    logger.info({ ...words, counts: report?.counts }, "file read");
    return true;
  }

  async #carryOut(items: readonly Item[]): Promise<void> {
    const { carryOut, pause } = this.#deps;
    if (items.length === 0) return;
    try {
      await Promise.all(
        items.map(async (item) => {
          const { claim, settled } = item;
          if (!settled) return;
          try {
            await carryOut.carryOut(claim, settled);
          } catch (error) {
            await this.#afterError(item, error);
          }
        }),
      );
      const done = await carryOut.flush();
      for (const id of done) this.#items.delete(id);
      if (done.length === items.length) pause.end();
    } catch (error) {
      pause.begin(error);
    }
  }

  /** Another worker may have it, or it was decided and the answer to that was lost: what is this worker's is found again by its row. */
  #lost({ id }: Claim): void {
    this.#deps.logger.warn(
      { workId: id },
      "a file is not this worker's for certain any more, or was decided before; its row says which",
    );
    this.#items.delete(id);
  }

  /** A file that was found in the work folder, or changed there, has to rest there: its writer may still hold it. */
  async #isResting(item: Item): Promise<boolean> {
    if (item.expected !== undefined) return true;
    const nowMs = this.#deps.clock.monotonic();
    const seen = fingerprint(await lstat(item.claim.path, { bigint: true }));
    if (item.resting?.fingerprint !== seen) {
      // One that keeps changing must not hold up those that came after it.
      if (item.resting) item.attempts += 1;
      item.resting = { fingerprint: seen, sinceMs: nowMs };
    }
    item.nextAtMs = item.resting.sinceMs + this.#deps.stableForMs;
    if (nowMs < item.nextAtMs) return false;
    item.expected = seen;
    return true;
  }

  /** Whether a file was gone, and is forgotten. */
  async #forgetIfGone({ id, path }: Claim): Promise<boolean> {
    await this.#deps.assertFolders();
    if (await exists(path)) return false;
    this.#deps.logger.warn(
      { workId: id },
      "a file is not in the work folder: its claim was cut off, or a person took it",
    );
    await this.#deps.dropped.forget([id]);
    this.#items.delete(id);
    return true;
  }

  async #afterError(item: Item, error: unknown): Promise<void> {
    const { clock, logger, pause, signal } = this.#deps;
    const claim = item.claim.id;
    if (signal.aborted) return;
    item.attempts += 1;
    if (error instanceof NotInHand) return this.#lost(item.claim);
    try {
      const mayBeGone = item.settled === undefined && errnoOf(error) === "ENOENT";
      if (mayBeGone && (await this.#forgetIfGone(item.claim))) return;
    } catch (reason) {
      return pause.begin(reason);
    }
    if (error instanceof Failure && error.code === "FILE_CHANGED") {
      logger.info(
        { workId: claim, code: error.code },
        "a file is still being written; waiting for it to rest",
      );
      item.expected = undefined;
      item.resting = undefined;
      item.nextAtMs = clock.monotonic();
    } else if (isCommonTrouble(error)) {
      pause.begin(error);
    } else {
      item.nextAtMs = clock.monotonic() + longestBackoffMs(item.attempts, RETRY);
      item.trouble = `file ${claim} in ${item.claim.folder} can't be taken (${wordsOf(error)}); trying again`;
      logger.error(
        { workId: claim, attempts: item.attempts, err: error },
        "a file can't be taken; trying again",
      );
    }
  }
}

/** The day by the machine's own time zone, as the lab's people count days. */
function localDay(time: Date): string {
  const two = (part: number) => String(part).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

function problemsOf(items: readonly Item[]): number {
  return items.reduce((sum, { settled }) => sum + (settled?.fate.report?.problems.length ?? 0), 0);
}
