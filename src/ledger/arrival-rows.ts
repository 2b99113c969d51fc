import { hash } from "node:crypto";
import type { MessageRecord } from "./message-record.ts";

/** A message that is in order, with what is answered to it. */
export interface Arrival {
  readonly messageId: number;
  readonly record: MessageRecord;
  readonly reply: Buffer | undefined;
  /** Whether that is all that the sender is told of it as a whole, as long as it stays accepted. */
  readonly isTold: boolean;
}

/** What the ledger keeps of arrived messages, column by column; each column has one value a message. */
export interface ArrivalRows {
  readonly messageIds: readonly number[];
  readonly controlIds: readonly (string | null)[];
  readonly messageTypes: readonly (string | null)[];
  readonly encodings: readonly (string | null)[];
  readonly peers: readonly (string | null)[];
  readonly senders: readonly (string | null)[];
  readonly isTold: readonly boolean[];
  /** When they came, ms since 1970; null for the moment in which they are written. */
  readonly receivedAt: readonly (number | null)[];
  readonly rawLengths: readonly number[];
  /** -1 for a message that isn't answered. */
  readonly replyLengths: readonly number[];
  /** The messages' bytes, one behind the other. */
  readonly raws: Buffer;
  /** Their answers, one behind the other. */
  readonly replies: Buffer;
}

/** All but the bytes. */
export type ArrivalColumns = Omit<ArrivalRows, "raws" | "replies">;

/** @param receivedAt when they came, ms since 1970; null for the moment in which they are written */
export function toRows(arrivals: readonly Arrival[], receivedAt: number | null): ArrivalRows {
  return {
    ...columnsOf(arrivals, receivedAt),
    raws: Buffer.concat(arrivals.map(rawOf)),
    replies: Buffer.concat(arrivals.flatMap(({ reply }) => reply ?? [])),
  };
}

/** The bytes of the message. */
export const rawOf = ({ record }: Arrival) => record.message.raw.reveal();

/** Bytes of messages and of what is answered to them. */
export const bytesOf = (arrivals: readonly Arrival[]) =>
  arrivals.reduce((sum, arrival) => sum + rawOf(arrival).length + (arrival.reply?.length ?? 0), 0);

/** @param receivedAt when they came, ms since 1970; null for the moment in which they are written */
export function columnsOf(arrivals: readonly Arrival[], receivedAt: number | null): ArrivalColumns {
  const column = <T>(pick: (arrival: Arrival) => T): T[] => arrivals.map(pick);
  return {
    messageIds: column(({ messageId }) => messageId),
    controlIds: column(({ record }) => record.messageControlId ?? null),
    messageTypes: column(({ record }) => record.messageType ?? null),
    encodings: column(({ record: { message } }) =>
      message.content.kind === "hl7" ? (message.content.encoding ?? null) : null,
    ),
    peers: column(({ record }) => record.replyTo?.peer ?? null),
    senders: column(({ record }) => record.sender ?? null),
    isTold: column(({ isTold }) => isTold),
    receivedAt: column(() => receivedAt),
    rawLengths: column((arrival) => rawOf(arrival).length),
    replyLengths: column(({ reply }) => reply?.length ?? -1),
  };
}

/** Rows one behind the other. */
export function joinRows(parts: readonly ArrivalRows[]): ArrivalRows {
  const [first] = parts;
  if (first && parts.length === 1) return first;
  return {
    messageIds: parts.flatMap(({ messageIds }) => messageIds),
    controlIds: parts.flatMap(({ controlIds }) => controlIds),
    messageTypes: parts.flatMap(({ messageTypes }) => messageTypes),
    encodings: parts.flatMap(({ encodings }) => encodings),
    peers: parts.flatMap(({ peers }) => peers),
    senders: parts.flatMap(({ senders }) => senders),
    isTold: parts.flatMap(({ isTold }) => isTold),
    receivedAt: parts.flatMap(({ receivedAt }) => receivedAt),
    rawLengths: parts.flatMap(({ rawLengths }) => rawLengths),
    replyLengths: parts.flatMap(({ replyLengths }) => replyLengths),
    raws: Buffer.concat(parts.map(({ raws }) => raws)),
    replies: Buffer.concat(parts.map(({ replies }) => replies)),
  };
}

/** Each row by itself. */
export function splitRows(rows: ArrivalRows): ArrivalRows[] {
  const [rawEnds, replyEnds] = [endsOf(rows.rawLengths), endsOf(rows.replyLengths)];
  const only = <T>(column: readonly T[], n: number): T[] => column.slice(n, n + 1);
  return rows.messageIds.map((_, n) => ({
    messageIds: only(rows.messageIds, n),
    controlIds: only(rows.controlIds, n),
    messageTypes: only(rows.messageTypes, n),
    encodings: only(rows.encodings, n),
    peers: only(rows.peers, n),
    senders: only(rows.senders, n),
    isTold: only(rows.isTold, n),
    receivedAt: only(rows.receivedAt, n),
    rawLengths: only(rows.rawLengths, n),
    replyLengths: only(rows.replyLengths, n),
    raws: rows.raws.subarray(rawEnds[n - 1] ?? 0, rawEnds[n]),
    replies: rows.replies.subarray(replyEnds[n - 1] ?? 0, replyEnds[n]),
  }));
}

/** Rows without the texts that a sender chose, any of which may be one that the database can't hold. */
export function withoutTexts(rows: ArrivalRows): ArrivalRows {
  const none = rows.messageIds.map(() => null);
  return { ...rows, controlIds: none, messageTypes: none, senders: none };
}

/** Where each ends when they stand one behind the other, in bytes; a length below 0 is none. */
export function endsOf(lengths: readonly number[]): number[] {
  let end = 0;
  return lengths.map((length) => {
    end += Math.max(0, length);
    return end;
  });
}

/** SHA-256 of each message, one behind the other. */
export function digestsOf({ raws, rawLengths }: ArrivalRows): Buffer {
  const ends = endsOf(rawLengths);
  return Buffer.concat(
    ends.map((end, n) => hash("sha256", raws.subarray(end - (rawLengths[n] ?? 0), end), "buffer")),
  );
}
