import { ColumnTotal } from "../../connectors/csv-drop/trailer.ts";
import { trimBlanks } from "../../formats/csv/headings.ts";
import { compileBoundedRegex } from "../../mapping/profile/bounded-regex.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import { countMeanings, plainHeading } from "./headings.ts";

/** A line of a sample; without values where it has not the columns of a row. */
export interface SampleLine {
  readonly raw: string;
  readonly values: ReadonlyMap<string, string> | undefined;
}

/** What marks a line as a remark: a sign, or a word with a colon or an end of a cell behind it. */
const REMARK =
  /^"?(?:#|\/\/|--|\*|%|!|(?:anmerkung|bemerkung|hinweis|kommentar|notiz|comment|note|notes|remark|info|information|commentaire|remarque|nota|comentario|commento|opmerking|kommentti|merknad|anm)\s*[:;,|\t])/i;

/** So many headings that are known, or filled cells, are a line of the table. */
const ENOUGH_CELLS = 3;

/**
 * Patterns for the lines of a sample that are remarks, as `noRow` of a profile has them. A sign that a heading or a row begins
 * with marks no remark.
 */
export function remarkPatterns(bytes: Buffer): string[] {
  // The signs and words are ASCII, whatever the character set is.
  const text = bytes.toString("latin1").replaceAll("\0", "");
  const lines = text.replace(/^(?:ï»¿|ÿþ|þÿ)/, "").split(/[\r\n]+/);
  const width = Math.max(...lines.map((line) => cellsOf(line).length));
  const isOfTable = (line: string) => {
    const cells = cellsOf(line);
    const filled = cells.filter((cell) => cell.trim() !== "");
    return countMeanings(cells) >= ENOUGH_CELLS || (filled.length >= ENOUGH_CELLS && cells.length === width);
  };
  const found = new Map<string, boolean>();
  for (const line of lines) {
    const mark = REMARK.exec(line.trim())?.[0];
    if (mark === undefined) continue;
    found.set(mark, (found.get(mark) ?? true) && !isOfTable(line));
  }
  return [...found].flatMap(([mark, isRemark]) => (isRemark ? [`${escaped(mark)}.*`] : []));
}

function cellsOf(line: string): string[] {
  return line.split(/[;,|\t]/);
}

/** Words that begin a last line which is no row: a total, a count, an end. */
const CLOSING = new Set(
  "summe summen gesamt gesamtsumme gesamtanzahl gesamtzahl insgesamt zwischensumme anzahl ende dateiende zeilen datensatze fusszeile ergebnis total totals totaal totale totalt totaux grandtotal sum count rows records lines end eof eot endoffile trailer trl footer fin finfichier somme nombre fine conteggio numero suma soma cantidad antal antall summa slut slutt aantal einde ilosc razem koniec yhteensa loppu"
    .split(" ")
    .map(plainHeading),
);

/** Whether a last line says that it is none of the rows. */
export function isClosing({ raw, values }: SampleLine, delimiter: string): boolean {
  const cells = values === undefined ? raw.split(delimiter) : [...values.values()];
  const filled = cells.map((cell) => cell.replace(/^["'\s]+|["'\s]+$/g, "")).filter((cell) => cell !== "");
  const [first = ""] = filled;
  if (isClosingWord(first)) return true;
  // A row that was cut begins with its first cells, and a number alone is none of them.
  return filled.length <= 2 && (filled.some(isClosingWord) || (values === undefined && /^\d+$/.test(first)));
}

function isClosingWord(cell: string): boolean {
  const [, word = ""] = /^[^\p{L}\p{N}]*(\p{L}+)/u.exec(cell) ?? [];
  return CLOSING.has(plainHeading(word));
}

/** What of a sample a last line may be about. */
interface AboutLastLine {
  readonly delimiter: string;
  /** Whatever stands above it and is no remark. */
  readonly rows: readonly ReadonlyMap<string, string>[];
  /** How many lines those are, with such as are no rows. */
  readonly lines: number;
  /** Columns without a meaning, of which one may be added up. */
  readonly columns: readonly string[];
  /** The headings, whose words may stand in the line too. */
  readonly headings: readonly string[];
}

const NUMBER = /[+-]?\d+(?:[.,'’ \u00a0\u202f]\d+)*/u;

/**
 * The last line of a sample as `trailer` of a profile: with `count` or `sum` where a number of it is that of the rows or the
 * total of a column. Only words that begin such lines, and those of headings, are repeated. Undefined where nothing of the line
 * could be recognised again.
 */
export function trailerOf(
  { raw, values }: SampleLine,
  about: AboutLastLine,
): NonNullable<ProfileDefinition["trailer"]> | undefined {
  const { delimiter, rows, lines, columns, headings } = about;
  const text = trimBlanks(raw);
  const isTotalOf = (column: string, number: string) => {
    const total = new ColumnTotal({ column, group: 1, textOf: (row) => row.get(column)?.trim() ?? "" });
    for (const row of rows) total.add(row, {});
    return (
      rows.some((row) => row.get(column)?.trim()) && total.troubleWith(["", number], new Map()) === undefined
    );
  };
  const names = [...(values?.keys() ?? [])];
  let count = 0;
  let sum: string | undefined;
  let groups = 0;
  const known = new Set([...CLOSING, ...headings.flatMap(wordsOf)]);
  const parts = text.split(delimiter).map((cell, at) => {
    const own = columns.includes(names[at] ?? "") ? names[at] : undefined;
    return piecesOf(cell, known).map((piece): string => {
      if (!NUMBER.test(piece) || piece === ANYTHING) return piece;
      const ofColumn = [...(own === undefined ? [] : [own]), ...columns].find((name) =>
        isTotalOf(name, piece),
      );
      const isCount = count === 0 && /^\d{1,9}$/.test(piece) && Number(piece) === lines;
      if (sum === undefined && ofColumn !== undefined && (!isCount || ofColumn === own)) {
        sum = ofColumn;
        groups += 1;
        return TOTAL;
      }
      if (!isCount) return "[\\d.,:/-]+";
      groups += 1;
      count = groups;
      return COUNT;
    });
  });
  const pieces = parts.flatMap((cell, at) => (at === 0 ? cell : [escaped(delimiter), ...cell]));
  const line = shortened(pieces);
  if (!/[\p{L}\d]/u.test(line.replaceAll(/\\[dDt]/g, "")) && groups === 0) return undefined;
  const pattern = compileBoundedRegex(`^(?:${line})$`);
  if (typeof pattern === "string" || !pattern.test(text)) {
    const [word] = parts.flat().filter((piece) => CLOSING.has(plainHeading(piece)));
    return text.startsWith(word ?? " ") ? { line: `${word}.*`, required: true } : undefined;
  }
  return { line, ...(count > 0 ? { count } : {}), ...(sum === undefined ? {} : { sum }), required: true };
}

const COUNT = "(\\d+)";
const TOTAL = "([-+\\d.,'’\\s]+)";
const ANYTHING = "\\D*";

/** A cell in words that may stand in a profile, numbers, and whatever else. */
function piecesOf(cell: string, known: ReadonlySet<string>): string[] {
  const tokens =
    cell.match(new RegExp(`${NUMBER.source}|\\p{L}[\\p{L}\\p{M}]*|[^\\p{L}\\p{N}]+|.`, "gu")) ?? [];
  return tokens.map((token) => {
    if (NUMBER.test(token)) return token;
    if (!/\p{L}/u.test(token)) return escaped(token);
    return known.has(plainHeading(token)) ? token : ANYTHING;
  });
}

function wordsOf(heading: string): string[] {
  return (heading.match(/\p{L}+/gu) ?? []).map(plainHeading);
}

/** Behind the last number that counts anything may stand. */
function shortened(pieces: readonly string[]): string {
  const last = Math.max(pieces.lastIndexOf(COUNT), pieces.lastIndexOf(TOTAL));
  const from = last === -1 ? pieces.findIndex((piece) => CLOSING.has(plainHeading(piece))) : last;
  const rest = pieces.slice(from + 1);
  const isPlain = rest.every((piece) => !/[\p{L}\p{N}]/u.test(piece.replaceAll("\\t", "")));
  return [...pieces.slice(0, from + 1), ...(isPlain ? rest : [".*"])].join("");
}

/** A text as it stands in a pattern. */
function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replaceAll("\t", "\\t");
}
