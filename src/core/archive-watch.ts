/** A dropped file that was archived, as it was when it was read. */
export interface ArchivedFile {
  /** The ledger's id of the file. */
  readonly fileId: string;
  /** Where it lies now. */
  readonly path: string;
  readonly sizeBytes: number;
  /** The time of its last write, ns since 1970. */
  readonly modifiedNs: bigint;
}

/** What a later look at an archived file found: as it was, not there any more, or written to since. */
export type ArchiveLook = "same" | "gone" | { readonly sizeBytes: number };

/**
 * Remembers archived files beyond a restart, until they have been looked at once more a minute and an hour after they were
 * archived: what a writer appends behind that was never taken. Each call throws a transient Failure while the ledger is out
 * of reach.
 */
export interface ArchiveWatch {
  /** Remembers a file; a repeat changes nothing. */
  note(file: ArchivedFile): Promise<void>;
  /** The files of a connector that are to be looked at now, the longest due first. */
  listDue(connector: string): Promise<ArchivedFile[]>;
  /** Keeps what a look found: a changed file becomes a task for a person, and is not looked at again. */
  record(file: ArchivedFile, look: ArchiveLook): Promise<void>;
}
