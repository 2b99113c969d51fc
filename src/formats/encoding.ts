import { isAscii } from "node:buffer";
import iconv from "iconv-lite";

/** A character encoding that texts are read and written in, by its usual lower-case name. */
export type Encoding =
  | "us-ascii"
  | "utf-8"
  | "utf-16le"
  | "utf-16be"
  | "windows-1250"
  | "windows-1251"
  | "windows-1252"
  | "windows-1253"
  | "windows-1254"
  | "windows-1256"
  | "windows-1257"
  | "cp437"
  | "cp850"
  | "cp852"
  | "cp855"
  | "cp858"
  | "cp866"
  | "macintosh"
  | "maccenteuro"
  | "koi8-r"
  | "koi8-u"
  | "iso-8859-1"
  | "iso-8859-2"
  | "iso-8859-3"
  | "iso-8859-4"
  | "iso-8859-5"
  | "iso-8859-6"
  | "iso-8859-7"
  | "iso-8859-8"
  | "iso-8859-9"
  | "iso-8859-15"
  | "gb18030"
  | "big5"
  | "shift_jis"
  | "euc-jp"
  | "euc-kr";

/** Text, or the 0-based offset of the first byte that the encoding does not have. */
type Decoded = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly offset: number };

/** Encodings that the platform's decoder doesn't have, or has otherwise: by WHATWG's names, `iso-8859-1` is Windows-1252. */
const BY_ICONV: readonly Encoding[] = [
  ...(["cp437", "cp850", "cp852", "cp855", "cp858", "macintosh", "maccenteuro", "koi8-u"] as const),
  ...(["iso-8859-1", "iso-8859-9"] as const),
];

/**
 * Spellings met in HL7 table 0211, in MSH-18 in the field, and in configurations; letters and digits only, upper case.
 * `UNICODE` alone once meant UCS-2, but a header that was readable byte by byte can only be UTF-8.
 */
const ENCODING_BY_ALIAS: ReadonlyMap<string, Encoding> = new Map<string, Encoding>([
  ...(["ASCII", "USASCII", "ISOIR6", "ANSIX34", "ISO646", "7BIT"] as const).map(
    (alias) => [alias, "us-ascii"] as const,
  ),
  ...(["UTF8", "UNICODEUTF8", "UNICODE", "ISOIR192", "ISO10646UTF8"] as const).map(
    (alias) => [alias, "utf-8"] as const,
  ),
  ["UTF16LE", "utf-16le"],
  ["UTF16BE", "utf-16be"],
  ...(["1250", "1251", "1252", "1253", "1254", "1257"] as const).flatMap((page) =>
    ["WINDOWS", "WIN", "CP", "MSCP", "ANSI"].map((prefix) => [prefix + page, `windows-${page}`] as const),
  ),
  ["WINDOWS1256", "windows-1256"],
  ["CP1256", "windows-1256"],
  ...(["437", "850", "852", "855", "858", "866"] as const).flatMap((page) =>
    ["CP", "IBM", "DOS", "OEM", "CPDOS"].map((prefix) => [prefix + page, `cp${page}`] as const),
  ),
  ...(["MACINTOSH", "MACROMAN", "XMACROMAN", "MAC"] as const).map((alias) => [alias, "macintosh"] as const),
  ...(["MACCENTEURO", "XMACCE", "MACCE"] as const).map((alias) => [alias, "maccenteuro"] as const),
  ["KOI8R", "koi8-r"],
  ["KOI8U", "koi8-u"],
  ["ANSI", "windows-1252"],
  ...(["1", "2", "3", "4", "5", "6", "7", "8", "9", "15"] as const).flatMap((part) =>
    ["8859", "ISO8859", "ISOIEC8859"].map((prefix) => [prefix + part, `iso-8859-${part}`] as const),
  ),
  ["LATIN1", "iso-8859-1"],
  ["LATIN2", "iso-8859-2"],
  ["LATIN9", "iso-8859-15"],
  ["ISOIR100", "iso-8859-1"],
  ["ISOIR101", "iso-8859-2"],
  ["ISOIR109", "iso-8859-3"],
  ["ISOIR110", "iso-8859-4"],
  ["ISOIR144", "iso-8859-5"],
  ["ISOIR127", "iso-8859-6"],
  ["ISOIR126", "iso-8859-7"],
  ["ISOIR138", "iso-8859-8"],
  ["ISOIR148", "iso-8859-9"],
  ["GB180302000", "gb18030"],
  ["GB18030", "gb18030"],
  ["GBK", "gb18030"],
  ["GB2312", "gb18030"],
  ["BIG5", "big5"],
  ["SHIFTJIS", "shift_jis"],
  ["SJIS", "shift_jis"],
  ["WINDOWS31J", "shift_jis"],
  ["CP932", "shift_jis"],
  ["EUCJP", "euc-jp"],
  ["EUCKR", "euc-kr"],
  ["KSX1001", "euc-kr"],
]);

/** By our own names, and the one spelling of table 0211 that most messages have: nothing is to be made of those. */
const ENCODING_BY_NAME: ReadonlyMap<string, Encoding> = new Map<string, Encoding>([
  ...[...ENCODING_BY_ALIAS.values()].map((encoding) => [encoding, encoding] as const),
  ["UNICODE UTF-8", "utf-8"],
]);

/** The encoding that a name stands for, however it is spelled; undefined when it is not known. */
export function findEncoding(name: string): Encoding | undefined {
  return ENCODING_BY_NAME.get(name) ?? ENCODING_BY_ALIAS.get(name.toUpperCase().replace(/[^A-Z0-9]/g, ""));
}

/** Whether an encoding has two bytes or more for each character, so that no header can be read byte by byte. */
export function isWide(encoding: Encoding): encoding is "utf-16le" | "utf-16be" {
  return encoding === "utf-16le" || encoding === "utf-16be";
}

/**
 * Decodes strictly: nothing is ever replaced. Bytes don't fit either that come out as the control characters U+0080 to U+009F,
 * which no text of a lab has: in ISO 8859 such a text is Windows-125x under a wrong name, in Windows-125x (where the platform
 * reads 0x81 so) it is damaged or of another set, and a name would be taken with an invisible character in it.
 */
export function decodeBytes(bytes: Buffer, encoding: Encoding): Decoded {
  const text = tryDecode(bytes, encoding);
  return text === undefined ? { ok: false, offset: findBad(bytes, encoding) } : { ok: true, text };
}

/** Undefined for bytes that don't fit. `isBegun` forgives a last character that is not complete yet. */
function tryDecode(bytes: Buffer, encoding: Encoding, isBegun = false): string | undefined {
  if (isAscii(bytes) && !isWide(encoding)) return bytes.toString("latin1");
  if (encoding === "us-ascii") return undefined;
  if (BY_ICONV.includes(encoding)) {
    const text = iconv.decode(bytes, encoding);
    return UNFIT.test(text) ? undefined : text;
  }
  try {
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
    const text = decoder.decode(bytes, { stream: isBegun });
    return HAS_CONTROLS.includes(encoding) || !C1_CONTROL.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Sets of all characters: here the control characters are what was written. */
const HAS_CONTROLS: readonly Encoding[] = ["utf-8", "utf-16le", "utf-16be", "gb18030"];
const C1_CONTROL = /[\u0080-\u009f]/;
const UNFIT = /[\u0080-\u009f\ufffd]/;

const PIECE_BYTES = 65_536;

/**
 * Only for bytes known to be ill-formed: goes over them once, piece by piece, and in the one that doesn't decode halves the distance to
 * the shortest prefix that doesn't.
 */
function findBad(bytes: Buffer, encoding: Encoding): number {
  let from = 0;
  while (true) {
    const piece = bytes.subarray(from, from + PIECE_BYTES);
    const isGood = (length: number, isBegun: boolean) =>
      tryDecode(piece.subarray(0, length), encoding, isBegun) !== undefined;
    const isWhole = isGood(piece.length, true);
    let good = isWhole ? piece.length : 0;
    let bad = piece.length;
    while (bad - good > 1) {
      const middle = (good + bad) >> 1;
      if (isGood(middle, true)) good = middle;
      else bad = middle;
    }
    // The last character began up to three bytes before: it goes on in the next piece, or is the bad one.
    while (good > 0 && !isGood(good, false)) good--;
    if (!isWhole || from + piece.length >= bytes.length) return from + good;
    from += good;
  }
}

/** Length in bytes of the well-formed UTF-8 character at `i`, or 0 where there is none. */
export function utf8Length(bytes: Buffer, i: number): number {
  const first = bytes[i] ?? 0;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  const second = bytes[i + 1] ?? 0;
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let k = 2; k < length; k++) {
    const byte = bytes[i + k] ?? 0;
    if (byte < 0x80 || byte > 0xbf) return 0;
  }
  return length;
}

/** Bytes, or where in the text (in UTF-16 units) the first character stands that the encoding does not have. */
type Encoded =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly offset: number };

/**
 * Encodes strictly: nothing is ever replaced, and what comes out reads back as the same text by {@link decodeBytes}.
 * No byte order mark is written.
 */
export function encodeText(text: string, encoding: Encoding): Encoded {
  const bytes = tryEncode(text, encoding);
  return bytes === undefined ? { ok: false, offset: findUnfit(text, encoding) } : { ok: true, bytes };
}

/** Whether a text can be written in an encoding without any loss. */
export function isEncodable(text: string, encoding: Encoding): boolean {
  if (encoding === "utf-8") return text.isWellFormed();
  return tryEncode(text, encoding) !== undefined;
}

/**
 * A text in which each character that the encoding does not have is replaced by its number, `[U+0142]`, so that nothing
 * of it is lost or goes unnoticed. Letters that the encoding has only as a whole (é) are put together first.
 *
 * @param write writes a spelled number where some of its characters can't stand as they are
 */
export function spellOut(
  text: string,
  encoding: Encoding,
  write: (spelled: string) => string = (spelled) => spelled,
): string {
  if (isEncodable(text, encoding)) return text;
  return [...text.normalize("NFC")]
    .map((character) => (isEncodable(character, encoding) ? character : write(numberOf(character))))
    .join("");
}

function numberOf(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  return `[U+${number.toString(16).toUpperCase().padStart(4, "0")}]`;
}

function tryEncode(text: string, encoding: Encoding): Buffer | undefined {
  if (isAsciiText(text) && !isWide(encoding)) return Buffer.from(text, "latin1");
  if (encoding === "us-ascii" || !text.isWellFormed()) return undefined;
  const bytes = writeBytes(text, encoding);
  if (encoding === "utf-8" || isWide(encoding)) return bytes;
  const decoded = decodeBytes(bytes, encoding);
  return decoded.ok && decoded.text === text ? bytes : undefined;
}

/** Each of these encodings writes a character the same wherever it stands. */
function findUnfit(text: string, encoding: Encoding): number {
  let offset = 0;
  for (const character of text) {
    if (!isEncodable(character, encoding)) break;
    offset += character.length;
  }
  return offset;
}

function writeBytes(text: string, encoding: Encoding): Buffer {
  switch (encoding) {
    case "utf-8":
      return Buffer.from(text, "utf8");
    case "utf-16le":
      return Buffer.from(text, "utf16le");
    case "utf-16be":
      return Buffer.from(text, "utf16le").swap16();
    default:
      return iconv.encode(text, encoding);
  }
}

function isAsciiText(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}
