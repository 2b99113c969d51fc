import { Failure } from "../../core/failures.ts";
import { type CsvValue, encodeCsv } from "../../formats/csv/encode.ts";
import { encodeText, isEncodable, spellOut } from "../../formats/encode-text.ts";
import { type Encoding, isWide } from "../../formats/encoding.ts";
import type { ResultSettings } from "../profile/profile.ts";

/** How a CSV file is written. */
export type CsvWriting = Pick<ResultSettings, "encoding" | "byteOrderMark">;

/** What CSV files are written in: a profile for CSV has no other character set to go by. */
function encodingOf({ encoding = "utf-8" }: CsvWriting): Encoding {
  return encoding === "as-received" ? "utf-8" : encoding;
}

/**
 * The bytes of a CSV file. UTF-16 always begins with a byte order mark, since nothing else tells it.
 *
 * @throws Failure RESULT_NOT_ENCODABLE
 */
export function encodeTable(
  columns: readonly string[],
  rows: readonly (readonly CsvValue[])[],
  writing: CsvWriting,
): Buffer {
  const encoding = encodingOf(writing);
  const hasMark = isWide(encoding) || (encoding === "utf-8" && writing.byteOrderMark === true);
  const encoded = encodeText(`${hasMark ? "\ufeff" : ""}${encodeCsv(columns, rows)}`, encoding);
  if (encoded.ok) return encoded.bytes;
  throw new Failure("RESULT_NOT_ENCODABLE", `a file holds a character that ${encoding} does not have`);
}

/**
 * Rows that a file can hold: characters that its character set doesn't have are spelled in columns for people.
 *
 * @param textColumns those columns
 * @throws Failure RESULT_NOT_ENCODABLE where any other has one
 */
export function fitRows<R extends Readonly<Record<string, string>>>(
  rows: readonly R[],
  textColumns: readonly (keyof R & string)[],
  writing: CsvWriting,
): R[] {
  const encoding = encodingOf(writing);
  return rows.map((row) => {
    const unfit = Object.keys(row).filter((column) => !isEncodable(row[column] ?? "", encoding));
    const [first] = unfit.filter((column) => !textColumns.includes(column));
    if (first !== undefined) {
      throw new Failure(
        "RESULT_NOT_ENCODABLE",
        `column ${first} holds a character that ${encoding} does not have`,
      );
    }
    const spelled = unfit.map((column) => [column, spellOut(row[column] ?? "", encoding)]);
    return unfit.length === 0 ? row : { ...row, ...Object.fromEntries(spelled) };
  });
}
