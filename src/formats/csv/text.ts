import { isUtf8 } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { findByteOrderMark } from "../../core/byte-order-mark.ts";
import { Failure, type Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import { atLine } from "../../core/place.ts";
import { decodeBytes, type Encoding, isWide } from "../encoding.ts";
import { findUtf8, OTHER_ENCODINGS } from "../misguess.ts";
import { type CsvDialect, requireDialect } from "./dialect.ts";

/** The text of a CSV file. */
export interface CsvText {
  /** In UTF-8, without a byte order mark. */
  readonly bytes: Buffer;
  /** What the file is written in. */
  readonly encoding: Encoding;
  readonly hasByteOrderMark: boolean;
  /** Nobody said `encoding`: it is the one that the bytes leave. */
  readonly isGuess: boolean;
}

/**
 * Decodes a file strictly, in pieces; some steps hold the event loop for about half a second in 64 MB. A byte order mark decides the encoding. `auto` has one rule:
 * the file is UTF-8 when all of it is; else it is Windows-1252 when that has every byte and no character beyond ASCII reads as
 * UTF-8; else (two encodings in one file, or some third) it is refused at the first byte that is not UTF-8.
 *
 * Throws CSV_BYTES, CSV_BINARY for what is no text, CSV_DIALECT_INVALID, and CSV_ENCODING_UTF8 for a line that is UTF-8 where
 * another encoding was agreed, unless that is forced.
 */
export async function decodeCsv(
  bytes: Buffer,
  dialect: Pick<CsvDialect, "delimiter" | "quote" | "encoding" | "isEncodingForced">,
): Promise<CsvText> {
  const agreed = requireDialect(dialect).encoding;
  requireText(bytes);
  const mark = findByteOrderMark(bytes);
  if (mark !== undefined) {
    const decoded = await decode(bytes, mark.encoding, mark.length);
    return { bytes: decoded, encoding: mark.encoding, hasByteOrderMark: true, isGuess: false };
  }
  if (agreed !== undefined) {
    const { foreign } = dialect.isEncodingForced === true ? {} : findUtf8(bytes, agreed);
    if (foreign) throw new Failure("CSV_ENCODING_UTF8", utf8Problem(foreign, agreed));
  }
  const encoding = agreed ?? (isUtf8(bytes) ? "utf-8" : "windows-1252");
  const isGuess = agreed === undefined && encoding !== "utf-8";
  const text = { encoding, hasByteOrderMark: false, isGuess };
  if (!isGuess) return { ...text, bytes: await decode(bytes, encoding) };
  // Where it is neither, decoding as UTF-8 names the first byte that is none.
  if (findUtf8(bytes, encoding).hasUtf8) await decode(bytes, "utf-8");
  const decoded = decode(bytes, encoding).catch(() => decode(bytes, "utf-8", 0, NEITHER));
  return { ...text, bytes: await decoded };
}

/** Some megabytes in another encoding than UTF-8 take tens of milliseconds. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** @param from where the text begins, behind a byte order mark */
async function decode(bytes: Buffer, encoding: Encoding, from = 0, hint = NO_UTF8): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = from; at < bytes.length; ) {
    const end = endOfPiece(bytes, at, encoding);
    const piece = at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end);
    const decoded = encoding === "utf-8" && isUtf8(piece) ? undefined : decodeBytes(piece, encoding);
    if (decoded?.ok === false) {
      const offset = at + decoded.offset;
      // In the sequence of the file: what has a NUL before it is no text, whatever the encoding.
      requireNoNul(isWide(encoding) ? Buffer.alloc(0) : bytes.subarray(0, offset));
      throw new Failure("CSV_BYTES", {
        place: atLine(lineAt(bytes.subarray(from, offset), encoding)),
        message: `byte ${offset} of the file is not ${encoding}`,
        expected: [encoding],
        ...(encoding === "utf-8" ? { hint } : {}),
      });
    }
    pieces.push(decoded === undefined ? piece : Buffer.from(decoded.text));
    at = end;
    if (at < bytes.length) await nextTurn();
  }
  const decoded = pieces.length === 1 ? (pieces[0] ?? bytes) : Buffer.concat(pieces);
  requireNoNul(decoded);
  return decoded;
}

/** A line end is a whole character in each of these encodings, and UTF-16 is read fast. */
function endOfPiece(bytes: Buffer, at: number, encoding: Encoding): number {
  if (encoding === "utf-8" || isWide(encoding)) return bytes.length;
  const end = bytes.indexOf(LF, at + PIECE_BYTES);
  return end === -1 ? bytes.length : end + 1;
}

function lineAt(before: Buffer, encoding: Encoding): number {
  const decoded = isWide(encoding)
    ? decodeBytes(before.subarray(0, before.length & ~1), encoding)
    : undefined;
  const text = decoded?.ok ? decoded.text : before.toString("latin1");
  return 1 + countLineEnds(Buffer.from(text));
}

/** How many lines end in bytes of UTF-8, from one offset to another; CRLF is one end. */
export function countLineEnds(bytes: Buffer, from = 0, to = bytes.length): number {
  let count = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte === CR || (byte === LF && (at === from || bytes[at - 1] !== CR))) count += 1;
  }
  return count;
}

/** How files begin that people drop by mistake. */
const NO_TEXT: readonly (readonly [bytes: string, what: string])[] = [
  ["\x89PNG", "a picture (PNG)"],
  ["\xff\xd8\xff", "a picture (JPEG)"],
  ["%PDF", "a PDF"],
  ["PK\x03\x04", "a ZIP archive or an Excel workbook (.xlsx)"],
  ["\xd0\xcf\x11\xe0", "an Excel workbook (.xls)"],
];

function requireText(bytes: Buffer): void {
  const opening = bytes.toString("latin1", 0, 4);
  const [, what] = NO_TEXT.find(([beginning]) => opening.startsWith(beginning)) ?? [];
  if (what === undefined) return;
  throw new Failure("CSV_BINARY", { place: atLine(1), message: `expected text, found ${what}` });
}

function requireNoNul(bytes: Buffer): void {
  const at = bytes.indexOf(0);
  if (at === -1) return;
  const place = atLine(1 + countLineEnds(bytes, 0, at));
  throw new Failure("CSV_BINARY", { place, message: "expected text, found a NUL character" });
}

function utf8Problem(
  { line, offset }: { readonly line: number; readonly offset: number },
  encoding: Encoding,
): Omit<Problem, "code"> {
  return {
    place: atLine(line),
    message: `is UTF-8 (byte ${offset} of the file), and ${encoding} was agreed for this interface; expected one character set`,
    expected: [encoding],
    hint: byReload(
      `If the sender writes UTF-8, set \`encoding: utf-8\` or \`auto\`; else have the file saved in ${encoding}. If it only looks like UTF-8: \`encoding: { name: ${encoding}, forced: true }\` for the connector.`,
    ),
  };
}

const NO_UTF8 = byReload(
  "Set `encoding` to what the sender writes, such as `encoding: windows-1252` in Western Europe, and see with `preview --show-phi` that the names are right; or have the file saved as UTF-8.",
);

const NEITHER = `It is neither UTF-8 nor Windows-1252. ${namingEncodings(OTHER_ENCODINGS)}`;

/** What to do about a file whose encoding nobody knows. */
export function namingEncodings(likely: readonly string[], more = ""): string {
  return byReload(
    `Set \`encoding\` in the profile or the connector to what the sender writes, such as ${likely.join(" or ")} (Excel's "CSV (MS-DOS)" is cp850 or cp437, its "CSV (Macintosh)" macintosh), or have the file saved as "CSV UTF-8".${more}`,
  );
}

const CR = 0x0d;
const LF = 0x0a;
