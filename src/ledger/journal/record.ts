import { crc32 } from "node:zlib";
import {
  type Arrival,
  type ArrivalColumns,
  type ArrivalRows,
  bytesOf,
  columnsOf,
  rawOf,
} from "../arrival-rows.ts";

/** Bytes of the length and the checksum in front of a record's content. */
const PREFIX = 8;
/** Bytes of the length of the columns, in front of them. */
const COLUMNS_LENGTH = 4;

/**
 * Messages as one record of a journal: a mark, the length and the checksum (CRC-32) of what follows, the columns as
 * JSON behind their length, the bytes of the messages, the answers. Numbers are 32 bits, the high byte first.
 *
 * @param mark stands in front, so that records can be found
 * @param receivedAt when they came, ms since 1970
 */
export function encodeRecord(mark: Buffer, arrivals: readonly Arrival[], receivedAt: number): Buffer {
  const columns = JSON.stringify(columnsOf(arrivals, receivedAt));
  const columnsLength = Buffer.byteLength(columns);
  const content = mark.length + PREFIX;
  const record = Buffer.allocUnsafe(content + COLUMNS_LENGTH + columnsLength + bytesOf(arrivals));
  let at = record.writeUInt32BE(columnsLength, content);
  at += record.write(columns, at);
  for (const arrival of arrivals) at += rawOf(arrival).copy(record, at);
  for (const { reply } of arrivals) at += reply?.copy(record, at) ?? 0;
  mark.copy(record);
  record.writeUInt32BE(record.length - content, mark.length);
  record.writeUInt32BE(crc32(record.subarray(content)), mark.length + 4);
  return record;
}

/** The messages of a record that {@link encodeRecord} made. */
export function decodeRecord(mark: Buffer, record: Buffer): ArrivalRows {
  const content = mark.length + PREFIX;
  const columnsAt = content + COLUMNS_LENGTH;
  const rawsAt = columnsAt + record.readUInt32BE(content);
  const columns = JSON.parse(record.toString("utf8", columnsAt, rawsAt)) as ArrivalColumns;
  const repliesAt = rawsAt + columns.rawLengths.reduce((sum, length) => sum + length, 0);
  return { ...columns, raws: record.subarray(rawsAt, repliesAt), replies: record.subarray(repliesAt) };
}

/** What was found in a journal. */
export interface FoundRecord {
  readonly record: Buffer;
  /** Whether the bytes between the record before and this one are none of a record, or not any more, but not zeros. */
  readonly isBehindDamage: boolean;
}

/** The whole records among bytes, wherever they stand. A last one that was not written to its end is passed over. */
export function* findRecords(mark: Buffer, bytes: Buffer): Generator<FoundRecord> {
  let before = 0;
  for (let at = bytes.indexOf(mark); at !== -1; ) {
    const end = endOfRecord(mark, bytes, at);
    if (end !== undefined) {
      // A record whose mark is damaged isn't found at all.
      const isBehindDamage = bytes.subarray(before, at).some((byte) => byte !== 0);
      yield { record: bytes.subarray(at, end), isBehindDamage };
      before = end;
    }
    at = bytes.indexOf(mark, end ?? at + mark.length);
  }
}

function endOfRecord(mark: Buffer, bytes: Buffer, at: number): number | undefined {
  const content = at + mark.length + PREFIX;
  if (content > bytes.length) return undefined;
  const length = bytes.readUInt32BE(at + mark.length);
  const end = content + length;
  // A write that was cut off behind the mark: the zeros there are a length, and even its checksum.
  if (length < COLUMNS_LENGTH || end > bytes.length) return undefined;
  const checksum = bytes.readUInt32BE(at + mark.length + 4);
  return crc32(bytes.subarray(content, end)) === checksum ? end : undefined;
}
