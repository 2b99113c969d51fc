import { isAscii } from "node:buffer";
import { findByteOrderMark } from "../core/byte-order-mark.ts";
import { decodeBytes, type Encoding, encodeText, utf8Length } from "./encoding.ts";

/** What files are written in that are neither UTF-8 nor Windows-1252: Excel's "CSV (MS-DOS)" and "CSV (Macintosh)", and more. */
export const OTHER_ENCODINGS = [
  "cp850",
  "cp437",
  "macintosh",
  "cp852",
  "windows-1250",
] as const satisfies readonly Encoding[];

/** A word: letters, and what stands for letters where the guess is wrong. */
const WORDS = /[^\s,;:!?()[\]{}|/\\"'.+*=<>#&@%_^~`0-9-]+/g;

const CONSONANT = "[bcdfghjklmnpqrstvwxzßñç]";

/** What never stands beside a letter: currency signs before one, marks without their letter, opening quotes after one. */
const IMPOSSIBLE = new RegExp(
  [
    "[\\u0080-\\u009f]",
    "[¢£¤¥ƒ€©™®]\\p{Ll}",
    "[¢£¥ƒ€]\\p{L}",
    "\\p{L}[¢£¤¥ƒ¿¡§¦¬¶÷×±„‚¼½¾¯¨¸ˆ˜‰]",
    "[§¦¬¶÷×±¯¨¸ˆ˜‰]\\p{L}",
    "[¼½¾]\\p{L}{3}",
    "^µ(?!mol|kat|gra|lit|met|sec|sek)\\p{Ll}{3}",
    "\\p{L}[ª«»‹›°º•…†‡“”®™©]\\p{Ll}",
    "\\p{L}(?:[«»‹›•†‡“”]|[¹²³]{1,2})\\p{L}",
    "\\p{Lu}[™©®…]\\p{Lu}",
    "^\\p{L}{1,2}[–—]\\p{Ll}",
    // Units have one or two letters before what raises them.
    "\\p{L}{3}[¹²³]",
    // A capital letter within a word, or at its end; a small one among capitals.
    "\\p{Lu}[À-ÖØ-ÞŠŽŒŸ]\\p{Ll}",
    "\\p{Ll}[À-ÖØ-ÞŠŽŒŸ](?:\\p{Ll}|$)",
    "\\p{Lu}[šžœ]\\p{Lu}",
    "^[šžœ]\\p{Lu}",
    // Letters of the West where only other languages have letters: ß, ö, ü, Ä of another set, č, ř, ě, ů, ń, ć of Windows-1250.
    "aá|(?:au|ei|eu|ie|ro)á(?:$|e)",
    `[B-DF-HJ-NP-TV-Zb-df-hj-np-tv-zß]š${CONSONANT}`,
    "[aeou]œ\\p{Ll}",
    "Ÿ\\p{Ll}",
    `^Ž${CONSONANT}{2}`,
    "[ìù]\\p{Ll}",
    "ñ[bcdfghjklmpqrstvwxz]",
    "iæ$",
    "[áíýúó].*[èøìù]|[èøìùÈØÌÙ].*[áíýúóž]",
  ].join("|"),
  "u",
);

/** In a cell that is one or two words, such as a name, these are no dashes, quotes or dots either. */
const IMPOSSIBLE_IN_NAMES = new RegExp(
  [
    "\\p{L}[‘†‡]\\p{Ll}",
    "^\\p{Lu}\\p{Ll}+’(?!t$|s$|i$|hui)\\p{Ll}",
    "^’(?!tis|twas)\\p{Ll}{3}",
    "\\p{L}\\u00a0\\p{Ll}",
    "^[šžæç]\\p{Ll}",
    "^[…†‡•–—›‹°ª]\\p{L}+$",
    "^\\p{L}+[†‡•–—›‹]$",
  ].join("|"),
  "u",
);

/** A quote of which there is no other in the cell, or a dash or dots in a cell of one word. */
const QUOTE_ALONE = /^[„“”‘«»]\p{L}+$|^\p{L}+[„“”‘…«»]$/u;
const DASH_IN_WORD = /^\p{L}+[–—]\p{Ll}/u;
const QUOTES = /[„“”‘’‚«»"']/g;

/**
 * The encodings that a text may really be in, where it was read as Windows-1252 without anybody saying so and has words that
 * nobody writes: `J”rgens` is Jörgens in cp850. Undefined where nothing speaks against the guess. It does not see a word
 * that comes out of letters alone, such as `Dvoøák`.
 */
export function findMisguess(text: string): readonly Encoding[] | undefined {
  if (/^[\0-\x7f]*$/.test(text)) return undefined;
  const isOneWord = !/[ ,;:]/.test(text.trim());
  // What looks like a space that doesn't break may be a letter.
  const words = isOneWord ? [text.trim()] : (text.match(WORDS) ?? []);
  const isName = words.length <= 2 && !/\d/.test(text);
  const isQuoted = (text.match(QUOTES) ?? []).length > 1;
  const isImpossible = (word: string) =>
    IMPOSSIBLE.test(word) ||
    (isName && (IMPOSSIBLE_IN_NAMES.test(word) || (!isQuoted && QUOTE_ALONE.test(word)))) ||
    (isName && isOneWord && DASH_IN_WORD.test(word));
  for (const word of words) {
    if (/^[\0-\x7f]*$/.test(word) || !isImpossible(word)) continue;
    const likely = OTHER_ENCODINGS.filter((encoding) => isWordIn(word, encoding));
    if (likely.length > 0) return likely;
  }
  return undefined;
}

/** Whether its bytes are a word of letters in another encoding. */
function isWordIn(word: string, encoding: Encoding): boolean {
  const bytes = encodeText(word, "windows-1252");
  const other = bytes.ok ? decodeBytes(bytes.bytes, encoding) : bytes;
  return "text" in other && /^\p{L}+(?:[’–'-]\p{L}+)*$/u.test(other.text) && isInOneCase(other.text);
}

function isInOneCase(word: string): boolean {
  return !/\p{Ll}\p{Lu}(?!\p{Ll})|\p{Lu}{2}\p{Ll}/u.test(word);
}

/** Where bytes stand that are UTF-8 in what is said to be of another encoding. */
interface ForeignUtf8 {
  /** 1-based. */
  readonly line: number;
  /** 0-based offset of the first such byte. */
  readonly offset: number;
}

/** Sets in which a letter takes two bytes: a short text in one of them may well be UTF-8 by chance. */
const DOUBLE_BYTE: readonly Encoding[] = ["gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"];

/** What of some bytes is UTF-8. */
interface Utf8Among {
  /** The first line, or of a set of double bytes the whole, that has characters beyond ASCII and is UTF-8. */
  readonly foreign: ForeignUtf8 | undefined;
  /** Whether any character of two bytes or more is there, whatever else its line holds. */
  readonly hasUtf8: boolean;
}

/**
 * Looks through bytes that are to be read in another encoding than UTF-8, for lines beyond ASCII that are UTF-8 as they
 * stand: read as Windows-1252, `Müller` would become `MÃ¼ller` without a word. In a set of single bytes each line is
 * looked at by itself, since a file may come from two hands: what such a set writes after a capital letter with an accent
 * is hardly ever only what UTF-8 wants there. In a set of double bytes only the whole says it.
 *
 * Text in UTF-16 is never taken for UTF-8, since it has NUL bytes, and what begins with a byte order mark neither.
 */
export function findUtf8(bytes: Buffer, encoding: Encoding): Utf8Among {
  const isOff = encoding === "utf-8" || encoding === "us-ascii" || isAscii(bytes);
  if (isOff || findByteOrderMark(bytes) !== undefined || bytes.includes(0)) return NONE;
  const isByLine = !DOUBLE_BYTE.includes(encoding);
  let [line, isBad, hasUtf8] = [1, false, false];
  /** The first character of two bytes or more in the lines that are judged together. */
  let first: ForeignUtf8 | undefined;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0;
    const length = byte < 0x80 ? 1 : utf8Length(bytes, at);
    if (length === 0) isBad = true;
    else if (length > 1) {
      first ??= { line, offset: at };
      hasUtf8 = true;
    } else if (byte === LF || byte === CR) {
      if (isByLine && first && !isBad) break;
      if (isByLine) [first, isBad] = [undefined, false];
      if (byte === CR || bytes[at - 1] !== CR) line += 1;
    }
    at += Math.max(1, length);
  }
  return { foreign: isBad ? undefined : first, hasUtf8 };
}

const NONE: Utf8Among = { foreign: undefined, hasUtf8: false };
const CR = 0x0d;
const LF = 0x0a;
