import type { CsvDialect } from "../../../src/formats/csv/dialect.ts";
import { readCsv } from "../../../src/formats/csv/read.ts";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { encodeFrame, FrameReader } from "../../../src/formats/hl7/mllp.ts";
import type { Segment } from "../../../src/formats/hl7/segment.ts";
import { piecesIn } from "../mutate.ts";
import { hashOf, Random } from "../random.ts";
import { expectThat, type Target } from "../target.ts";

/** What is written by an input's number is what is read back: rows and cells, segments and their parts, frames. */
export async function makeTarget(): Promise<Target> {
  return {
    name: "written",
    isSeed: true,
    form: { delimiters: ["0"], tokens: piecesIn("1¦2¦3"), brackets: [] },
    seeds: ["3141592653589793", "2718281828459045", "1414213562373095"].map((text) => Buffer.from(text)),
    run: async (input) => {
      const random = new Random(hashOf(input));
      const file = await readBackCsv(random);
      const messages = listOf(random, 3, () => readBackMessage(random));
      readBackFile(random, messages);
      readBackFrames(random, messages);
      return JSON.stringify([file, messages]);
    },
  };
}

const VALUES = piecesIn("¦a¦Anna¦0¦ ¦ x ¦é¦😀¦V-1¦'=1¦''¦null¦7.0");
const LINE_ENDS = ["\n", "\r\n", "\r"] as const;

/** From one to `most`, mostly few. */
function listOf<T>(random: Random, most: number, make: () => T): T[] {
  return Array.from({ length: 1 + random.below(most) }, make);
}

/** A value, with what would end it in the middle when it was not written as it has to be. */
function textOfPieces(random: Random, special: readonly string[]): string {
  const pieces = listOf(random, 3, () => random.pick(random.oneIn(3) ? special : VALUES));
  return random.oneIn(4) ? "" : pieces.join("");
}

/** A file with a header, rows of any values, and a last row with a line end or without. */
async function readBackCsv(random: Random): Promise<string> {
  const delimiter = random.pick([",", ";", "\t", "|"] as const);
  const lineEnd = random.pick(LINE_ENDS);
  const special = [",", ";", "|", '"', '""', lineEnd, "\t"];
  const header = listOf(random, 5, () => "").map((_, n) => `h${n}`);
  const isLong = random.oneIn(100);
  const rows = listOf(random, isLong ? 5_000 : 6, () => header.map(() => textOfPieces(random, special)));
  const write = (cell: string) => {
    const isPlain = !/[",;|\t\r\n]/.test(cell) && !random.oneIn(4);
    return isPlain ? cell : `"${cell.replaceAll('"', '""')}"`;
  };
  let text = header.join(delimiter) + lineEnd;
  let line = 2;
  const expected: unknown[] = [];
  rows.forEach((cells, n) => {
    const row = cells.map(write).join(delimiter);
    const breaks = row.split(lineEnd).length - 1;
    if (cells.some((cell) => cell.trim() !== "")) expected.push([line, line + breaks, cells]);
    line += breaks + 1;
    text += row + (n === rows.length - 1 && random.oneIn(2) ? "" : lineEnd);
  });
  const isFound = header.length > 1 && random.oneIn(2);
  const dialect: CsvDialect = {
    ...{ delimiter: isFound ? "auto" : delimiter, quote: '"', header: true },
    encoding: random.oneIn(2) ? "auto" : "utf-8",
  };
  const file = await readCsv(Buffer.from((random.oneIn(4) ? "\ufeff" : "") + text), dialect);
  const found: unknown[] = [];
  for await (const row of file.rows) {
    expectThat(row.problem === undefined, "a whole row that is said to be damaged");
    found.push([row.line, row.endLine, row.cells]);
  }
  expectThat(file.delimiter === delimiter, "a file with another delimiter than it was written with");
  expectThat(found.length === expected.length, "a file with another number of rows than were written");
  expectThat(JSON.stringify(found) === JSON.stringify(expected), "a row that is not what was written");
  return text.slice(0, 500);
}

/** Fields, repetitions, components, subcomponents. */
type Fields = readonly (readonly (readonly (readonly string[])[])[])[];

/** A message with delimiters of its own; gives its text. */
function readBackMessage(random: Random): string {
  const [field = "", component = "", repetition = "", mark = "", subcomponent = ""] = random.oneIn(2)
    ? "|^~\\&"
    : random.pick(["#$%!@", "|@~\\&", "|^*/:"]);
  const names = { [field]: "F", [component]: "S", [repetition]: "R", [mark]: "E", [subcomponent]: "T" };
  const special = [field, component, repetition, mark, subcomponent];
  const write = (value: string) =>
    [...value].map((each) => (names[each] ? mark + names[each] + mark : each)).join("");
  const lineEnd = random.pick(LINE_ENDS);
  const segments = listOf(random, 5, () => {
    const subcomponents = () => listOf(random, 2, () => textOfPieces(random, special));
    const components = () => listOf(random, 3, subcomponents);
    const fields: Fields = listOf(random, 5, () => listOf(random, 3, components));
    return { name: random.pick(["PID", "SAC", "ZX1", "OBX"]), fields };
  });
  const lines = segments.map(({ name, fields }) => {
    const texts = fields.map((repetitions) =>
      repetitions
        .map((parts) => parts.map((each) => each.map(write).join(subcomponent)).join(component))
        .join(repetition),
    );
    return [name, ...texts].join(field);
  });
  const head = `MSH${field}${component}${repetition}${mark}${subcomponent}${field}L`;
  const text = [head, ...lines].join(lineEnd) + (random.oneIn(2) ? "" : lineEnd);
  const message = Hl7Message.parse(text, { encoding: "utf-8" });
  expectThat(message.segments.length === segments.length + 1, "a message with another number of segments");
  segments.forEach(({ name, fields }, n) => {
    const segment = message.segments[n + 1];
    expectThat(segment?.name === name, "a segment with another name");
    const before = segments.slice(0, n + 1).filter((each) => each.name === name).length;
    expectThat(message.all(name)[before - 1] === segment, "a segment that is not found by its name");
    if (segment !== undefined) expectFields(segment, fields);
  });
  return text;
}

function expectFields(segment: Segment, fields: Fields): void {
  const expectValue = (place: readonly [number, number, number, number], value: string | undefined) => {
    expectThat(segment.get(...place) === (value || undefined), "a value that is not what was written");
  };
  const expectField = (repetitions: Fields[number], f: number) => {
    const isEmpty = repetitions.length === 1 && repetitions.flat(2).join("") === "";
    const isBare = isEmpty && repetitions.flat(2).length === 1;
    expectThat(
      segment.repetitions(f + 1) === (isBare ? 0 : repetitions.length),
      "another number of repetitions",
    );
    repetitions.forEach((components, r) => {
      components.forEach((parts, c) => {
        parts.forEach((value, s) => {
          expectValue([f + 1, r + 1, c + 1, s + 1], value);
        });
        expectValue([f + 1, r + 1, c + 1, parts.length + 1], undefined);
      });
      expectValue([f + 1, r + 1, components.length + 1, 1], undefined);
    });
    expectValue([f + 1, repetitions.length + 1, 1, 1], undefined);
  };
  fields.forEach(expectField);
  expectValue([fields.length + 1, 1, 1, 1], undefined);
  // And backwards: what stands before the last place that was asked for is found in another way.
  for (let f = fields.length - 1; f >= 0; f -= 1) expectField(fields[f] ?? [], f);
}

/** Messages one after the other are as many. */
function readBackFile(random: Random, messages: readonly string[]): void {
  const blanks = random.pick(["\r", "\r\r"]);
  const bytes = Buffer.from(messages.map((each) => each.replaceAll(/\r\n|\n/g, "\r").trimEnd()).join(blanks));
  const { parts } = splitHl7File(bytes);
  expectThat(parts.length === messages.length, "a file with another number of messages");
}

/** Frames, cut into pieces at any byte, come out whole and in order. */
function readBackFrames(random: Random, messages: readonly string[]): void {
  const stream = Buffer.concat(messages.map((text) => encodeFrame(Buffer.from(text))));
  const reader = new FrameReader(stream.length);
  const found: string[] = [];
  for (let at = 0; at < stream.length; ) {
    const to = at + 1 + random.below(random.oneIn(2) ? 3 : stream.length);
    for (const event of reader.push(Buffer.from(stream.subarray(at, to))))
      found.push("bytes" in event && event.kind === "frame" ? event.bytes.toString() : event.kind);
    at = to;
  }
  expectThat(reader.end().length === 0, "something behind the last frame");
  expectThat(JSON.stringify(found) === JSON.stringify(messages), "frames that are not what was written");
}
