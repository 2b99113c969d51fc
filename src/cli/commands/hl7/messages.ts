import { Failure, type Problem } from "../../../core/failures.ts";
import type { Encoding } from "../../../formats/encoding.ts";
import { decodeHl7 } from "../../../formats/hl7/charset.ts";
import { type Hl7FilePart, splitHl7File } from "../../../formats/hl7/file.ts";
import { Hl7Message } from "../../../formats/hl7/message.ts";
import { HIDDEN } from "../../../operator/text.ts";
import { nameOfInput, readInput } from "../../io.ts";
import type { Session } from "../../session.ts";

/** An HL7 file that can be taken apart. */
interface Hl7Input {
  readonly parts: readonly Hl7FilePart[];
  /** Whether it has batch headers or trailers. */
  readonly isBatch: boolean;
}

/** A message of a file, with the character set that it was read in, or why it can't be read. */
export type FileMessage = Hl7FilePart &
  (
    | { readonly encoding: Encoding; readonly message: Hl7Message }
    | { readonly encoding?: undefined; readonly message: Failure }
  );

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
  return { parts, isBatch: outline !== undefined };
}

/** Why a file can't be taken apart, in the words of the command line. */
export function wholeFailure(path: string, { code, place, message }: Problem, bytes: Buffer): Failure {
  const name = nameOfInput(path);
  if (code === "HL7_FILE_BINARY" && CAPTURES.includes(bytes.toString("hex", 0, 4))) {
    const hint = "save the bytes of one TCP stream instead, as Wireshark does with Follow, Save as, Raw";
    return new Failure(code, `${name} is a capture of network packets; ${hint}`);
  }
  return new Failure(code, `${name}, ${place}: ${message}`);
}

/** A message of a file. @param charset the character set that it is read in whatever it says of itself */
export function readMessage(part: Hl7FilePart, charset?: string): FileMessage {
  try {
    const { text, encoding } = decodeHl7(part.raw, { override: charset });
    return { ...part, encoding, message: Hl7Message.parse(text, { encoding }) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { ...part, message: error };
  }
}

/** `ORM^O01`, as far as MSH-9 says. */
export function typeOf({ header: { messageCode, triggerEvent } }: Hl7Message): string {
  return [messageCode, triggerEvent].filter((part) => part !== undefined).join("^");
}

/** Segments that hold nothing of the patient but numbers and codes. Everything else is hidden, Z segments too. */
const IMPERSONAL = new Set("MSH MSA ERR ORC EVN SFT TQ1 QRD BHS FHS BTS FTS".split(" "));

/** Fields of other segments that are numbers, times and codes of the order. */
const IMPERSONAL_FIELDS: Readonly<Record<string, ReadonlySet<number>>> = {
  PID: new Set([1]),
  PV1: new Set([1, 2, 3]),
  OBR: new Set([1, 2, 3, 4, 5, 6, 7, 22, 24, 25]),
  OBX: new Set([1, 2, 3, 4, 6, 11, 14]),
  SPM: new Set([1, 2, 3, 4, 15, 26, 27]),
  SAC: new Set([1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
  NTE: new Set([1, 2]),
};

/** Fields of impersonal segments that name people: who ordered, entered or verified. */
const NAMES: Readonly<Record<string, ReadonlySet<number>>> = {
  ORC: new Set([10, 11, 12, 19, 23, 24]),
  EVN: new Set([5]),
};

/** Components that say whose number it is and of which kind, which a mapping chooses by, but not the number. */
const IMPERSONAL_COMPONENTS: Readonly<Record<string, ReadonlySet<number>>> = { "PID-3": new Set([4, 5]) };

/** A value of a message for the screen: hidden where it may say something of a person, unless that was asked for. */
export function shownValue(
  segment: string,
  { field, component = 1 }: { readonly field: number; readonly component?: number | undefined },
  value: string,
  mayShowPhi: boolean,
): string {
  if (mayShowPhi || IMPERSONAL_COMPONENTS[`${segment}-${field}`]?.has(component)) return value;
  if (NAMES[segment]?.has(field)) return HIDDEN;
  if (IMPERSONAL.has(segment) || IMPERSONAL_FIELDS[segment]?.has(field)) return value;
  return HIDDEN;
}
