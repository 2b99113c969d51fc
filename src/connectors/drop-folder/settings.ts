import type { FolderConnectorConfig } from "../../config/config.ts";
import type { Clock } from "../../core/clock.ts";
import type { DroppedFiles } from "../../core/dropped-files.ts";
import type { Problem } from "../../core/failures.ts";
import type { BatchOutline, FileDialect, IncomingMessage, Intake } from "../../core/intake.ts";
import type { Logger } from "../../core/logger.ts";
import type { CheckLine } from "../connector.ts";
import type { FileOps } from "./file-ops.ts";

/** The five folders of a drop connector, absolute. All but `out` must lie on one file system. */
export interface DropDirectories {
  /** Where the lab drops files. */
  readonly in: string;
  /** Where results appear. */
  readonly out: string;
  /** Files that were taken, by day. */
  readonly archive: string;
  /** Files that were refused, and the reports about them. */
  readonly error: string;
  /** Files between being claimed and being archived; ours alone. */
  readonly work: string;
}

/** The settings of every drop connector. */
export interface DropFolderSettings
  extends Pick<
    FolderConnectorConfig,
    "name" | "files" | "stableForMs" | "marker" | "folderMode" | "alertAfterMs" | "scanIntervalMs"
  > {
  readonly directories: DropDirectories;
}

/** What a drop connector is given. */
export interface DropFolderDeps {
  readonly intake: Intake;
  readonly dropped: DroppedFiles;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Replaces single file system calls, for systems that behave differently. */
  readonly fileOps?: Partial<FileOps> | undefined;
}

/** What one look through a file found. */
export interface FileContent {
  /** Why nothing of the file can be taken; empty when it can. */
  readonly problems: readonly Problem[];
  /** How a CSV file is written; undefined for HL7, and where it could not be found out. */
  readonly dialect?: FileDialect | undefined;
  /**
   * Whether the same bytes may mean something new, as a request to hold an order does that was released in between. Its
   * orders are distinguished from repeats by their numbers; without it the same bytes are taken once.
   */
  readonly isRepeatable?: boolean | undefined;
  /** How its messages stand in batches; absent where they don't. */
  readonly batch?: BatchOutline | undefined;
  /** Its messages in order, in batches small enough for one commit each. */
  batches(): Generator<readonly IncomingMessage[], undefined>;
}

/** One commit each: enough messages to share its cost, few enough to keep it short. */
const BATCH_MESSAGES = 500;
const BATCH_BYTES = 4 * 1024 * 1024;

/** The messages of a file in batches, each made when it is asked for. */
export function* inBatches(
  messages: Iterable<IncomingMessage>,
): Generator<readonly IncomingMessage[], undefined> {
  let batch: IncomingMessage[] = [];
  let bytes = 0;
  for (const message of messages) {
    const size = message.raw.reveal().length;
    if (batch.length > 0 && (batch.length === BATCH_MESSAGES || bytes + size > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(message);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
  return undefined;
}

/** What an HL7 drop folder does otherwise than a CSV one. */
export interface FileFormat {
  readonly type: string;
  readonly maxBytes: number;
  /** Whether one mistake refuses the whole file. */
  readonly isWholeFile: boolean;
  /** CSV: how a file is written as far as the settings say, for one that can't be read. */
  readonly dialect?: FileDialect | undefined;
  /** What is written behind a result that is whole: `.ok`, or `{stem}.ok` in the place of its ending. */
  readonly resultMarker?: string | undefined;
  /** Reads the content of a file. Never throws for what is wrong with it: that stands in the result. */
  examine(bytes: Buffer): Promise<FileContent>;
  /** Lines of `cryobridge check` about the format's own settings. */
  check(): readonly CheckLine[];
}
