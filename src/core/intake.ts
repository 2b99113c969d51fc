import type { Problem } from "./failures.ts";
import type { Operation } from "./order.ts";
import type { Phi } from "./phi.ts";
import type { Place } from "./place.ts";

/** How a CSV file is written; results about it are written the same way. */
export interface FileDialect {
  readonly delimiter: string;
  /** The name of a character set, such as `windows-1252`. */
  readonly encoding: string;
  readonly hasByteOrderMark: boolean;
}

/** A dropped file that a connector has claimed and hashed. */
export interface IncomingFile {
  readonly connector: string;
  /** The name it was dropped under; only ever shown, never used as a path. */
  readonly fileName: string;
  /**
   * SHA-256 of its bytes, hex; where the same bytes may mean something anew, of those and the drop; of a file that is
   * refused before all of it was read, of the drop alone.
   */
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Absent for HL7. */
  readonly dialect?: FileDialect | undefined;
}

/** One row of a CSV file. */
export interface CsvRow {
  /** Line of the file on which the row begins, 1-based. */
  readonly line: number;
  /** Value by column name as the header spells it (or `1`, `2`, … without a header). */
  readonly values: ReadonlyMap<string, string>;
}

/** What a row of a CSV file says of the order that it belongs to. */
export interface RowIdentity {
  /**
   * The order number as the profile reads it, without what is not seen in it; where the profile takes offence, what is left
   * without quotation marks and decimals. Empty for none.
   */
  readonly orderNumber: string;
  /** Whether it has to have one, which a row that only makes a subject known has not. */
  readonly needsNumber: boolean;
  /** Empty for none. */
  readonly subjectCode: string;
  /** Whether it wants something of an earlier order. */
  readonly isControl: boolean;
  /** Whether its operation is one of those that there are. */
  readonly hasOperation: boolean;
  /** Whether it has both an order number and such an operation, in its own cells. */
  readonly isOrder: boolean;
}

/** How the messages of a file or frame stand in HL7 batches. */
export interface BatchOutline {
  /** The FHS segment; absent when there is none. */
  readonly fileHeader?: string | undefined;
  /** Batches in order, each with its BHS segment. Messages outside any are one without a header. */
  readonly batches: readonly { readonly header?: string | undefined; readonly messages: number }[];
}

/** One message: an HL7 message, or the rows of a CSV file that make up one order. */
export interface IncomingMessage {
  /** Position in its file, from 1; with the file's digest it makes the message unique. */
  readonly ordinal: number;
  /** Where it stands: which message, or in which lines. */
  readonly place: Place;
  /** Whether it came in an HL7 batch, which may be answered as a whole. */
  readonly isInBatch?: boolean | undefined;
  /** The bytes as they came, kept whole. For CSV: the header line and the order's rows. */
  readonly raw: Phi<Buffer>;
  /** What it says: decoded HL7 text or CSV rows; or, when it could not be read at all, the reasons. */
  readonly content:
    | {
        readonly kind: "hl7";
        readonly text: Phi<string> /** The character set the bytes were read in. */;
        readonly encoding?: string | undefined;
      }
    | { readonly kind: "csv"; readonly rows: Phi<readonly CsvRow[]> }
    | {
        readonly kind: "unreadable";
        readonly problems: readonly Problem[];
        /** The number of the order, where it could be read nevertheless. */
        readonly placerOrderNumber?: string | undefined;
        /** The rows that no order is made of, so that their answer can name them. */
        readonly rows?: Phi<readonly CsvRow[]> | undefined;
      };
}

/**
 * What becomes of a message.
 * - `accepted`: it brought orders.
 * - `duplicate`: it or its orders came before.
 * - `refused`: it has mistakes.
 * - `ignored`: well-formed, but of a type that the profile does not take.
 * - `waiting`: nothing is wrong but a code that no table knows yet, or an earlier message of the subject waits so.
 */
const VERDICTS = ["accepted", "duplicate", "refused", "ignored", "waiting"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What became of a message, once that is durable. */
export interface MessageVerdict {
  readonly ordinal: number;
  readonly place: Place;
  readonly verdict: Verdict;
  /** MSH-10; absent for CSV and for messages without one. */
  readonly messageControlId?: string | undefined;
  readonly problems: readonly Problem[];
  /** The orders that came of it; for a duplicate, those of the first time. */
  readonly orders: readonly {
    readonly orderId: string;
    readonly operation: Operation;
    readonly placerOrderNumber?: string | undefined;
  }[];
}

/** The ledger's answer to a claimed file. */
export type FileOpening =
  /** With the verdicts of its first messages. `resumed`: an earlier attempt was cut off, and messages of it are in the ledger already. */
  | {
      readonly status: "new" | "resumed";
      readonly fileId: string;
      readonly verdicts: readonly Accepted[];
    }
  /** The same bytes came through this connector before. */
  | {
      readonly status: "duplicate";
      readonly fileId: string;
      readonly firstFileName: string;
      readonly firstReceivedAt: Date;
    };

/** How many messages of a file met which verdict. */
export type VerdictCounts = Record<Verdict, number>;

/** What is reported about a file to those who dropped it. */
export interface FileReport {
  readonly result: "refused" | "partly-refused" | "duplicate";
  /** Of its bytes, hex; absent where not all of them were read. */
  readonly sha256?: string | undefined;
  readonly counts: VerdictCounts;
  readonly problems: readonly Problem[];
  /** What messages wait for that have no mistakes. */
  readonly waiting: readonly Problem[];
  /** How many problems there are beyond those. */
  readonly moreProblems: number;
  /** The file that had the same bytes; the time as ISO 8601 has it. */
  readonly duplicateOf?: { readonly fileName: string; readonly receivedAt: string } | undefined;
}

/** What is to become of a dropped file. It is kept in the ledger before anything of it is done, and is not decided again. */
export interface Fate {
  readonly folder: "archive" | "error";
  /** The folder of its day within the archive, such as `2026-03-27`: another machine may count days by another time zone. */
  readonly day: string;
  /** The name that the file and its reports get there. */
  readonly keptAs: string;
  readonly report?: FileReport | undefined;
  /** As it was when it was read, for files that are archived and checked again. */
  readonly asRead?:
    | { readonly inode: string; readonly sizeBytes: number; readonly modifiedNs: string }
    | undefined;
}

/**
 * Whether dropped files may be moved now: they were this worker's when the ledger answered, and nobody can have taken them over since. To
 * be asked right before each move, since the process may have stood still behind the one before.
 */
export type MayMove = () => boolean;

/** What was kept of a dropped file, and whether it may be done. */
export interface Settled {
  readonly fate: Fate;
  readonly mayMove: MayMove;
}

/** How a file ended: `taken`, or `refused` as a whole with the reasons. */
export interface FileEnd {
  readonly status: "taken" | "refused";
  readonly problems: readonly Problem[];
}

/** How an attempt at a dropped file ends. */
export interface Settlement {
  readonly claimId: string;
  readonly fileId: string;
  /**
   * What is to become of it, under the first of the names that no other file in hand of the connector has; absent where it has
   * changed, and is to be read again.
   */
  readonly kept?:
    | { readonly fate: Omit<Fate, "keptAs">; readonly names: readonly [string, string] }
    | undefined;
  /** Absent for a duplicate, which has no end of its own. */
  readonly close?: { readonly end: FileEnd; readonly batch?: BatchOutline | undefined } | undefined;
}

/** A message with its verdict and what to answer over the connection that it came by. */
export interface Accepted extends MessageVerdict {
  /** What to answer at once; undefined where the sender wants nothing, and for files. */
  readonly reply?: Buffer | undefined;
  /** Whether it was committed before, by an attempt that was cut off. */
  readonly isEarlier?: boolean | undefined;
}

/** One connection of a sender: the same object for all that comes over it. */
export interface Peer {
  /** For people. */
  readonly address: string;
}

/** Where messages come from: a dropped file that was opened, or a connection. */
export type MessageSource = { readonly connector: string } & (
  | { readonly fileId: string; readonly claimId: string }
  | { readonly peer: Peer }
);

/** What connectors are given: the only way into Cryobridge. */
export interface Intake {
  /**
   * Opens a dropped file and accepts its first messages, in one commit: of a duplicate none.
   *
   * @throws NotInHand when the file is no longer this worker's, or was decided before
   */
  openFile(file: IncomingFile, claimId: string, first: readonly IncomingMessage[]): Promise<FileOpening>;
  /**
   * Maps messages and commits them with their orders, in order, and gives for each its verdict and what to answer: the same
   * bytes for the same message. When it resolves all of that is on disk: only then may a file be moved, or a message be
   * answered. Throws a transient Failure when the ledger is out of reach.
   *
   * Of a file it takes a batch, in one commit; of what an attempt committed that was cut off it gives the verdicts. What comes over connections shares commits with whatever else comes at that
   * moment. What one peer brings is kept in its order: after a call that rejected, each later one for the same peer
   * rejects, too, and the first messages of a large frame may be kept nevertheless. It has to come again over another
   * connection.
   *
   * @throws NotInHand as `openFile`
   */
  accept(source: MessageSource, messages: readonly IncomingMessage[]): Promise<Accepted[]>;
  /** Maps a batch without keeping anything: the verdicts that `accept` would give, orders without ids. */
  inspect(connector: string, messages: readonly IncomingMessage[]): MessageVerdict[];
  /**
   * Keeps what is to become of a dropped file, where that is decided, and records its end in the same commit, where it has one to
   * record. A file with batches gets its batch response then, where the site wants one.
   *
   * @throws NotInHand when the file is no longer this worker's, or was decided before: then nothing is kept
   */
  settleFile(settlement: Settlement): Promise<Settled | undefined>;
  /**
   * Keeps how messages are read and answered as it is until the returned function is called, so that a file is taken by one
   * configuration from its first byte to its closing; absent where that never changes.
   */
  readonly hold?: (() => Promise<() => void>) | undefined;
  /**
   * What is sent instead of single answers to a frame that holds a batch: one message or, where the sender wants none,
   * nothing; the same bytes for the same frame. Undefined where the site wants single answers.
   */
  answerBatch(
    connector: string,
    batch: BatchOutline,
    frame: Buffer,
    accepted: readonly Accepted[],
  ): readonly Buffer[] | undefined;
}
