import type { OutcomeMessage } from "../../core/outcome.ts";
import { type Encoding, findEncoding, isWide } from "../../formats/encoding.ts";
import {
  type Delimiters,
  escapeText,
  STANDARD_DELIMITERS,
  unescapeText,
} from "../../formats/hl7/delimiters.ts";
import { buildMessage, type Field, type SegmentSpec } from "../../formats/hl7/encode.ts";
import { type Hl7Header, Hl7Message, type Segment } from "../../formats/hl7/message.ts";
import { isAcknowledgment } from "../profile/message-type.ts";
import type { Hl7Profile, ResultSettings } from "../profile/profile.ts";
import { charsetOf, type ResultCharset, type ResultEncoding } from "./result-charset.ts";

/** The message that is answered, as far as it is there and readable. */
export class Original {
  /** What an answer takes its own header from, with the profile's settings applied. */
  readonly header: Partial<Hl7Header>;
  readonly echo: Echo;
  /** What a message about this one is written in. */
  readonly charset: ResultCharset;
  /** Whether there is anything to answer to: an MSH that could be read, or at least its control id. */
  readonly isAnswerable: boolean;
  readonly #answered: OutcomeMessage;
  readonly #settings: ResultSettings;
  readonly #text: string | undefined;
  readonly #headed: Hl7Message | undefined;
  #message: Hl7Message | "unread" | undefined = "unread";

  constructor(answered: OutcomeMessage, settings: ResultSettings) {
    this.#answered = answered;
    this.#settings = settings;
    this.#text = answered.text?.reveal();
    // A message with a broken segment can still be answered as long as its first line is a header.
    const headed = tryParse(this.#text === undefined ? undefined : firstLine(this.#text)) ?? this.message;
    this.#headed = headed;
    const header: Partial<Hl7Header> = headed?.header ?? { messageControlId: answered.messageControlId };
    this.header = withSettings(header, settings);
    this.charset = charsetOf(settings.encoding, answered.encoding, header.characterSet);
    this.echo = createEcho(headed, { from: byteEncodingOf(answered), to: this.charset.encoding });
    this.isAnswerable = header.messageControlId !== undefined || headed !== undefined;
  }

  /** The same message, to be answered in another character set than the settings want. */
  writtenIn(encoding: ResultEncoding): Original {
    return new Original(this.#answered, { ...this.#settings, encoding });
  }

  /**
   * MSH-10 as it was written, for MSA-2: senders compare it letter by letter. Undefined where the header's value is just
   * that.
   */
  get writtenControlId(): Raw | undefined {
    const msh = this.#headed?.first("MSH");
    return msh?.field(10) === this.header.messageControlId ? undefined : this.echo.field(msh, 10);
  }

  /**
   * Undefined when it was pruned, or its segments could not be read. Read when first asked for: many answers need the
   * header alone.
   */
  get message(): Hl7Message | undefined {
    if (this.#message === "unread") this.#message = tryParse(this.#text);
    return this.#message;
  }
}

/** What bytes of the message's own escapes mean; in UTF-16 they are what MSH-18 says, if anything. */
function byteEncodingOf({ encoding }: OutcomeMessage): Encoding | undefined {
  const found = findEncoding(encoding ?? "");
  return found === undefined || isWide(found) ? undefined : found;
}

/** What is left of the message that an outcome is about. */
export function readOriginal(answered: OutcomeMessage, settings: ResultSettings): Original {
  return new Original(answered, settings);
}

/** Whether it is an acknowledgement itself, which is not to be answered. */
export function isAnswer(original: Original, accept: Hl7Profile["accept"]): boolean {
  const { messageCode, triggerEvent } = original.header;
  return isAcknowledgment({ messageCode, triggerEvent }, accept, () => original.message?.first("MSA"));
}

function firstLine(text: string): string {
  const [cr, lf] = [text.indexOf("\r"), text.indexOf("\n")];
  const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
  return end === -1 ? text : text.slice(0, end);
}

function tryParse(text: string | undefined): Hl7Message | undefined {
  if (text === undefined) return undefined;
  try {
    const message = Hl7Message.parse(text);
    return message.codes.messageCode === undefined ? undefined : message;
  } catch {
    return undefined;
  }
}

/** Our sender is the original's receiver, and the reverse; the profile may name others. */
function withSettings(
  header: Partial<Hl7Header>,
  { sender, receiver, version }: ResultSettings,
): Partial<Hl7Header> {
  if (sender === undefined && receiver === undefined && version === undefined) return header;
  return {
    ...header,
    ...(version === undefined ? {} : { version }),
    ...(sender?.application === undefined ? {} : { receivingApplicationParts: [sender.application] }),
    ...(sender?.facility === undefined ? {} : { receivingFacilityParts: [sender.facility] }),
    ...(receiver?.application === undefined ? {} : { sendingApplicationParts: [receiver.application] }),
    ...(receiver?.facility === undefined ? {} : { sendingFacilityParts: [receiver.facility] }),
  };
}

/** A field that stands in the new message as it stood in the old one, components and escapes included. */
class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A segment to write: values that will be escaped, and echoed fields. */
export type OutSegment = readonly [name: string, ...fields: (Field | Raw)[]];

/** Echoes parts of one message into another. What is echoed comes back as the sender wrote it, so the sender finds it again. */
export interface Echo {
  /** What the new message is written with: the original's, where it declares all that are needed. */
  readonly delimiters: Delimiters;
  /** The whole segment. */
  segment(segment: Segment): OutSegment;
  /** Field n; undefined when it is empty. */
  field(segment: Segment | undefined, n: number): Raw | undefined;
}

/** What an echo is read from and written in. */
interface EchoEncodings {
  /** What the message was read in; what MSH-18 says unless given. */
  readonly from?: Encoding | undefined;
  readonly to: Encoding;
}

/** An echo of a message, or of none, once retention has pruned it. Written in UTF-8 unless given otherwise. */
export function createEcho(
  message: Hl7Message | undefined,
  encodings: EchoEncodings = { to: "utf-8" },
): Echo {
  const from = message?.delimiters ?? STANDARD_DELIMITERS;
  const isComplete = from.escape !== "" && from.subcomponent !== "";
  const delimiters = isComplete ? from : STANDARD_DELIMITERS;
  const encoding = encodings.from ?? findEncoding(message?.header.characterSet ?? "");
  const rewrite = (raw: string) => {
    const text = isComplete
      ? decodeHex(raw, delimiters, encoding, encodings.to)
      : reencode(raw, from, delimiters, encoding);
    return new Raw(encodeControls(text, delimiters));
  };
  return {
    delimiters,
    segment: (segment) => {
      const [, ...fields] = segment.raw.split(from.field);
      return [segment.name, ...fields.map(rewrite)];
    },
    field: (segment, n) => {
      const raw = segment?.field(n) ?? "";
      return raw === "" ? undefined : rewrite(raw);
    },
  };
}

/** The text of a message; echoed fields are put in between the escaped ones. */
export function assemble(segments: readonly OutSegment[], delimiters: Delimiters): string {
  if (segments.every(isPlain)) return buildMessage(segments, { delimiters });
  const specs = segments.map(([name, ...fields]): SegmentSpec => {
    return [name, ...fields.map((field) => (field instanceof Raw ? undefined : field))];
  });
  const lines = buildMessage(specs, { delimiters }).split("\r");
  return segments.map(([, ...fields], i) => `${putRaw(lines[i] ?? "", fields, delimiters.field)}\r`).join("");
}

/** Whether a segment can be written as it is: nothing in it is echoed. */
function isPlain(segment: OutSegment): segment is SegmentSpec {
  return segment.every((field) => !(field instanceof Raw));
}

function putRaw(line: string, fields: readonly (Field | Raw)[], separator: string): string {
  if (!fields.some((field) => field instanceof Raw)) return line;
  // Values are escaped, so each separator in the line stands between two fields.
  const written = line.split(separator);
  const parts = [
    written[0] ?? "",
    ...fields.map((field, n) => (field instanceof Raw ? field.text : (written[n + 1] ?? ""))),
  ];
  while (parts.at(-1) === "") parts.pop();
  return parts.join(separator);
}

/**
 * Where what we send is in another character set, bytes of the original's would mean something else: `\XFC\` of
 * ISO 8859-1 goes out as the letter. Escapes that stand for ASCII stay as they are.
 */
function decodeHex(
  raw: string,
  delimiters: Delimiters,
  encoding: Encoding | undefined,
  to: Encoding,
): string {
  const mark = delimiters.escape;
  if (encoding === undefined || encoding === to || !raw.includes(`${mark}X`)) return raw;
  const parts = raw.split(mark);
  let text = parts[0] ?? "";
  for (let i = 1; i < parts.length; i += 2) {
    // Every other part stands between two marks; a mark without a partner is text.
    const [body = "", after] = parts.slice(i, i + 2);
    if (after === undefined) return `${text}${mark}${body}`;
    const written = `${mark}${body}${mark}`;
    const value = unescapeText(written, delimiters, encoding);
    const isForeign = body.startsWith("X") && /[^\0-\x7f]/.test(value);
    text += `${isForeign ? escapeText(value, delimiters) : written}${after}`;
  }
  return text;
}

/** Raw text in other delimiters, part by part; without a subcomponent character the original has no subcomponents. */
function reencode(raw: string, from: Delimiters, to: Delimiters, encoding: Encoding = "us-ascii"): string {
  return raw
    .split(from.repetition)
    .map((repetition) =>
      repetition
        .split(from.component)
        .map((component) =>
          (from.subcomponent === "" ? [component] : component.split(from.subcomponent))
            .map((value) => escapeText(unescapeText(value, from, encoding), to))
            .join(to.subcomponent),
        )
        .join(to.component),
    )
    .join(to.repetition);
}

/** Control characters that a sender left bare could end an MLLP frame; they go out as escapes. */
function encodeControls(raw: string, delimiters: Delimiters): string {
  return raw.replace(/(?![\t\u0080-\u009f])\p{Cc}/gu, (character) => {
    const code = character.charCodeAt(0);
    if (code === 0) return "";
    const hex = code.toString(16).toUpperCase().padStart(2, "0");
    return `${delimiters.escape}X${hex}${delimiters.escape}`;
  });
}
