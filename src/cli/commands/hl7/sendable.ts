import { Failure, type Problem } from "../../../core/failures.ts";
import { findByteOrderMark } from "../../../formats/encoding.ts";
import { type Hl7FilePart, splitHl7File } from "../../../formats/hl7/file.ts";
import type { Hl7Header } from "../../../formats/hl7/header.ts";
import { Hl7Message } from "../../../formats/hl7/message.ts";
import { CARRIAGE_RETURN, END_BLOCK, START_BLOCK } from "../../../formats/hl7/mllp.ts";
import { readMessage, wholeFailure } from "./messages.ts";

/** A message that can go over MLLP. */
export interface Sendable {
  /** Position in the file, from 1. */
  readonly ordinal: number;
  readonly raw: Buffer;
  /** MSH-10; undefined where it can't be read, which only a message of a frame with others may be. */
  readonly controlId: string | undefined;
  /** By MSH-15 and MSH-16 it wants no answer. */
  readonly isUnasked: boolean;
  /** AA, AE or AR follows CA. */
  readonly hasApplicationAck: boolean;
  /** What its receiver will find wrong. */
  readonly problem: Failure | undefined;
}

/** A file that goes out in one frame. */
export interface SendableFrame {
  readonly content: Buffer;
  readonly messages: readonly Sendable[];
  /** FHS-11 and BHS-11. */
  readonly batchControlIds: readonly string[];
  /** What its receiver will find wrong with its batches. */
  readonly problems: readonly Problem[];
}

/** What is wrong with batches is for the receiver to find: to see that may be why they are sent. */
const LEFT_TO_RECEIVER: readonly string[] = ["HL7_BATCH_COUNT", "HL7_BATCH_INCOMPLETE"];
/** Line ends, the blocks of a frame, and the end of a file of old. */
const AROUND: readonly number[] = [CARRIAGE_RETURN, 0x0a, START_BLOCK, END_BLOCK, 0x1a];
const BATCH_LINE = /^(?:FHS|BHS|BTS|FTS)(?![A-Za-z0-9])[^\r\n]*(?:\r\n|\r|\n|$)/gm;

/**
 * A message of a file for a frame of its own. One that is broken is sent as it is, if its header can be read.
 * @throws Failure CLI_USAGE for one that no frame can hold, or whose answer could not be told from others
 */
export function readSendable(part: Hl7FilePart, mayLackControlId = false): Sendable {
  const { ordinal, raw } = part;
  const refuse = (problem: string) => new Failure("CLI_USAGE", `message ${ordinal}: ${problem}`);
  const { message, encoding } = readMessage(part);
  if (encoding?.startsWith("utf-16"))
    throw refuse("it is UTF-16, whose bytes may look like the end of a frame; send it as UTF-8");
  if (raw.includes(START_BLOCK) || raw.includes(END_BLOCK))
    throw refuse("it holds 0x0B or 0x1C, which begin and end a frame; write them as \\X0B\\ and \\X1C\\");
  const problem = message instanceof Failure ? message : undefined;
  const header = message instanceof Failure ? findHeader(raw) : message.header;
  if (problem && !header && !mayLackControlId) throw refuse(problem.message);
  const { messageControlId, acceptAckType, applicationAckType } = header ?? {};
  if (messageControlId === undefined && !mayLackControlId)
    throw refuse("MSH-10 is empty, so no answer could be told to be its");
  const types = [acceptAckType, applicationAckType].filter((type) => type !== undefined);
  return {
    ordinal,
    raw,
    controlId: messageControlId,
    isUnasked: types.length > 0 && types.every((type) => type === "NE"),
    hasApplicationAck: applicationAckType === "AL",
    problem,
  };
}

/**
 * A whole file for one frame: its bytes as they are, without what may stand around them (byte order mark, 0x1A, the
 * blocks of a frame that was captured).
 * @throws Failure CLI_USAGE for what no frame can hold, or the code of what is wrong with the file as a whole
 */
export function readSendableFrame(path: string, bytes: Buffer): SendableFrame {
  const whole = splitHl7File(bytes);
  const [fatal] = whole.problems.filter(({ code }) => !LEFT_TO_RECEIVER.includes(code));
  if (fatal) throw wholeFailure(path, fatal, bytes);
  const text = bytes.toString("latin1");
  const { parts } =
    whole.problems.length > 0 ? splitHl7File(Buffer.from(text.replace(BATCH_LINE, ""), "latin1")) : whole;
  const content = trimmed(bytes);
  if (content.includes(START_BLOCK) || content.includes(END_BLOCK)) {
    const why = "it holds 0x0B or 0x1C, as the frames of several messages do; leave out --one-frame";
    throw new Failure("CLI_USAGE", `${path}: ${why}`);
  }
  return {
    content,
    messages: parts.map((part) => readSendable(part, true)),
    batchControlIds: controlIdsOf(text),
    problems: whole.problems,
  };
}

/** Bytes without what stands around them, and with one CR at their end. */
function trimmed(bytes: Buffer): Buffer {
  let from = findByteOrderMark(bytes)?.length ?? 0;
  let to = bytes.length;
  while (from < to && AROUND.includes(bytes[from] ?? 0)) from += 1;
  while (from < to && AROUND.includes(bytes[to - 1] ?? 0)) to -= 1;
  return Buffer.concat([bytes.subarray(from, to), Buffer.of(CARRIAGE_RETURN)]);
}

/** The same with each line ended by CR alone. */
export function withCarriageReturns(content: Buffer): Buffer {
  if (!content.includes(0x0a)) return content;
  return Buffer.from(content.toString("latin1").replace(/\r\n|\n/g, "\r"), "latin1");
}

/** The header of a message that is broken behind it, or written in a character set other than it says. */
function findHeader(raw: Buffer): Hl7Header | undefined {
  const [line = ""] = raw.toString("latin1").split(/[\r\n]/, 1);
  try {
    return Hl7Message.parse(line).header;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Fields of FHS and BHS stand where those of MSH do. */
function controlIdsOf(text: string): string[] {
  const lines = text.match(/^[FB]HS(?![A-Za-z0-9])[^\r\n]*/gm) ?? [];
  return lines.flatMap((line) => {
    const id = line.split(line.charAt(3))[10]?.trim();
    return id === undefined || id === "" ? [] : [id];
  });
}
