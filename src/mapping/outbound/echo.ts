import { type Encoding, findEncoding } from "../../formats/encoding.ts";
import { buildMessage, type Component, type Field, Repeated, type SegmentSpec } from "../../formats/hl7/build.ts";
import { type Delimiters, STANDARD_DELIMITERS } from "../../formats/hl7/delimiters.ts";
import { escapeText, unescapeText } from "../../formats/hl7/escapes.ts";
import type { Hl7Message, Segment } from "../../formats/hl7/message.ts";

/** A field that stands in the new message as it stood in the old one, components and escapes included. */
export class Raw {
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
export interface EchoEncodings {
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
    return [name, ...fields.map((field) => (field instanceof Raw ? undefined : withoutNul(field)))];
  });
  const lines = buildMessage(specs, { delimiters }).split("\r");
  return segments.map(([, ...fields], i) => `${putRaw(lines[i] ?? "", fields, delimiters.field)}\r`).join("");
}

/** Whether a segment can be written as it is: nothing in it is echoed, and nothing is to be left out. */
function isPlain(segment: OutSegment): segment is SegmentSpec {
  return segment.every((field) => !(field instanceof Raw) && !hasNul(field));
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
    text += `${isForeign ? escapeText(withoutNul(value), delimiters) : written}${after}`;
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
            .map((value) => escapeText(withoutNul(unescapeText(value, from, encoding)), to))
            .join(to.subcomponent),
        )
        .join(to.component),
    )
    .join(to.repetition);
}

/** Control characters that a sender left bare could end an MLLP frame; they go out as escapes. */
function encodeControls(raw: string, delimiters: Delimiters): string {
  return raw.replace(/\p{Cc}/gu, (character) => {
    const code = character.charCodeAt(0);
    if (code === 0) return "";
    if (code === 9 || code > 0x7f) return character;
    const hex = code.toString(16).toUpperCase().padStart(2, "0");
    return `${delimiters.escape}X${hex}${delimiters.escape}`;
  });
}

function hasNul(field: Field): boolean {
  if (typeof field === "string") return field.includes("\0");
  if (field instanceof Repeated) return field.fields.some(hasNul);
  return Array.isArray(field) && field.some(hasNul);
}

/** No message can carry a NUL character, and none of ours means anything by it. */
function withoutNul<T extends Field>(field: T): T {
  if (typeof field === "string") return (field.includes("\0") ? field.replaceAll("\0", "") : field) as T;
  if (field instanceof Repeated)
    return new Repeated(field.fields.map((part) => withoutNul(part as Component))) as T;
  if (Array.isArray(field)) return field.map((part) => withoutNul(part)) as unknown as T;
  return field;
}
