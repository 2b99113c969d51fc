import type { EpochRecord } from "./epoch-file.ts";

/** What of a ledger tells whether it is an older copy of itself. */
export interface LedgerEpoch {
  readonly ledger: string;
  readonly epoch: number;
}

/** How it was noticed that the ledger went back. */
export interface WentBack {
  /** For people. */
  readonly text: string;
  /** Since when facts may be missing, where that is earlier than what the ledger knows last. */
  readonly forgottenSince?: Date | undefined;
}

/**
 * Compares a ledger with the file beside it. Before a call leaves, the number is raised in the ledger first and in the file
 * then: a ledger with a lower number than the file's lacks what was committed since. One with a higher number has merely
 * outlived its file, by a crash between the two.
 *
 * @param file undefined where there is none: a ledger that made calls had one
 */
export function decideWentBack(ledger: LedgerEpoch, file: EpochRecord | undefined): WentBack | undefined {
  if (file === undefined) {
    if (ledger.epoch === 0) return undefined;
    return {
      text: "its epoch file is missing, as on a machine that the ledger was brought to: it may be an older copy",
    };
  }
  if (file.ledger !== ledger.ledger) {
    return {
      text: `its epoch file is that of another ledger (${file.ledger}), which was here before it`,
      forgottenSince: file.since,
    };
  }
  if (file.epoch <= ledger.epoch) return undefined;
  return { text: `it is at ${ledger.epoch}, and its epoch file at ${file.epoch}` };
}
