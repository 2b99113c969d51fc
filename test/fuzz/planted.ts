import type { Mutant } from "../mutants/mutants.ts";

/** A fault that the fuzzing of a target has to find. */
export interface Planted extends Omit<Mutant, "tests"> {
  readonly target: "written" | "mllp" | "csv" | "hl7";
}

function planted(
  file: string,
  target: Planted["target"],
  ...each: readonly (readonly [name: string, from: string, to: string])[]
): Planted[] {
  return each.map(([name, from, to]) => ({ name, file, target, from, to }));
}

/** What loses, doubles or changes a part of what goes in, and throws nothing. */
export const PLANTED: readonly Planted[] = [
  ...planted(
    "src/formats/csv/records.ts",
    "written",
    [
      "the last row of a file without a line end is lost",
      "if (!cells.every(isBlank)) yield record;",
      "if (!cells.every(isBlank) && !(to === bytes.length && bytes[to - 1] !== LF && bytes[to - 1] !== CR)) yield record;",
    ],
    [
      "a row with one blank cell is lost",
      "if (!cells.every(isBlank)) yield record;",
      "if (!cells.some(isBlank)) yield record;",
    ],
    ["a record with a quote is a line further on", "- (isEnded ? 1 : 0) : 0", "+ (isEnded ? 0 : 1) : 0"],
    [
      "the second of two rows in one block is lost when it is the same",
      "if (!cells.every(isBlank)) yield record;",
      "if (!cells.every(isBlank) && cells.join() !== this_.last) yield record;\n      this_.last = cells.join();".replaceAll(
        "this_",
        "(globalThis as unknown as { last?: string })",
      ),
    ],
    ["a carriage return alone ends no row", '["\\r\\n", "\\n", "\\r"]', '["\\r\\n", "\\n"]'],
  ),
  ...planted("src/formats/csv/read.ts", "written", [
    "the first row is taken for the header's",
    "isHeader ? await records.next() : first; !next.done",
    "isHeader ? (await records.next(), await records.next()) : first; !next.done",
  ]),
  ...planted(
    "src/formats/hl7/delimiters.ts",
    "written",
    [
      "an escaped field separator is a component's",
      "return delimiters.field;",
      "return delimiters.component;",
    ],
    ["an escaped repetition stays escaped", "return delimiters.repetition;", "return undefined;"],
    ["what stands between two escapes is lost", "text.slice(from, open) + decoded", "decoded"],
    ["what stands behind the last escape is lost", "return value + text.slice(from);\n}", "return value;\n}"],
  ),
  ...planted(
    "src/formats/hl7/segment.ts",
    "written",
    [
      "the third repetition is not found",
      "this.#split(n, field)[repetition - 1]",
      "this.#split(n, field).slice(0, 2)[repetition - 1]",
    ],
    [
      "repetitions of one field are taken for another's",
      "if (this.#repetitions?.n !== n) {",
      "if (this.#repetitions === undefined) {",
    ],
    [
      "the fourth field is the third",
      "this.#parts[this.#isHeader ? n - 1 : n]",
      "this.#parts[this.#isHeader ? n - 1 : n === 4 ? 3 : n]",
    ],
  ),
  ...planted(
    "src/formats/hl7/message.ts",
    "written",
    [
      "the first segment of a name is given for each",
      "return this.#segmentsByName.get(name) ?? [];",
      "return (this.#segmentsByName.get(name) ?? []).map((_, __, all) => all[0] as Segment);",
    ],
    [
      "a last segment without a line end is lost",
      "if (to > from) {",
      "if (to > from && (to < text.length || lines.length === 0)) {",
    ],
  ),
  ...planted(
    "src/formats/hl7/mllp.ts",
    "mllp",
    [
      "the end block's first byte stays where a piece ends behind it",
      "this.#dropLast(from - end.dataEnd)",
      "this.#dropLast(0)",
    ],
    [
      "a frame's last byte is lost where it is cut",
      "return { dataEnd: from - 1, next: from + 1 };",
      "return { dataEnd: from - 2, next: from + 1 };",
    ],
    [
      "what is behind a frame's room is lost",
      "if (!this.#isOurs || length > this.#open.length) this",
      "if (!this.#isOurs) this",
    ],
    [
      "an unended frame is lost where another starts",
      "events.push(this.#endLoosely());\n    return restart;",
      "this.#endLoosely();\n    return restart;",
    ],
  ),
];
