import { isUtf8 } from "node:buffer";
import { findByteOrderMark } from "../../core/byte-order-mark.ts";
import { Failure } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import { atField, atLine, type Place } from "../../core/place.ts";
import { decodeBytes, type Encoding, findEncoding, isWide } from "../encoding.ts";
import { findUtf8 } from "../misguess.ts";

export interface CharsetOptions {
  /** What the site says the sender really uses; goes before MSH-18. */
  readonly override?: string | undefined;
  /** The sender does use `override`, also where bytes look like UTF-8. */
  readonly isForced?: boolean | undefined;
  /** For messages whose MSH-18 is empty. Without it they are read as UTF-8, which contains ASCII and is checked strictly. */
  readonly fallback?: string | undefined;
}

const ESCAPE_BYTE = 0x1b;

/**
 * The text of a message and the encoding it was read in. A byte order mark or the zero bytes of UTF-16 decide first,
 * as they can't be anything else; then `override`, MSH-18 and `fallback`, in that order (names are read through an
 * alias table: `8859/1`, `UNICODE UTF-8`, `WINDOWS-1252` …). The byte order mark is dropped.
 * Throws HL7_CHARSET_UNKNOWN for a name that isn't known and for character sets switched within a message, and
 * HL7_CHARSET_BYTES, with the offset, for bytes that do not fit: nothing is ever replaced.
 */
export function decodeHl7(raw: Buffer, options: CharsetOptions = {}): { text: string; encoding: Encoding } {
  const mark = findByteOrderMark(raw) ?? findUtf16(raw);
  const encoding = mark?.encoding ?? chooseEncoding(raw, options);
  const markLength = mark?.length ?? 0;
  const decoded = decodeBytes(markLength === 0 ? raw : raw.subarray(markLength), encoding);
  if (decoded.ok) return { text: decoded.text, encoding };
  const offset = decoded.offset + markLength;
  throw new Failure("HL7_CHARSET_BYTES", {
    message: `byte ${offset} of the message is not ${encoding}`,
    expected: [encoding],
    ...(encoding === "utf-8" ? { hint: NO_UTF8 } : {}),
    ...(isWide(encoding) ? {} : { place: atLine(lineAt(raw, offset)) }),
  });
}

/**
 * Like {@link decodeHl7}, for a message that is to be taken in.
 * Throws HL7_CHARSET_UTF8, too, for bytes that are UTF-8 where MSH-18 or the site says otherwise, unless that is forced.
 */
export function decodeIncoming(
  raw: Buffer,
  options: CharsetOptions = {},
): { text: string; encoding: Encoding } {
  if (options.isForced !== true && (findByteOrderMark(raw) ?? findUtf16(raw)) === undefined) {
    const encoding = chooseEncoding(raw, options);
    const { foreign } = findUtf8(raw, encoding);
    if (foreign !== undefined) {
      const by = options.override ? "what was agreed for this interface" : "MSH-18";
      throw new Failure("HL7_CHARSET_UTF8", {
        place: atLine(foreign.line),
        message: `is UTF-8 (byte ${foreign.offset} of the message), and ${by} says ${encoding}; expected one character set`,
        expected: [encoding],
        hint: hintOfForeign(raw, encoding, options.override !== undefined),
      });
    }
  }
  return decodeHl7(raw, options);
}

/**
 * The header of a message whose characters can't be read, for those who answer it: what names a message is nearly always ASCII,
 * and the rest is not to be repeated to anybody.
 */
export function readHeaderLine(raw: Buffer): string {
  const line = lineFrom(raw, 0);
  return isUtf8(line) ? line.toString("utf8").replace(/^\ufeff/, "") : line.toString("latin1");
}

function lineFrom(raw: Buffer, from: number): Buffer {
  const ends = [0x0d, 0x0a].map((end) => raw.indexOf(end, from)).filter((at) => at !== -1);
  return raw.subarray(from, Math.min(...ends, raw.length));
}

/** @param isAgreed whether the configuration names the encoding, rather than MSH-18 */
function hintOfForeign(raw: Buffer, encoding: Encoding, isAgreed: boolean): string {
  const correct = isAgreed
    ? `If the sender writes UTF-8, set \`encoding: utf-8\` for the connector; else have it write ${encoding} throughout.`
    : "Have the sender name UNICODE UTF-8 in MSH-18.";
  if (decodeBytes(raw, encoding).ok)
    return byReload(
      `${correct} If it only looks like UTF-8: \`encoding: { name: ${encoding}, forced: true }\` for the connector.`,
    );
  return isAgreed ? byReload(correct) : correct;
}

const NO_UTF8 = byReload(
  "Have the sender name in MSH-18 what it writes, or write UTF-8. Or set `encoding` for the connector to what it writes, such as `encoding: windows-1252` in Western Europe (`--charset` of `cryobridge hl7`), and see with `preview --show-phi` that the names are right.",
);

/** The line of a message on which a byte stands, from 1. */
function lineAt(raw: Buffer, offset: number): number {
  return raw.toString("latin1", 0, offset).split(/\r\n|\r|\n/).length;
}

/** UTF-16 without a byte order mark, in the form of one: the first letter of MSH, FHS or BHS beside a zero byte. */
export function findUtf16(bytes: Buffer): { encoding: "utf-16le" | "utf-16be"; length: 0 } | undefined {
  if (bytes[1] === 0 && isFirstLetter(bytes[0])) return { encoding: "utf-16le", length: 0 };
  if (bytes[0] === 0 && isFirstLetter(bytes[1])) return { encoding: "utf-16be", length: 0 };
  return undefined;
}

function isFirstLetter(byte: number | undefined): boolean {
  return byte === 0x4d || byte === 0x46 || byte === 0x42;
}

/** Where a message says its character set. */
const DECLARED = atField("MSH", 18);

function chooseEncoding(raw: Buffer, options: CharsetOptions): Encoding {
  if (options.override) return requireEncoding(options.override);
  const names = readCharacterSets(raw);
  const declared = names[0] ?? "";
  if (names.length > 1 && names.some((name, n) => n > 0 && name !== "") && raw.includes(ESCAPE_BYTE)) {
    throw new Failure("HL7_CHARSET_UNKNOWN", {
      place: DECLARED,
      message: "switching between character sets within a message is not supported",
    });
  }
  if (declared !== "") return requireEncoding(declared, DECLARED);
  if (options.fallback) return requireEncoding(options.fallback);
  return "utf-8";
}

/** @param place where the message says so; undefined for what the site says */
function requireEncoding(name: string, place?: Place): Encoding {
  const encoding = findEncoding(name);
  // A UTF-16 message was recognised by its zero bytes already: one that is readable byte by byte is none.
  if (encoding !== undefined && !isWide(encoding)) return encoding;
  const shown = JSON.stringify(name.slice(0, 32));
  const message = `${shown} is no character set that these bytes can be read in`;
  throw new Failure("HL7_CHARSET_UNKNOWN", { message, place });
}

/**
 * The repetitions of MSH-18, read byte by byte, as every character set but UTF-16 agrees on the header's bytes; none where
 * it is empty.
 */
function readCharacterSets(raw: Buffer): readonly string[] {
  const start = raw.indexOf("MSH");
  if (start === -1) return [];
  const header = lineFrom(raw, start).toString("latin1");
  // MSH-1 is the separator itself.
  const field = header.split(header.charAt(3), 18)[17] ?? "";
  return field === "" ? [] : field.split(header.charAt(5)).map((name) => name.trim());
}

/** What results are written in; `as-received` is the character set of the message that they are about. */
export type ResultEncoding = Encoding | "as-received";

/** How a message is written. */
export interface ResultCharset {
  readonly encoding: Encoding;
  /** MSH-18. */
  readonly name: string;
}

/** Unless set otherwise, and for what is about no message. */
const UTF_8: ResultCharset = { encoding: "utf-8", name: "UNICODE UTF-8" };

/**
 * How a message about another one is written. As received, MSH-18 names the character set as its sender does, where that
 * is what it was read in. UTF-16 has no place in MLLP, and its senders read UTF-8, so they get that.
 *
 * @param received what the other one was read in; none where it is about no other
 * @param declared its MSH-18
 */
export function charsetOf(
  wanted: ResultEncoding | undefined,
  received?: string,
  declared?: string,
): ResultCharset {
  if (wanted !== "as-received") return wanted === undefined ? UTF_8 : named(wanted);
  const encoding = findEncoding(received ?? "");
  if (encoding === undefined || isWide(encoding)) return UTF_8;
  const isDeclared = declared !== undefined && findEncoding(declared) === encoding;
  return isDeclared ? { encoding, name: declared } : named(encoding);
}

/** HL7's own words (table 0211), where it has some. */
const NAME_BY_ENCODING: Readonly<Partial<Record<Encoding, string>>> = {
  "us-ascii": "ASCII",
  "utf-8": UTF_8.name,
  gb18030: "GB 18030-2000",
  big5: "BIG-5",
  "euc-kr": "KS X 1001",
};

function named(encoding: Encoding): ResultCharset {
  const part = /^iso-8859-(\d+)$/.exec(encoding)?.[1];
  const name = part === undefined ? (NAME_BY_ENCODING[encoding] ?? encoding.toUpperCase()) : `8859/${part}`;
  return { encoding, name };
}
