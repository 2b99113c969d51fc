import { lstat } from "node:fs/promises";
import { basename } from "node:path";
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
    const times = new Map<UntakenReason, number[]>();
    for (const [passedFor, paths] of this.#scan.passedOver) {
      for (const path of paths) {
        const { since, reason = passedFor } = (await lookAt(path)) ?? {};
        if (since === undefined || wallMs - since < this.#afterMs) continue;
        times.set(reason, [...(times.get(reason) ?? []), since]);
      }
    }
    for (const [reason, all] of times) note(reason, all.length, new Date(Math.min(...all)));
    const changing = this.#scan.listChanging(nowMs, this.#afterMs);
    note("changing", changing.count, new Date(wallMs - changing.longestMs));
    this.#found = found;
  }
}

interface Untouched {
  /** When it was last written or renamed, ms since 1970. */
  readonly since: number;
  /** Given where the name isn't the reason. */
  readonly reason?: UntakenReason | undefined;
}

/** Undefined for what is gone, and for hidden folders, which are the file system's own: snapshots, waste bins. */
async function lookAt(path: Buffer): Promise<Untouched | undefined> {
  try {
    const stat = await lstat(path);
    const since = Math.max(stat.mtimeMs, stat.ctimeMs);
    if (!stat.isDirectory()) return { since };
    return basename(path.toString("latin1")).startsWith(".") ? undefined : { since, reason: "folder" };
  } catch (error) {
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}
