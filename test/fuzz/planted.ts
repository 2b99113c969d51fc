import type { Mutant } from "../mutants/mutants.ts";

/** A fault that the fuzzing of a target has to find. */
export interface Planted extends Omit<Mutant, "tests"> {
  readonly target: "written" | "mllp" | "csv" | "hl7" | "service" | "profile";
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
  ...planted(
    "src/service/values.ts",
    "service",
    [
      "an id beyond what JSON numbers hold is rounded",
      ".regex(/^\\d{1,16}$/)\n    .transform(Number)\n    .pipe(z.int()),",
      ".regex(/^\\d{1,20}$/)\n    .transform(Number),",
    ],
    [
      "null counts as an object",
      'return typeof value === "object" && value !== null && !Array.isArray(value);',
      'return typeof value === "object" && !Array.isArray(value);',
    ],
    [
      "a part of another form is no part that is not shown",
      "return shape.nullish().catch(undefined);",
      "return shape.nullish();",
    ],
    [
      "what no database takes is kept in a text",
      'return text.toWellFormed().replace(SENSELESS, "\\ufffd");',
      "return text;",
    ],
    [
      "a character that no database takes is dropped",
      'return text.toWellFormed().replace(SENSELESS, "\\ufffd");',
      'return text.toWellFormed().replace(SENSELESS, "");',
    ],
    [
      "the id of a subject is taken for its facility's",
      "for (const value of [object[key], isObject(inner) ? inner.id : undefined]) {",
      "for (const value of [object[key], isObject(inner) ? inner.id : undefined, object.id]) {",
    ],
  ),
  ...planted(
    "src/service/http/answer.ts",
    "service",
    ["a label that came as a long number is rounded", "return isRounded ? source : value;", "return value;"],
    [
      "an answer that tells of an error is a list",
      "if (isObject(json) && tellsError(json)) return undefined;",
      "",
    ],
    [
      "an answer without a list is an empty one",
      "? listed(only[1], plainName(only[0])) : undefined;",
      '? listed(only[1], plainName(only[0])) : listed(null, "none");',
    ],
    [
      "an entry that is no object is left out of its list",
      "if (!Array.isArray(value) || !value.every(isObject)) return undefined;\n  return { entries: value, envelope };",
      "if (!Array.isArray(value)) return undefined;\n  return { entries: value.filter(isObject), envelope };",
    ],
  ),
  ...planted(
    "src/service/shapes.ts",
    "service",
    [
      "a container is called by its name, not by its label",
      "each[label] ?? each.sampleContainerId ?? each.name ?? undefined",
      "each.name ?? each[label] ?? each.sampleContainerId ?? undefined",
    ],
    [
      "some ids of containers count as all",
      "return shown?.length === containers?.length ? shown : undefined;",
      "return shown;",
    ],
    [
      "whatever begins like a date is cut to one",
      'dateOfBirth?.replace(/^(\\d{4}-\\d{2}-\\d{2})T.*$/, "$1")',
      "dateOfBirth?.slice(0, 10)",
    ],
    [
      "the last name is taken for the first",
      "firstName: wrapped(firstName),",
      "firstName: wrapped(lastName),",
    ],
    [
      "the place of one container is that of the answer around it",
      "const shown = locationFields.parse({ ...raw, ...inner });",
      "const shown = locationFields.parse({ ...inner, ...raw });",
    ],
  ),
  ...planted("src/service/lists/batch-reader.ts", "service", [
    "an answer about another id is taken for the one that was asked for",
    "if (value.id !== id) {",
    "if (value.id === undefined) {",
  ]),
  ...planted("src/service/lists/list.ts", "service", [
    "a second page as long as the first one is the last",
    "entries.length < longestHere;",
    "entries.length <= longestHere;",
  ]),
  ...planted(
    "src/service/inventory/shape.ts",
    "service",
    [
      "a cane's name is taken for its canister's",
      "name === undefined ? place : { ...place, [level]: name }, depth",
      "name === undefined ? place : { ...place, canister: name }, depth",
    ],
    ["of two ids that differ the first one counts", "if (ids.size > 1) return undefined;", ""],
    [
      "a container that was taken out is still there",
      "if (GONE.some((key) => textOf(fields.get(key)) !== undefined)) return false;",
      "",
    ],
    [
      "a container keeps the position of the one before it",
      "const place = { ...around, ...this.#placeOf(fields) };",
      "const place = Object.assign(around, this.#placeOf(fields));",
    ],
  ),
  ...planted(
    "src/mapping/inbound/draft.ts",
    "csv",
    [
      "two containers of an order may have the same label",
      "if (before !== undefined) {\n        const [place, other]",
      "if (before === undefined && label === undefined) {\n        const [place, other]",
    ],
    [
      "a container without a label is left out",
      "const label = this.value(asContainer(read), undefined);",
      "const label = this.value(read, undefined);",
    ],
    [
      "the first name is taken for the last",
      "subject.lastName = phi(lastName);",
      "subject.lastName = phi(firstName ?? lastName);",
    ],
  ),
  ...planted("src/mapping/inbound/order-csv.ts", "csv", [
    "the rows of an order need not agree",
    "return a === b;",
    "return a === b || a !== undefined;",
  ]),
  ...planted("src/mapping/inbound/csv-values.ts", "csv", [
    "composed letters stay apart",
    'return code.trim().normalize("NFC");',
    'return code.trim().normalize("NFD").replace(/\\p{M}/gu, "");',
  ]),
  ...planted("src/formats/hl7/time.ts", "csv", [
    "a day that no calendar has is one",
    "return day <= (DAYS[month - 1] ?? 0);",
    "return day <= 31;",
  ]),
  ...planted(
    "src/mapping/profile/value.ts",
    "hl7",
    [
      "places that must agree may differ",
      "else if (first.value.trim() !== found.value.trim()) {",
      "else if (first.value.trim() === undefined) {",
    ],
    [
      "a value that says delete is one",
      'if (first.value.trim() === \'""\') return { status: "deleted", place: first.place };\n  return applyPipeline(rule, first);',
      "return applyPipeline(rule, first);",
    ],
    [
      "values of several parts are none where one part is empty",
      'if (found.every(({ value }) => value.trim() === "")) return [];',
      'if (found.some(({ value }) => value.trim() === "")) return [];',
    ],
  ),
  ...planted(
    "src/mapping/inbound/containers-hl7.ts",
    "hl7",
    [
      "a specimen without a container of its own is left out",
      "if (found.length > before || segment === undefined) continue;",
      "if (found.length >= before || segment === undefined) continue;",
    ],
    [
      "only the first container of a specimen counts",
      "if (isCounted(segment, each)) found.push({ segment, scope: [segment, ...around] });\n    }",
      "if (isCounted(segment, each) && found.length === before) found.push({ segment, scope: [segment, ...around] });\n    }",
    ],
  ),
  ...planted(
    "src/config/source.ts",
    "profile",
    [
      "an alias may stand inside what it repeats",
      "if (target === undefined || within.includes(target)) {",
      "if (target === undefined) {",
    ],
    [
      "a key without a value ends the reading",
      "(value, [...path, name], offset, within);",
      "(value as Node, [...path, name], value!.range![0], within);",
    ],
  ),
  ...planted(
    "src/mapping/profile/value.ts",
    "profile",
    ["what parts values is a pattern", 'text.replace(/[\\\\^$.*+?()[\\]{}|/-]/g, "\\\\$&"))', "text)"],
    [
      "a path that can't be read ends the reading",
      "return [];\n  }\n}\n\nfunction compileJoin",
      "throw error;\n  }\n}\n\nfunction compileJoin",
    ],
    [
      "a table without a code is refused without a word",
      'if (left.length === 0) complain("the table has no code left; expected one at least");',
      "if (left.length === 0) return undefined as never;",
    ],
  ),
  ...planted("src/mapping/profile/bounded-regex.ts", "profile", [
    "a quantifier may stand on a group with one",
    'if (closed?.hasChoice) return "a quantifier on a group that holds a quantifier or an alternative";',
    "",
  ]),
  ...planted("src/mapping/profile/transforms.ts", "profile", [
    "characters of a date format are a pattern",
    'TOKENS[token] ?? token.replace(/[\\\\^$.*+?()[\\]{}|/-]/g, "\\\\$&"));',
    "TOKENS[token] ?? token);",
  ]),
  ...planted("src/mapping/profile/inherit.ts", "profile", [
    "a constant keeps the places of the profile below",
    "const inherited = child.from === undefined ? parent : kept;",
    "const inherited = parent;",
  ]),
];
