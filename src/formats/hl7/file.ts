import type { FailureCode, Problem } from "../../core/failures.ts";
import type { BatchOutline } from "../../core/intake.ts";
import { decodeBytes, type Encoding, findByteOrderMark } from "../encoding.ts";
import { BatchTracker } from "./batch.ts";
import { findUtf16 } from "./charset.ts";
import { type FileLine, listLines } from "./file-lines.ts";

/** One message of a file. */
export interface Hl7FilePart {
  /** Position in the file, from 1. */
  readonly ordinal: number;
  /** Line of the file on which the message begins, 1-based. */
  readonly line: number;
  /** Exactly the message's bytes, its last line end included. */
  readonly raw: Buffer;
  /** BHS-11 of the batch it stands in. */
  readonly batchControlId?: string;
}

/** Something wrong with a file as a whole. */
export type Hl7FileProblem = Problem;

export interface Hl7File {
  /** Empty when there is any problem: a file that may be cut short is never half processed. */
  readonly parts: readonly Hl7FilePart[];
  readonly problems: readonly Hl7FileProblem[];
  /** FHS-11. */
  readonly fileControlId?: string;
  /** Its batches, also when there are problems; absent where it has none. */
  readonly outline?: BatchOutline;
}

/**
 * Splits a dropped file into its messages: one, several, or batches (HL7 chapter 2.10.3). Lines end with CR, LF or
 * CRLF; blank lines, a byte order mark, a trailing 0x1A and MLLP's 0x0B and 0x1C around messages are passed over.
 * UTF-16 is recognised by its byte order mark, or by the zero byte beside the first letter. Problems (never thrown): HL7_FILE_EMPTY, HL7_FILE_BINARY, HL7_NO_MSH,
 * HL7_FILE_TEXT_OUTSIDE, HL7_BATCH_INCOMPLETE, HL7_BATCH_COUNT. What is wrong inside one message is left to its parser.
 */
export function splitHl7File(bytes: Buffer): Hl7File {
  const mark = findByteOrderMark(bytes) ?? findUtf16(bytes);
  const start = mark?.length ?? 0;
  const unit = mark?.encoding.startsWith("utf-16") ? 2 : 1;
  const text =
    unit === 2 ? narrow(bytes.subarray(start), mark?.encoding === "utf-16le") : bytes.subarray(start);
  const zero = text.indexOf(0);
  if (zero !== -1) {
    return refuse("HL7_FILE_BINARY", `byte ${start + zero * unit}`, "expected HL7 text, found a NUL byte");
  }

  const parts: Hl7FilePart[] = [];
  const batches = new BatchTracker();
  let open: { line: number; start: number; end: number } | undefined;
  let strayLine: number | undefined;
  let isFilled = false;
  const closeMessage = () => {
    if (open === undefined) return;
    const raw = bytes.subarray(start + open.start * unit, start + open.end * unit);
    const batchControlId = batches.batchControlId;
    parts.push({
      ordinal: parts.length + 1,
      line: open.line,
      raw,
      ...(batchControlId === undefined ? {} : { batchControlId }),
    });
    open = undefined;
  };

  for (const line of listLines(text)) {
    isFilled = true;
    const kind = kindOf(text, line);
    if (kind === "MSH") {
      closeMessage();
      batches.message();
      open = { line: line.line, start: line.start, end: line.endWithBreak };
    } else if (kind !== undefined) {
      closeMessage();
      const raw = bytes.subarray(start + line.start * unit, start + line.end * unit);
      const fullText = headerText(raw, mark?.encoding);
      batches.mark(kind, text.toString("latin1", line.start, line.end), line.line, fullText);
    } else if (open) {
      open.end = line.endWithBreak;
    } else {
      strayLine ??= line.line;
    }
  }
  closeMessage();
  batches.end();

  if (!isFilled) return refuse("HL7_FILE_EMPTY", "the file", "expected at least one message, found nothing");
  const problems: Problem[] = [];
  if (strayLine !== undefined && (parts.length > 0 || batches.hasMarks)) {
    problems.push({
      code: "HL7_FILE_TEXT_OUTSIDE",
      place: `line ${strayLine}`,
      message: "text that belongs to no message: expected MSH or a batch header",
    });
  } else if (strayLine !== undefined) {
    problems.push({
      code: "HL7_NO_MSH",
      place: `line ${strayLine}`,
      message: "expected a message that begins with MSH; the file has no MSH at all",
    });
  }
  problems.push(...batches.problems);
  const { fileControlId, outline } = batches;
  return {
    parts: problems.length > 0 ? [] : parts,
    problems,
    ...(fileControlId === undefined ? {} : { fileControlId }),
    ...(outline === undefined ? {} : { outline }),
  };
}

/** A batch header names no character set of its own, and what is read from it only goes back to its sender. */
function headerText(raw: Buffer, encoding: Encoding = "utf-8"): string {
  const decoded = decodeBytes(raw, encoding);
  return decoded.ok ? decoded.text : raw.toString("latin1");
}

function refuse(code: FailureCode, place: string, message: string): Hl7File {
  return { parts: [], problems: [{ code, place, message }] };
}

/** UTF-16 as one byte a unit, everything outside ASCII as 0xFF: enough to find lines and headers by. */
function narrow(bytes: Buffer, isLittleEndian: boolean): Buffer {
  const units = Buffer.alloc(bytes.length >> 1);
  const low = isLittleEndian ? 0 : 1;
  for (let i = 0; i < units.length; i++) {
    const byte = bytes[2 * i + low] ?? 0;
    units[i] = bytes[2 * i + 1 - low] === 0 && byte < 0x80 ? byte : 0xff;
  }
  return units;
}

const KINDS = ["MSH", "FHS", "BHS", "BTS", "FTS"] as const;
const FIRST_BYTES: readonly number[] = KINDS.map((kind) => kind.charCodeAt(0));

function kindOf(text: Buffer, { start, end }: FileLine): (typeof KINDS)[number] | undefined {
  if (end - start < 3 || !FIRST_BYTES.includes(text[start] ?? 0)) return undefined;
  const fourth = end - start > 3 ? (text[start + 3] ?? 0) : 0;
  const isNameOver = !/[A-Za-z0-9]/.test(String.fromCharCode(fourth));
  const name = text.toString("latin1", start, start + 3);
  return isNameOver ? KINDS.find((kind) => kind === name) : undefined;
}
