import type { Problem } from "../../core/failures.ts";
import type { BatchOutline, IncomingMessage } from "../../core/intake.ts";
import type { CheckLine } from "../connector.ts";

/** A claimed file, open and known to be an ordinary one. */
export interface ReadableFile {
  readonly sizeBytes: number;
  /** Its bytes from the beginning, in pieces; may be called again for another pass. */
  chunks(): AsyncIterable<Buffer>;
}

/** What one look through a file found. */
export interface FileContent {
  /** SHA-256 of its bytes, hex; undefined when the file was not read to its end, since what stands there can't be taken. */
  readonly sha256: string | undefined;
  /** Why nothing of the file can be taken; empty when it can. */
  readonly problems: readonly Problem[];
  /**
   * Whether the same bytes may mean something anew, as a wish to hold an order does that was released in between. Its
   * orders are told from repeats by their numbers; without it the same bytes are taken once.
   */
  readonly isRepeatable?: boolean | undefined;
  /** How its messages stand in batches; absent where they don't. */
  readonly batch?: BatchOutline | undefined;
  /** Its messages in order, in batches small enough for one commit each. */
  batches(): AsyncIterable<readonly IncomingMessage[]>;
}

/** What tells an HL7 drop folder from a CSV one. */
export interface FileFormat {
  readonly type: string;
  readonly maxBytes: number;
  /** Whether one mistake refuses the whole file. */
  readonly isWholeFile: boolean;
  /** Reads the file once. Throws only what the file system throws; what is wrong with the content is told in the result. */
  examine(file: ReadableFile): Promise<FileContent>;
  /** Lines of `cryobridge check` about the format's own settings. */
  check(): readonly CheckLine[];
}
