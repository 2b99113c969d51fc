import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import { writeEpochFile } from "./epoch-file.ts";
import { raiseEpoch } from "./restore.ts";

/** How far the ledger has come, kept in it and in a file that no restore of it puts back. */
export interface Epoch {
  /**
   * To be awaited after a call was written down in the ledger and before it leaves. When it resolves, a higher number is in
   * the ledger and in the file: any copy of the ledger that was made before lacks it, and is known by that.
   *
   * @throws Failure LEDGER_EPOCH_UNUSABLE, LEDGER_WENT_BACK, LEDGER_UNAVAILABLE
   */
  advance(): Promise<void>;
  /** The ledger was found to be an older copy so often: the file is to tell it too, with the next advance. */
  noteRestores(restores: number): void;
}

export interface EpochDeps {
  readonly pool: pg.Pool;
  readonly file: string;
  /** As they are in the ledger now. */
  readonly now: {
    readonly ledger: string;
    readonly epoch: number;
    readonly restores: number;
    readonly since: Date;
  };
  /** The ledger was put back under this process. */
  readonly onWentBack: (failure: Failure) => void;
}

/** Begins to count. Calls that ask while the number is being raised share the next one. */
export function startEpoch({ pool, file, now, onWentBack }: EpochDeps): Epoch {
  let epoch = now.epoch;
  let restores = now.restores;
  let isCertain = true;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const raise = async () => {
    const before = { epoch, isCertain };
    isCertain = false;
    const raised = await raiseEpoch(pool);
    // A number whose commit was not answered may have been used up.
    const isOurs = raised === before.epoch + 1 || (!before.isCertain && raised > before.epoch);
    if (!isOurs) {
      const failure = new Failure(
        "LEDGER_WENT_BACK",
        `the ledger was at ${before.epoch}, and is at ${raised - 1} now`,
      );
      onWentBack(failure);
      throw failure;
    }
    epoch = raised;
    isCertain = true;
    await writeEpochFile(file, { ...now, epoch, restores });
  };

  return {
    noteRestores: (count) => {
      restores = count;
    },
    advance: () => {
      next ??= (running ?? Promise.resolve())
        .catch(() => undefined)
        .then(() => {
          running = next;
          next = undefined;
          return raise();
        });
      return next;
    },
  };
}
