import { lstat } from "node:fs/promises";
import type { ArchivedFile, ArchiveLook, ArchiveWatch } from "../../core/archive-watch.ts";
import type { Clock } from "../../core/clock.ts";
import { errnoOf } from "./file-ops.ts";

/** Minutes matter here, not seconds. */
const ASK_EVERY_MS = 15_000;

/** Looks at archived files once more when that is due: a writer that was not done appends behind their archiving. */
export class ArchiveLooks {
  readonly #connector: string;
  readonly #watch: ArchiveWatch;
  readonly #clock: Clock;
  #nextAtMs = 0;

  constructor(connector: string, watch: ArchiveWatch, clock: Clock) {
    this.#connector = connector;
    this.#watch = watch;
    this.#clock = clock;
  }

  /** Does what is due, at most every 15 s. Throws what the ledger says; what couldn't be looked at stays due. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#clock.monotonic() < this.#nextAtMs) return;
    const due = await this.#watch.listDue(this.#connector);
    let isAnyLeft = false;
    for (const file of due) {
      if (signal.aborted) return;
      const look = await lookAt(file);
      if (look === undefined) isAnyLeft = true;
      else await this.#watch.record(file, look);
    }
    // Behind a list of those that are due there may be more.
    this.#nextAtMs = this.#clock.monotonic() + (due.length === 0 || isAnyLeft ? ASK_EVERY_MS : 0);
  }
}

/** Undefined when the file system doesn't say now. */
async function lookAt({ path, sizeBytes, modifiedNs }: ArchivedFile): Promise<ArchiveLook | undefined> {
  try {
    const { size, mtimeNs } = await lstat(path, { bigint: true });
    return Number(size) === sizeBytes && mtimeNs === modifiedNs ? "same" : { sizeBytes: Number(size) };
  } catch (error) {
    // Whoever cleans the archive may take files away at any time.
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return "gone";
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}
