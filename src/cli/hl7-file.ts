import { readFile } from "node:fs/promises";
import { Failure } from "../core/failures.ts";
import { decodeHl7 } from "../formats/hl7/charset.ts";
import { splitHl7File } from "../formats/hl7/file.ts";
import { Hl7Message } from "../formats/hl7/message.ts";
import type { Session } from "./session.ts";
import { readStandardInput, STANDARD_INPUT } from "./standard-input.ts";

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

/**
 * The messages of an HL7 file; `-` is standard input.
 * @throws Failure CLI_FILE_UNREADABLE, CLI_USAGE for too much of standard input, or the code of what is wrong with the
 * file as a whole.
 */
export async function readHl7File(
  { io }: Pick<Session, "io">,
  path: string,
  charset?: string,
): Promise<FileMessage[]> {
  const bytes = path === STANDARD_INPUT ? await readStandardInput(io) : await read(path);
  const { parts, problems } = splitHl7File(bytes);
  const [problem] = problems;
  if (problem) throw new Failure(problem.code, `${nameOf(path)}, ${problem.place}: ${problem.message}`);
  return parts.map(({ ordinal, line, raw }) => ({ ordinal, line, raw, ...parse(raw, charset) }));
}

/** A file of the command line as people call it. */
export function nameOf(path: string): string {
  return path === STANDARD_INPUT ? "standard input" : path;
}

function read(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure("CLI_FILE_UNREADABLE", `${path} can't be read (${error.code ?? "unknown error"})`);
  });
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
