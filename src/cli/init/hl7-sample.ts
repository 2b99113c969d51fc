import { isUtf8 } from "node:buffer";
import { Failure } from "../../core/failures.ts";
import { decodeBytes } from "../../formats/encoding.ts";
import { decodeHl7 } from "../../formats/hl7/charset.ts";
import { splitHl7File } from "../../formats/hl7/file.ts";
import { Hl7Message, type Segment } from "../../formats/hl7/message.ts";

/** The messages of a lab's sample. */
interface Hl7Sample {
  readonly messages: readonly Hl7Message[];
  /** For a profile: undefined where messages say it themselves, or are UTF-8. */
  readonly encoding: string | undefined;
}

/** Larger samples are read no further. */
const MOST_MESSAGES = 2_000;

/**
 * Reads the messages of a file. Where an empty MSH-18 leaves it open and the bytes are no UTF-8, they are Latin-1, or
 * Windows-1252 where Latin-1 lacks one of them. A message that can't be read is left out; the preview says why.
 *
 * @param encoding what somebody says it is
 */
export function readSample(bytes: Buffer, encoding: string | undefined): Hl7Sample {
  const raws = splitHl7File(bytes)
    .parts.slice(0, MOST_MESSAGES)
    .map(({ raw }) => raw);
  const read = raws.map((raw) => readMessage(raw, encoding));
  if (encoding !== undefined || read.every((message) => message !== undefined)) {
    return { messages: read.filter((message) => message !== undefined), encoding };
  }
  const plain = raws.filter((raw) => !isUtf8(raw));
  const found = plain.every((raw) => decodeBytes(raw, "iso-8859-1").ok) ? "iso-8859-1" : "windows-1252";
  const again = raws.map((raw, n) => read[n] ?? readMessage(raw, found));
  const isBetter = again.some((message, n) => message !== undefined && read[n] === undefined);
  return {
    messages: again.filter((message) => message !== undefined),
    encoding: isBetter && plain.length > 0 ? found : undefined,
  };
}

function readMessage(raw: Buffer, encoding: string | undefined): Hl7Message | undefined {
  try {
    return Hl7Message.parse(decodeHl7(raw, { fallback: encoding }).text);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return undefined;
  }
}

/** The type of a message, such as `ORM^O01`. */
export function typeOfMessage({ codes }: Hl7Message): string {
  return [codes.messageCode, codes.triggerEvent].filter(Boolean).join("^");
}

/** The segments of orders: from the first ORC, OBR or specimen on. */
export function orderSegments({ segments }: Hl7Message): readonly Segment[] {
  const begin = segments.findIndex(({ name }) => name === "ORC" || name === "OBR" || name === "SPM");
  return begin === -1 ? [] : segments.slice(begin);
}

/** The filled values of a field's component in all segments of a name. */
export function valuesIn(
  messages: readonly Hl7Message[],
  name: string,
  field: number,
  component = 1,
): string[] {
  return messages
    .flatMap((message) => message.all(name))
    .map((segment) => segment.get(field, 1, component)?.trim() ?? "")
    .filter((value) => value !== "" && value !== '""');
}
