import { lstat } from "node:fs/promises";
import type { Clock } from "../../core/clock.ts";
import type { ArchivedFile, ArchiveLook, DroppedFiles } from "../../core/dropped-files.ts";
import { asFailure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { within } from "../../core/within.ts";
import { errnoOf } from "./file-ops.ts";
import type { DropFolderDeps } from "./settings.ts";

/** Minutes matter here, not seconds. */
const ASK_EVERY_MS = 15_000;
/** The end of a connector waits for a look no longer than this, ms. */
const END_WITHIN_MS = 2_000;

/**
 * Looks at archived files once more when that is due: a writer that was not done appends after their archiving. Intake does not wait
 * for it, nor does it fail with it.
 */
export class ArchiveLooks {
  readonly #connector: string;
  readonly #dropped: DroppedFiles;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #nextAtMs = 0;
  #underWay: Promise<void> | undefined;

  constructor(connector: string, deps: Pick<DropFolderDeps, "dropped" | "clock" | "logger">) {
    this.#connector = connector;
    this.#dropped = deps.dropped;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Begins what is due, at most every 15 s and once at a time. What couldn't be looked at stays due. */
  begin(signal: AbortSignal): void {
    if (this.#underWay !== undefined || this.#clock.monotonic() < this.#nextAtMs) return;
    this.#underWay = this.#look(signal)
      .catch((error: unknown) => {
        this.#nextAtMs = this.#clock.monotonic() + ASK_EVERY_MS;
        if (!signal.aborted)
          this.#logger.warn(
            { err: asFailure(error) },
            "archived files could not be looked at; it is tried again",
          );
      })
      .finally(() => {
        this.#underWay = undefined;
      });
  }

  /** Waits for a look that is under way, though not for an archive that hangs. */
  async end(): Promise<void> {
    if (this.#underWay) await within(this.#underWay, END_WITHIN_MS, this.#clock);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const due = await this.#dropped.listDue(this.#connector);
    const found: { readonly file: ArchivedFile; readonly look: ArchiveLook }[] = [];
    for (const file of due) {
      if (signal.aborted) return;
      const look = await lookAt(file);
      if (look !== undefined) found.push({ file, look });
    }
    if (found.length > 0) await this.#dropped.record(found);
    // After a list of those that are due there may be more.
    const isAllLookedAt = due.length > 0 && found.length === due.length;
    this.#nextAtMs = this.#clock.monotonic() + (isAllLookedAt ? 0 : ASK_EVERY_MS);
  }
}

/** Undefined when the file system doesn't say now. */
async function lookAt({ path, sizeBytes, modifiedNs }: ArchivedFile): Promise<ArchiveLook | undefined> {
  try {
    const { size, mtimeNs } = await lstat(path, { bigint: true });
    return Number(size) === sizeBytes && String(mtimeNs) === modifiedNs
      ? "same"
      : { sizeBytes: Number(size) };
  } catch (error) {
    // Whoever cleans the archive may take files away at any time.
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return "gone";
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}
