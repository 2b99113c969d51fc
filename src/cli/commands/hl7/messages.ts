import { Failure, type Problem } from "../../../core/failures.ts";
import { placeText } from "../../../core/place.ts";
import type { Encoding } from "../../../formats/encoding.ts";
import { decodeHl7 } from "../../../formats/hl7/charset.ts";
import { type Hl7FilePart, splitHl7File } from "../../../formats/hl7/file.ts";
import { Hl7Message } from "../../../formats/hl7/message.ts";
import { nameOfInput, readInput } from "../../io.ts";
import type { Session } from "../../session.ts";

/** An HL7 file that can be taken apart. */
interface Hl7Input {
  readonly parts: readonly Hl7FilePart[];
  /** Whether it has batch headers or trailers. */
  readonly isBatch: boolean;
}

/** A message of a file, with the character set that it was read in, or why it can't be read. */
type FileMessage = Hl7FilePart &
  (
    | { readonly encoding: Encoding; readonly message: Hl7Message }
    | { readonly encoding?: undefined; readonly message: Failure }
  );

/** First bytes of files in which network traffic is captured, by the program that writes them. */
const CAPTURES = ["d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a"];

/**
 * An HL7 file and its messages, each to be read with {@link readMessage}; `-` is standard input.
 * @param mixedLineEnds whether a header is refused that may be a line of pasted text
 * @throws Failure CLI_FILE_UNREADABLE, CLI_USAGE for too much of it, or the code of what is wrong with the file as a
 * whole.
 */
export async function readHl7File(
  { io }: Pick<Session, "io">,
  path: string,
  mixedLineEnds?: "refuse",
): Promise<Hl7Input> {
  const bytes = await readInput(io, path);
  const { parts, problems, outline } = splitHl7File(bytes, { mixedLineEnds });
  const [problem] = problems;
  if (problem) throw wholeFailure(path, problem, bytes);
  return { parts, isBatch: outline !== undefined };
}

/** Why a file can't be taken apart, in the words of the command line. */
function wholeFailure(path: string, { code, place, message }: Problem, bytes: Buffer): Failure {
  const name = nameOfInput(path);
  if (code === "HL7_FILE_BINARY" && CAPTURES.includes(bytes.toString("hex", 0, 4))) {
    const hint = "save the bytes of one TCP stream instead, as Wireshark does with Follow, Save as, Raw";
    return new Failure(code, `${name} is a capture of network packets; ${hint}`);
  }
  return new Failure(code, `${name}, ${placeText(place)}: ${message}`);
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
