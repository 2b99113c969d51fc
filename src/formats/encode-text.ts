import iconv from "iconv-lite";
import { decodeBytes, type Encoding, isWide } from "./encoding.ts";

/** Bytes, or where in the text (in UTF-16 units) the first character stands that the encoding does not have. */
export type Encoded =
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
