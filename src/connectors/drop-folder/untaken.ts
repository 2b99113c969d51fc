import { lstat } from "node:fs/promises";
import type { Clock } from "../../core/clock.ts";
import type { UntakenFiles, UntakenReason } from "../../core/untaken-files.ts";
import { errnoOf } from "./file-ops.ts";
import type { FolderScan } from "./scan.ts";

const LONGEST_PAUSE_MS = 30_000;
const SHORTEST_PAUSE_MS = 250;

/** Finds what has lain in a drop folder for longer than `afterMs` without being taken. */
export class Untaken {
  readonly #scan: FolderScan;
  readonly #clock: Clock;
  readonly #afterMs: number;
  readonly #marker: string | undefined;
  #nextAtMs = 0;
  #found: readonly UntakenFiles[] = [];

  constructor(scan: FolderScan, clock: Clock, settings: { afterMs: number; marker?: string | undefined }) {
    this.#scan = scan;
    this.#clock = clock;
    this.#afterMs = settings.afterMs;
    this.#marker = settings.marker;
  }

  /** What the last look found. */
  get found(): readonly UntakenFiles[] {
    return this.#found;
  }

  /** Looks through what the last scan passed over, every 30 s at most. */
  async look(): Promise<void> {
    const nowMs = this.#clock.monotonic();
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = nowMs + Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, this.#afterMs / 4));
    const wallMs = this.#clock.now();
    const found: UntakenFiles[] = [];
    const note = (reason: UntakenReason, count: number, since: Date) => {
      if (count > 0) found.push({ reason, count, since, marker: this.#marker });
    };
    for (const [reason, paths] of this.#scan.passedOver) {
      const times: number[] = [];
      for (const path of paths) {
        const since = await restingSince(path, reason);
        if (since !== undefined && wallMs - since >= this.#afterMs) times.push(since);
      }
      note(reason, times.length, new Date(times.reduce((oldest, time) => Math.min(oldest, time), wallMs)));
    }
    const changing = this.#scan.listChanging(nowMs, this.#afterMs);
    note("changing", changing.count, new Date(wallMs - changing.longestMs));
    this.#found = found;
  }
}

/** When it was last written or renamed, ms since 1970; undefined for what is gone, or is no file that somebody could mean. */
async function restingSince(path: Buffer, reason: UntakenReason): Promise<number | undefined> {
  try {
    const stat = await lstat(path);
    // Hidden folders are the file system's own: snapshots, waste bins.
    if (reason === "name" && !stat.isFile()) return undefined;
    return Math.max(stat.mtimeMs, stat.ctimeMs);
  } catch (error) {
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}
