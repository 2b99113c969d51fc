import { describe, expect, test } from "vitest";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import { csvProfile, problemsOf } from "../../mapping/mapped.ts";
import { hintsOf, outcomeOf } from "./file-outcomes.ts";

describe("a trailer that the profile names", () => {
  const header = "order_number,operation,facility,subject_code,container_label\n";
  const rows = "O-1,STORE,NORTH,P-1,V-1\nO-2,STORE,NORTH,P-2,V-2\n";
  const taken = ["line 2 accepted: O-1 V-1", "line 3 accepted: O-2 V-2"];
  const trailer = { line: "FIN,(\\d+)", count: 1 };

  test.each(["FIN,2\n", "FIN,2", "FIN,0002\r\n", "FIN,2\n\n", "FIN,2\n-----\n"])(
    "is no row, as %j",
    async (last) => {
      expect(await outcomeOf(header + rows + last, { trailer, noRow: ["-+"] })).toEqual(taken);
    },
  );

  test("is no row where it has as many columns as one", async () => {
    const line = "FIN,(\\d+),,,";
    expect(await outcomeOf(`${header}${rows}FIN,2,,,\n`, { trailer: { line, count: 1 } })).toEqual(taken);
  });

  test("may stand alone below the header", async () => {
    expect(await outcomeOf(`${header}FIN,0\n`, { trailer })).toEqual([]);
  });

  test.each([
    ["counts more rows than the file has, as where it is cut", `${rows}FIN,3\n`, "CSV_TRAILER_COUNT line 4"],
    ["counts fewer", `${rows}FIN,1\n`, "CSV_TRAILER_COUNT line 4"],
    ["is missing, as where the file is cut between two rows", rows, "CSV_TRAILER_MISSING line 3"],
    ["is missing below the header", "", "CSV_TRAILER_MISSING header"],
    ["has rows below it", `${rows}FIN,2\n${rows}`, "CSV_TRAILER_MISSING line 5"],
    [
      "comes twice, as where two files were joined",
      `${rows}FIN,2\n${header}${rows}FIN,2\n`,
      "CSV_TRAILER_MISSING line 6",
    ],
  ])("refuses the whole file when it %s", async (_, body, problem) => {
    expect(await outcomeOf(header + body, { trailer })).toEqual([`file refused: ${problem}`]);
  });

  test("is refused in words that say both numbers", async () => {
    const { reading } = await csvProfile({ trailer });
    const bytes = Buffer.from(`${header}${rows}FIN,3\n`);
    expect((await csvFileFormat({ maxBytes: 64_000_000, reading }).examine(bytes)).problems).toMatchObject([
      { place: "line 4", message: expect.stringContaining("counts 3 rows, and 2 rows stand above it") },
    ]);
  });

  test("has a hint where it counts fewer rows that names the lines which were counted", async () => {
    const file = `${header}${rows},,,,note\nFIN,2\n`;
    expect(await hintsOf(file, { trailer })).toEqual([
      expect.stringMatching(/^CSV_TRAILER_COUNT Counted .* line 2 to line 4\. Without .*: line 4\..*`noRow`/),
    ]);
  });

  test("has a hint where rows stand below it that says how such a file is taken", async () => {
    const file = `${header}FIN,0\n${rows}`;
    expect(await hintsOf(file, { trailer: { line: trailer.line } })).toEqual([
      expect.stringMatching(/^CSV_TRAILER_MISSING (?!.*required).*`noRow`/),
    ]);
    expect(await outcomeOf(file, { noRow: [trailer.line] })).toHaveLength(2);
  });

  test("cut short within itself refuses the file", async () => {
    expect(await outcomeOf(`${header}${rows}FI`, { trailer })).toContain(
      "file refused: CSV_TRAILER_MISSING line 4",
    );
    const many = Array.from({ length: 12 }, (_, n) => `O-${n},STORE,NORTH,P-1,V-${n}\n`).join("");
    expect(await outcomeOf(`${header}${many}FIN,1`, { trailer })).toEqual([
      "file refused: CSV_TRAILER_COUNT line 14",
    ]);
  });

  test("may be missing where the profile says so, and counts where it is there", async () => {
    const optional = { trailer: { ...trailer, required: false } };
    expect(await outcomeOf(header + rows, optional)).toEqual(taken);
    expect(await outcomeOf(`${header}${rows}FIN,3\n`, optional)).toEqual([
      "file refused: CSV_TRAILER_COUNT line 4",
    ]);
  });

  test("is not counted without count", async () => {
    expect(await outcomeOf(`${header}${rows}FIN,7\n`, { trailer: { line: "FIN,\\d+" } })).toEqual(taken);
  });

  test("is never a row that says what is to be done", async () => {
    expect(await outcomeOf(header + rows, { trailer: { line: ".*" } })).toEqual([
      "file refused: CSV_TRAILER_MISSING line 3",
    ]);
  });

  test("has to have the group that counts", async () => {
    const csv = { extends: "builtin/csv-orders" };
    expect(await problemsOf({ ...csv, trailer: { line: "FIN,\\d+", count: 1 } })).toEqual([
      "trailer.count: trailer.line has no group in parentheses; expected one around the number of rows, as in 'FIN;(\\d+)'",
    ]);
    expect(await problemsOf({ ...csv, trailer: { line: "(a+)+" } })).toMatchObject([
      expect.stringMatching(/^trailer.line: /),
    ]);
  });
});

describe("a trailer with the total of a column", () => {
  const header = "order_number;operation;facility;subject_code;container_label;Menge\n";
  const rowsOf = (...amounts: string[]) =>
    amounts.map((amount, n) => `O-${n};STORE;NORTH;P-${n};V-${n};${amount}\n`).join("");
  const sum = { line: "Summe;(.+)", sum: "Menge" };

  test.each([
    ["whole numbers", ["2", "3"], "Summe;5"],
    ["decimal commas", ["1,5", "0,75"], "Summe;2,25"],
    ["decimal points", ["1.5", "0.75"], "Summe;2.250"],
    ["thousands parted by points", ["1.200", "34,5"], "Summe;1.234,5"],
    ["thousands parted by commas", ["1,200", "34.5"], "Summe;1,234.5"],
    ["thousands parted by blanks", ["1 200", "34"], "Summe;1\u00a0234"],
    ["one side with separators of thousands", ["1000", "234"], "Summe;1.234"],
    ["signs", ["+5", "-2"], "Summe;3"],
    ["a row without a value", ["5", ""], "Summe;5"],
  ])("takes a file whose rows add up to it, with %s", async (_, amounts, last) => {
    expect(await outcomeOf(`${header}${rowsOf(...amounts)}${last}\n`, { trailer: sum })).toHaveLength(2);
  });

  test.each([
    [
      "rows are missing",
      ["1.200"],
      "Summe;1.234,5",
      'says a total of 1.234,5, and column "Menge" adds up to 1200',
    ],
    ["it says less", ["1,5", "2"], "Summe;3", 'says a total of 3, and column "Menge" adds up to 3,5'],
    ["there is none", ["1", "2"], "Summe;?", 'holds no total, and column "Menge" adds up to 3'],
    ["no row is left", [], "Summe;4", 'says a total of 4, and column "Menge" adds up to 0'],
    ["a row holds no number", ["1", "viel"], "Summe;1", "since line 3 holds no number there"],
  ])("refuses the file in words that say both numbers where %s", async (_, amounts, last, words) => {
    const { reading } = await csvProfile({ trailer: sum });
    const bytes = Buffer.from(`${header}${rowsOf(...amounts)}${last}\n`);
    const { problems } = await csvFileFormat({ maxBytes: 64_000_000, reading }).examine(bytes);
    expect(problems).toMatchObject([{ code: "CSV_TRAILER_SUM", message: expect.stringContaining(words) }]);
  });

  test("has it in the column itself where the line has no group for it", async () => {
    const trailer = { line: "Summe;.*", sum: "Menge" };
    expect(await outcomeOf(`${header}${rowsOf("2", "3")}Summe;;;;;5\n`, { trailer })).toHaveLength(2);
    expect(await outcomeOf(`${header}${rowsOf("2")}Summe;;;;;5\n`, { trailer })).toEqual([
      "file refused: CSV_TRAILER_SUM line 3",
    ]);
  });

  test("may count the rows besides, and be read by transforms", async () => {
    const from = { from: "Menge", as: { regex: { match: "^(.*) Stk$", replace: "$1" } } };
    const trailer = { line: "Summe;(\\d+);(.+)", count: 1, sum: from };
    const file = (last: string) => `${header}${rowsOf("2 Stk", "3 Stk")}${last}\n`;
    expect(await outcomeOf(file("Summe;2;5 Stk"), { trailer })).toHaveLength(2);
    expect(await outcomeOf(file("Summe;3;6 Stk"), { trailer })).toEqual([
      "file refused: CSV_TRAILER_COUNT line 4",
      "file refused: CSV_TRAILER_SUM line 4",
    ]);
  });

  test("needs its column, and one group at most that may be the total", async () => {
    const file = `${header.replace("Menge", "Anzahl")}${rowsOf("5")}Summe;5\n`;
    expect(await outcomeOf(file, { trailer: sum })).toEqual(["file refused: CSV_COLUMN_MISSING header"]);
    const csv = { extends: "builtin/csv-orders" };
    expect(await problemsOf({ ...csv, trailer: { line: "(\\d+);(\\d+)", sum: "Menge" } })).toEqual([
      "trailer.sum: trailer.line has 2 groups in parentheses that may be the total; write the others as (?:…)",
    ]);
    expect(await problemsOf({ ...csv, trailer: { line: "(\\d+)", sum: { value: "5" } } })).toEqual([
      "trailer.sum: expected one column, whose values are added",
    ]);
  });
});
