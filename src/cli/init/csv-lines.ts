import { trimBlanks } from "../../formats/csv/headings.ts";
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

/**
 * The last line of a sample as `trailer` of a profile: from the first word that begins such lines on, with `count` where the first
 * number behind it is that of the lines above. Nothing else of the line is repeated, since it may be a patient's.
 */
export function trailerOf(
  { raw }: SampleLine,
  linesAbove: number,
): NonNullable<ProfileDefinition["trailer"]> | undefined {
  const text = trimBlanks(raw);
  const word = text.match(/\p{L}+/gu)?.find((each) => CLOSING.has(plainHeading(each))) ?? "";
  const at = text.indexOf(word);
  const lead = /[\p{L}\p{N}]/u.test(text.slice(0, at)) ? ".*" : escaped(text.slice(0, at));
  const [, number] = /^\D*(\d+)(?![.,\d])/.exec(text.slice(at + word.length)) ?? [];
  if (number !== undefined && Number(number) === linesAbove)
    return { line: `${lead}${word}\\D*(\\d+).*`, count: 1 };
  return word === "" ? undefined : { line: `${lead}${word}.*` };
}

/** A text as it stands in a pattern. */
function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replaceAll("\t", "\\t");
}
