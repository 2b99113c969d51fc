import type { Fate, MayMove } from "./intake.ts";

/** A dropped file that this worker has in hand. */
export interface InHand {
  /** The claim's id: what its name in the work folder begins with, and what finds it in logs. */
  readonly id: string;
  /** The name that it was dropped under, made harmless. */
  readonly name: string;
  /** Absent until it is decided. */
  readonly fate?: Fate | undefined;
}

/** What a worker knows of a connector's claimed files. */
export interface Known {
  /** Those that lie in the work folder, but that it does not have in hand. */
  readonly lying: readonly InHand[];
  /** The ids of those that it has in hand. */
  readonly inHand: readonly string[];
}

/** What a worker goes on with. */
export interface TakenOver {
  /** Of all of these. */
  readonly mayMove: MayMove;
  /** By age: what workers that are gone had, and those that lie in the work folder that nobody knows, as after a ledger was put back. */
  readonly files: readonly InHand[];
  /**
   * Whether a worker that died or was cut off a moment ago, but does not count as gone yet, has some of those that lie: what was
   * dropped later must not overtake them.
   */
  readonly isAwaiting: boolean;
  /** The connector that has claimed one of those that lie, where it is not this one: its name was changed since. */
  readonly otherConnector: string | undefined;
}

/** A file is not in this worker's hands any more, or was decided about before: nothing may be done with it by what is known of it. */
export class NotInHand extends Error {
  override readonly name = "NotInHand";
}

/** A dropped file that was archived, as it was when it was read. */
export interface ArchivedFile {
  /** The claim's id. */
  readonly id: string;
  /** Where it lies now. */
  readonly path: string;
  readonly sizeBytes: number;
  /** The time of its last write, ns since 1970. */
  readonly modifiedNs: string;
}

/** What a later check of an archived file found: as it was, not there any more, or written to since. */
export type ArchiveLook = "same" | "gone" | { readonly sizeBytes: number };

/**
 * The ledger's rows of dropped files. A row is there before the file is claimed; it says whose the file is, what was decided, and,
 * of an archived file, when it is checked again: what a writer appends behind its archiving was not taken. A worker that is gone
 * loses its files to the others, and each call that goes on with a file does so only while it is still this worker's.
 * Each throws a transient Failure while the ledger is out of reach.
 */
export interface DroppedFiles {
  /** The ledger's own code. What it claims lies in a folder of this name, so that no other ledger's daemon goes on with it. */
  readonly ledger: string;
  /** Notes, before they are moved, the files that are about to be claimed. Throws LEDGER_UNAVAILABLE where this worker counts as gone. */
  claim(connector: string, files: readonly InHand[]): Promise<MayMove>;
  /** Forgets files that could not be claimed after all, or are gone. */
  forget(ids: readonly string[]): Promise<void>;
  /** Gives this worker what nobody has in hand any more, and all else of the connector's that it has without knowing. */
  takeOver(connector: string, known: Known): Promise<TakenOver>;
  /** Notes that all was done that was decided. Archived files are checked again, a minute and an hour from now. */
  finish(
    files: readonly { readonly id: string; readonly archived?: ArchivedFile | undefined }[],
  ): Promise<void>;
  /** The archived files of a connector that are to be checked now, the longest due first. */
  listDue(connector: string): Promise<ArchivedFile[]>;
  /** Keeps what checks found: a changed file becomes a task for a person, and is not checked again. */
  record(found: readonly { readonly file: ArchivedFile; readonly look: ArchiveLook }[]): Promise<void>;
}
