import { type Encoding, findEncoding } from "../encoding.ts";
import { type Delimiters, escapeText, STANDARD_DELIMITERS, unescapeText } from "./delimiters.ts";
import { type SegmentSpec, Written } from "./encode.ts";
import type { Hl7Message } from "./message.ts";
import type { Segment } from "./segment.ts";

/** Echoes parts of one message into another. What is echoed comes back as the sender wrote it, so the sender finds it again. */
export interface Echo {
  /** What the new message is written with: the original's, where it declares all that are needed. */
  readonly delimiters: Delimiters;
  /** The whole segment. */
  segment(segment: Segment): SegmentSpec;
  /** Field n; undefined when it is empty. */
  field(segment: Segment | undefined, n: number): Written | undefined;
}

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
    return new Written(encodeControls(text, delimiters));
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
  return raw.replace(/(?![\t\u0080-\u009f])\p{Cc}/gu, (character) => escapeText(character, delimiters));
}
