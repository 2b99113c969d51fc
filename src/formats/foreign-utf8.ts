import { isAscii } from "node:buffer";
import { type Encoding, findByteOrderMark, utf8Length } from "./encoding.ts";

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
