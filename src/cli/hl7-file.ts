import { Failure, type Problem } from "../core/failures.ts";
import { decodeHl7 } from "../formats/hl7/charset.ts";
import { type Hl7FilePart, splitHl7File } from "../formats/hl7/file.ts";
import { Hl7Message } from "../formats/hl7/message.ts";
import { readInput } from "./input-file.ts";
import type { Session } from "./session.ts";
import { STANDARD_INPUT } from "./standard-input.ts";

/** An HL7 file that can be taken apart. */
export interface Hl7Input {
  readonly bytes: Buffer;
  readonly parts: readonly Hl7FilePart[];
  /** Whether it has batch headers or trailers. */
  readonly isBatch: boolean;
}

/** A message of a file, or why it can't be read. */
export interface FileMessage {
  /** Position in the file, from 1. */
  readonly ordinal: number;
  /** Line of the file on which it begins, 1-based. */
  readonly line: number;
  readonly raw: Buffer;
  /** The character set that it was read in. */
  readonly encoding: string | undefined;
  readonly message: Hl7Message | Failure;
}

/** First bytes of files in which network traffic is captured, by the program that writes them. */
const CAPTURES = ["d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a"];

/**
 * An HL7 file and its messages, each to be read with {@link readMessage}; `-` is standard input.
 * @throws Failure CLI_FILE_UNREADABLE, CLI_USAGE for too much of it, or the code of what is wrong with the file as a
 * whole.
 */
export async function readHl7File({ io }: Pick<Session, "io">, path: string): Promise<Hl7Input> {
  const bytes = await readInput(io, path);
  const { parts, problems, outline } = splitHl7File(bytes);
  const [problem] = problems;
  if (problem) throw wholeFailure(path, problem, bytes);
  return { bytes, parts, isBatch: outline !== undefined };
}

/** Why a file can't be taken apart, as the command line tells it. */
export function wholeFailure(path: string, { code, place, message }: Problem, bytes: Buffer): Failure {
  if (code === "HL7_FILE_BINARY" && CAPTURES.includes(bytes.toString("hex", 0, 4))) {
    const mend = "save the bytes of one TCP stream instead, as Wireshark does with Follow, Save as, Raw";
    return new Failure(code, `${nameOf(path)} is a capture of network packets; ${mend}`);
  }
  return new Failure(code, `${nameOf(path)}, ${place}: ${message}`);
}

/** A file of the command line as people call it. */
export function nameOf(path: string): string {
  return path === STANDARD_INPUT ? "standard input" : path;
}

/** A message of a file. @param charset the character set that it is read in whatever it says of itself */
export function readMessage({ ordinal, line, raw }: Hl7FilePart, charset?: string): FileMessage {
  return { ordinal, line, raw, ...parse(raw, charset) };
}

function parse(raw: Buffer, charset: string | undefined): Pick<FileMessage, "encoding" | "message"> {
  try {
    const { text, encoding } = decodeHl7(raw, charset === undefined ? {} : { override: charset });
    return { encoding, message: Hl7Message.parse(text, { encoding }) };
  } catch (error) {
    if (error instanceof Failure) return { encoding: undefined, message: error };
    throw error;
  }
}

/** `ORM^O01`, as far as MSH-9 says. */
export function typeOf(message: Hl7Message): string {
  const { messageCode, triggerEvent } = message.header;
  return [messageCode, triggerEvent].filter((part) => part !== undefined).join("^");
}
