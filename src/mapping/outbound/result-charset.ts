import { type Encoding, findEncoding, isWide } from "../../formats/encoding.ts";

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
