import { type Encoding, findEncoding, isEncodable, isWide } from "../../formats/encoding.ts";
import type { ResultEncoding } from "../../formats/hl7/charset.ts";
import { type CsvResults, columnText, csvResults, type Hl7Results, hl7Results } from "./results.ts";
import type { ProfileDefinition } from "./schema.ts";
import { type Complain, compileSettings, defaultsOf, refuseForeign } from "./settings.ts";

/** How results of an HL7 profile are sent. */
export function compileHl7Results(whole: ProfileDefinition, complain: Complain): Hl7Results {
  const given = whole.results ?? {};
  refuseForeign(hl7Results, csvResults, given, "CSV", complain);
  const results = compileSettings(hl7Results, given, complain);
  checkTexts(whole, results.encoding, complain);
  const { fileName } = given;
  if (fileName !== undefined && given.suffix !== undefined)
    complain("suffix", "stands in results.fileName already; expected one of the two");
  if (results.controlAnswers === "none" && (whole.cancel ?? []).length > 0 && !results.send?.has("cancelled"))
    complain(
      "controlAnswers",
      "none needs cancelled in results.send: nothing else would report to the lab that an order was cancelled",
    );
  const suffix = fileName === undefined ? results.suffix : endingOf(fileName);
  checkMarker(results.marker, suffix, complain);
  return { ...results, suffix };
}

/** How results of a CSV profile are sent. */
export function compileCsvResults(whole: ProfileDefinition, complain: Complain): CsvResults {
  const given = whole.results ?? {};
  refuseForeign(csvResults, hl7Results, given, "HL7", complain);
  const results = compileSettings(csvResults, given, complain);
  const { encoding, byteOrderMark } = results;
  checkTexts(whole, encoding, complain);
  if (byteOrderMark && encoding && encoding !== "as-received" && encoding !== "utf-8" && !isWide(encoding))
    complain("byteOrderMark", `is for UTF-8; ${encoding} has none`);
  checkMarker(
    results.marker,
    endingOf(given.fileName ?? defaultsOf(csvResults, ["fileName"]).fileName),
    complain,
  );
  // A character set of its own has nothing to do with the input's mark.
  return { ...results, byteOrderMark: byteOrderMark ?? (encoding === "as-received" ? undefined : false) };
}

/** Complains of each text of the profile that the character set of the results does not have. */
function checkTexts(
  { results: given = {}, encoding: read = "" }: ProfileDefinition,
  wanted: ResultEncoding | undefined,
  complain: Complain,
): void {
  const [encoding, setting] =
    wanted === "as-received" ? [findEncoding(read), "encoding"] : [wanted, "results.encoding"];
  if (encoding === undefined) return;
  const { columns = [], fileName: _, ...texts } = given;
  for (const [path, text] of textsOf({ ...texts, columns: columns.map(columnText) })) {
    const lacking = listLacking(text, encoding);
    if (lacking.length === 0) continue;
    const named = lacking.slice(0, MOST_CHARACTERS).map(nameOfCharacter).join(", ");
    const and = lacking.length > MOST_CHARACTERS ? " and others" : "";
    complain(path, `holds ${named}${and}, which ${encoding} of ${setting} does not have`);
  }
}

/** More of them are no help. */
const MOST_CHARACTERS = 5;

function listLacking(text: string, encoding: Encoding): string[] {
  if (isEncodable(text, encoding)) return [];
  return [...new Set([...text].filter((character) => !isEncodable(character, encoding)))];
}

function nameOfCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `${character} (U+${code.toString(16).toUpperCase().padStart(4, "0")})`;
}

/** Every text of a section, by its path. */
function textsOf(value: unknown, path = ""): [path: string, text: string][] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value !== "object" || value === null) return [];
  const below = (key: string) =>
    Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
  return Object.entries(value).flatMap(([key, each]) => textsOf(each, below(key)));
}

function endingOf(fileName: string): string {
  return /\.[^.{}]*$/.exec(fileName)?.[0] ?? "";
}

/** A marker by the name of the file itself would be the file. */
function checkMarker(marker: string | undefined, ending: string, complain: Complain): void {
  if (marker === `{stem}${ending}`)
    complain("marker", `${marker} is the name of the file of results itself; expected another ending`);
}
