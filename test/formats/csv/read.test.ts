import { stringify } from "csv-stringify/sync";
import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, it } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import type { CsvDialect } from "../../../src/formats/csv/dialect.ts";
import { type CsvItem, readCsv } from "../../../src/formats/csv/read.ts";
import type { CsvLimits } from "../../../src/formats/csv/reader.ts";
import { isBlank } from "../../../src/formats/csv/records.ts";
import { chunksOf, DEFAULT_DIALECT, endlessRows } from "./source.ts";

interface Given extends Partial<CsvDialect>, CsvLimits {
  readonly chunkBytes?: number;
}

async function read(file: Buffer | string, given: Given = {}): Promise<CsvItem[]> {
  const { chunkBytes, maxRowBytes, maxColumns, ...dialect } = given;
  const limits = { ...(maxRowBytes ? { maxRowBytes } : {}), ...(maxColumns ? { maxColumns } : {}) };
  const items: CsvItem[] = [];
  const source = chunksOf(file, chunkBytes);
  for await (const item of readCsv(source, { ...DEFAULT_DIALECT, ...dialect }, limits)) items.push(item);
  return items;
}

const rowsOf = async (file: Buffer | string, given?: Given) =>
  (await read(file, given)).flatMap((item) => (item.kind === "row" ? [[...item.row.values.values()]] : []));

const problemsOf = async (file: Buffer | string, given?: Given) =>
  (await read(file, given)).flatMap((item) =>
    item.kind === "bad-row" ? [`${item.problem.code} at ${item.problem.place}`] : [],
  );

async function failureOf(file: Buffer | string, given?: Given) {
  const error = await read(file, given).catch((reason: unknown) => reason);
  if (!(error instanceof Failure)) return error;
  return [error.code, error.place, error.message].filter((part) => part !== undefined).join(": ");
}

describe("reading a CSV file", () => {
  it("gives the header first, then each row with its line and its text", async () => {
    const items = await read('order_number,subject_code\r\nPO-1,A17\r\n\r\nPO-2,"B ""9""\r\nx"\r\nPO-3,C3');
    expect(items[0]).toEqual({
      kind: "header",
      line: 1,
      columns: ["order_number", "subject_code"],
      raw: "order_number,subject_code\r\n",
      delimiter: ",",
      width: 2,
      encoding: "utf-8",
      hasByteOrderMark: false,
    });
    expect(
      items.slice(1).map((item) => (item.kind === "row" ? [item.row.line, item.row.raw] : item)),
    ).toEqual([
      [2, "PO-1,A17\r\n"],
      [4, 'PO-2,"B ""9""\r\nx"\r\n'],
      [6, "PO-3,C3"],
    ]);
    expect(items[2]).toMatchObject({
      row: {
        values: new Map([
          ["order_number", "PO-2"],
          ["subject_code", 'B "9"\r\nx'],
        ]),
      },
    });
  });

  it.each([
    ["LF", "a,b\n1,2\n3,4\n"],
    ["CRLF", "a,b\r\n1,2\r\n3,4\r\n"],
    ["CR", "a,b\r1,2\r3,4\r"],
    ["mixed line ends", "a,b\r\n1,2\n3,4\r"],
    ["no final line end", "a,b\n1,2\n3,4"],
    ["blank lines", "\n\na,b\n\n1,2\n \t\n3,4\n\n"],
    ["rows of empty values", "a,b\n,\n1,2\n , \n3,4\n,,,\n"],
    ["spaces around column names", " a , b\n1,2\n3,4\n"],
    ["a trailing end-of-file mark", "a,b\n1,2\n3,4\n\u001a"],
  ])("takes %s", async (_, file) => {
    const items = await read(file);
    expect(items[0]).toMatchObject({ columns: ["a", "b"] });
    expect(await rowsOf(file)).toEqual([
      ["1", "2"],
      ["3", "4"],
    ]);
    expect(await problemsOf(file)).toEqual([]);
  });

  it("keeps spaces in values", async () => {
    expect(await rowsOf("a,b\n x ,\ty\n")).toEqual([[" x ", "\ty"]]);
  });

  it("numbers the columns of a file without header and gives its first row", async () => {
    const items = await read("PO-1;1,5,7,9;x\nPO-2;2,5,7,9;y\n", { header: false });
    expect(items[0]).toMatchObject({ columns: ["1", "2", "3"], raw: "", delimiter: ";" });
    expect(items).toHaveLength(3);
    expect(items[1]).toMatchObject({
      row: {
        line: 1,
        values: new Map([
          ["1", "PO-1"],
          ["2", "1,5,7,9"],
          ["3", "x"],
        ]),
      },
    });
  });

  it("keeps columns named like parts of objects as plain columns", async () => {
    const file = "__proto__,constructor,toString\n1,2,3\n";
    expect((await read(file))[1]).toMatchObject({
      row: {
        values: new Map([
          ["__proto__", "1"],
          ["constructor", "2"],
          ["toString", "3"],
        ]),
      },
    });
    expect(({} as Record<string, unknown>)["1"]).toBeUndefined();
  });

  it("can use another quote, or none", async () => {
    expect(await rowsOf("a,b\n'1,5',\"x\n", { quote: "'" })).toEqual([["1,5", '"x']]);
    expect(await rowsOf('a,b\n"1,2"\n', { quote: "" })).toEqual([['"1', '2"']]);
  });
});

describe("the delimiter", () => {
  it.each([
    [",", "a,b,c\n1,2,3\n"],
    [";", "a;b;c\n1;2;3\n"],
    ["\t", "a\tb\tc\n1\t2\t3\n"],
    ["|", "a|b|c\n1|2|3\n"],
    [";", '"a,1,2,3";b;c\n1;2;3\n'],
    [";", "date (d,m);b;c\n1;2;3\n"],
    [",", "single\n1\n"],
    [";", "sep=;\r\na,b;c\r\n1;2\r\n"],
    ["\t", "sep=\t\na;b\tc\n1\t2\n"],
  ])("is found to be %j in %j", async (delimiter, file) => {
    expect((await read(file))[0]).toMatchObject({ delimiter });
    expect(await problemsOf(file)).toEqual([]);
  });

  it("is the configured one even where Excel's first line says another, and lines are counted through", async () => {
    const items = await read("sep=;\na,b\n1,2\n3\n", { delimiter: "," });
    expect(items.map((item) => item.kind)).toEqual(["header", "row", "bad-row"]);
    expect(items[2]).toMatchObject({ problem: { place: "line 4" } });
  });
});

describe("bad rows", () => {
  it("are reported with their line, and the rows around them are read", async () => {
    const file = 'a,b,c\n1,2,3\n4,5\n"x"y,5,6\n7,8,9,10\n11,1"2,13\n14,15,16\n';
    expect(await rowsOf(file)).toEqual([
      ["1", "2", "3"],
      ["14", "15", "16"],
    ]);
    expect(await problemsOf(file)).toEqual([
      "CSV_ROW_RAGGED at line 3",
      "CSV_ROW_QUOTES at line 4",
      "CSV_ROW_RAGGED at line 5",
      "CSV_ROW_QUOTES at line 6",
    ]);
  });

  it("are those with a value after the last column that has a name", async () => {
    const file = "a,b,,\n1,2,,\n3,4,,5\n6,7,\n";
    expect(await rowsOf(file)).toEqual([["1", "2"]]);
    expect(
      (await read(file)).flatMap((item) => (item.kind === "bad-row" ? item.problem.message : [])),
    ).toEqual(["a value stands in column 4, which has no name", "expected 4 columns, found 3"]);
  });

  it("say how many columns were expected and found, and carry their text but no value in the words", async () => {
    const bad = (await read("a,b,c\nAnna,Larsen\n"))[1];
    expect(bad).toMatchObject({
      kind: "bad-row",
      raw: "Anna,Larsen\n",
      problem: { message: "expected 3 columns, found 2" },
    });
  });

  it("name the line on which a quoted value begins that is never closed", async () => {
    const items = await read('a,b\n1,"x\n2"\n3,"never\n4,5\n6,7\n');
    expect(items.at(-1)).toMatchObject({
      kind: "bad-row",
      problem: {
        code: "CSV_QUOTE_UNCLOSED",
        place: "lines 4-7",
        message: expect.stringContaining("begins on line 4 is never closed"),
      },
    });
  });

  it("take in the rows that a forgotten quote swallowed, and no row from inside it is delivered", async () => {
    const file = 'a,b\n1,"x\n2,y\n3,"z"\n4,5\n';
    expect(await problemsOf(file)).toEqual(["CSV_ROW_QUOTES at lines 2-4"]);
    expect(await rowsOf(file)).toEqual([["4", "5"]]);
  });
});

describe("a CSV file that cannot be read", () => {
  it.each([
    ["is empty", "", {}, /^CSV_EMPTY: file: /],
    ["holds blank lines only", "\n \r\n", {}, /^CSV_EMPTY: /],
    ["holds a byte order mark only", "\ufeff", {}, /^CSV_EMPTY: /],
    ["has a column without a name", "a,,c\n1,2,3\n", {}, /^CSV_HEADER_EMPTY: line 1: column 2 of 3 /],
    ["has a first column without a name", ",a,b\n1,2,3\n", {}, /^CSV_HEADER_EMPTY: line 1: column 1 of 3 /],
    ["has a column twice", "a,b, a\n1,2,3\n", {}, /^CSV_HEADER_DOUBLED: line 1: columns 1 and 3 /],
    [
      "has too many columns",
      "a,b,c\n",
      { maxColumns: 2 },
      /^CSV_HEADER_TOO_WIDE: line 1: .* 2 columns, found 3/,
    ],
    ["has wrong quotes in its header", 'a,"b"c\n', {}, /^CSV_ROW_QUOTES: line 1: /],
    ["never closes a quote of its header", 'a,"b\n1,2\n', {}, /^CSV_QUOTE_UNCLOSED: lines 1-3: /],
    [
      "has a header without end",
      "a".repeat(300),
      { maxRowBytes: 100, chunkBytes: 50 },
      /^CSV_ROW_TOO_LONG: line 1: /,
    ],
    ...[7, 1_000].flatMap((chunkBytes): [string, string, Given, RegExp][] => [
      [
        `has a row without end, read in chunks of ${chunkBytes} bytes`,
        `a,b\n1,${"x".repeat(500)}\n2,y\n`,
        { maxRowBytes: 100, chunkBytes },
        /^CSV_ROW_TOO_LONG: line 2: expected at most 100 bytes in a row; the file was not read any further$/,
      ],
      [
        `has a quoted value without end, read in chunks of ${chunkBytes} bytes`,
        `a,b\n2,"${"y\n".repeat(200)}"\n3,z\n`,
        { maxRowBytes: 100, chunkBytes },
        /^CSV_ROW_TOO_LONG: lines 2-\d+: .* 100 bytes in a row; the last quoted value begins on line 2; /,
      ],
      [
        `has a blank row without end, read in chunks of ${chunkBytes} bytes`,
        `a,b\n${" ".repeat(500)}\n3,z\n`,
        { maxRowBytes: 100, chunkBytes },
        /^CSV_ROW_TOO_LONG: line 2: /,
      ],
    ]),
    [
      "has a row of more bytes than characters",
      "a,b\n1,ü\n",
      { maxRowBytes: 4 },
      /^CSV_ROW_TOO_LONG: line 2: /,
    ],
    ["is binary", "a,b\n1,\0\n", {}, /^CSV_BINARY: line 2: /],
    ["is a binary from its first byte", "\0\0\0\u0001", {}, /^CSV_BINARY: line 1: /],
    ["is read with a quote of two characters", "a", { quote: "''" }, /^CSV_DIALECT_INVALID: quote/],
    ["is read with a quote that is a delimiter", "a", { quote: ";" }, /^CSV_DIALECT_INVALID: quote/],
    ["is read with an unknown encoding", "a", { encoding: "klingon" }, /^CSV_DIALECT_INVALID: encoding/],
  ] as [string, string, Given, RegExp][])("because it %s", async (_, file, given, message) => {
    expect(await failureOf(file, given)).toMatch(message);
  });

  it("is read when its longest row is just not too long, in bytes", async () => {
    expect(await problemsOf("a,b\n1,ü\n", { maxRowBytes: 5 })).toEqual([]);
  });

  it("names no column of its header, which may be a patient's row", async () => {
    expect(await failureOf("Larsen,Mia,Mia\n")).not.toMatch(/Mia|Larsen/);
  });
});

describe("the encoding", () => {
  const text = "Käse,Größe\r\nŒuvre,10 €\r\n";
  it.each([
    ["utf-8", false, "auto", "utf-8"],
    ["utf-8", true, "auto", "utf-8"],
    ["utf-16le", true, "auto", "utf-16le"],
    ["utf-16be", true, "auto", "utf-16be"],
    ["utf-16le", false, "utf-16le", "utf-16le"],
    ["utf-16be", false, "utf-16be", "utf-16be"],
    ["windows-1252", false, "windows-1252", "windows-1252"],
    ["utf-8", true, "windows-1252", "utf-8"],
    ["gb18030", false, "gb18030", "gb18030"],
  ])(
    "%s (byte order mark: %s), configured as %s, is read whatever the chunks",
    async (written, addBOM, encoding, read_) => {
      const file = iconv.encode(text, written, { addBOM });
      for (const chunkBytes of [1, 2, 3, 5, 4_096]) {
        const items = await read(file, { encoding, chunkBytes });
        expect(items[0]).toMatchObject({ columns: ["Käse", "Größe"], encoding: read_ });
        expect(items[1]).toMatchObject({
          row: {
            values: new Map([
              ["Käse", "Œuvre"],
              ["Größe", "10 €"],
            ]),
          },
        });
      }
    },
  );

  it("takes a character outside the basic plane that two chunks share", async () => {
    for (const written of ["utf-16le", "utf-16be", "utf-8"]) {
      const file = iconv.encode("a\nx😀y\n", written, { addBOM: true });
      for (const chunkBytes of [1, 2, 3, 4]) expect(await rowsOf(file, { chunkBytes })).toEqual([["x😀y"]]);
    }
  });

  it.each([
    ["auto", "latin1", "utf-8"],
    ["utf-8", "latin1", "utf-8"],
    ["us-ascii", "utf8", "us-ascii"],
  ])(
    "%s is strict: rows before the bad byte come, then the failure names it",
    async (encoding, written, named) => {
      const file = iconv.encode("a,b\n1,2\n3,ü\n", written);
      for (const chunkBytes of [1, 4_096]) {
        expect(await failureOf(file, { encoding, chunkBytes })).toBe(
          `CSV_BYTES: line 3: byte 10 of the file is not ${named}`,
        );
      }
    },
  );

  it.each([
    ["a picture (PNG)", "\x89PNG\r\n\x1a\n"],
    ["a picture (JPEG)", "\xff\xd8\xff\xe0"],
    ["a PDF", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"],
    ["a ZIP archive or an Excel workbook (.xlsx)", "PK\x03\x04\x14\0"],
    ["an Excel workbook (.xls)", "\xd0\xcf\x11\xe0\xa1\xb1"],
  ])("says that it is %s, however its bytes come", async (what, bytes) => {
    for (const chunkBytes of [1, 100]) {
      const words = await failureOf(Buffer.from(bytes, "latin1"), { chunkBytes });
      expect(words).toBe(`CSV_BINARY: line 1: expected text, found ${what}`);
    }
  });

  it("is strict for a character that the file's end cuts", async () => {
    const file = Buffer.from("a,b\n1,ü").subarray(0, 7);
    expect(await failureOf(file)).toBe("CSV_BYTES: line 2: byte 6 of the file is not utf-8");
  });

  it("counts a byte order mark in the offset", async () => {
    const file = Buffer.concat([Buffer.from("\ufeffa\n"), Buffer.from([0xff])]);
    expect(await failureOf(file)).toContain("byte 5 ");
  });
});

describe("what csv-stringify writes", () => {
  it("is read back, whatever the cells, the dialect and the chunks", async () => {
    const cell = fc
      .oneof(
        fc.string({ maxLength: 6 }),
        fc.stringMatching(/^[",;\t|\r\n ab]{0,6}$/),
        fc.constant("Größe 😀"),
      )
      .map((value) => value.replace(/\0/g, ""));
    const table = fc
      .integer({ min: 1, max: 4 })
      .chain((width) =>
        fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 }),
      );
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.constantFrom(",", ";", "\t", "|" as const),
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.integer({ min: 1, max: 9 }),
        async (rows, delimiter, lineEnd, chunkBytes) => {
          const columns = (rows[0] ?? []).map((_, i) => `c${i}`);
          const file = stringify([columns, ...rows], {
            delimiter,
            record_delimiter: lineEnd,
            quote_record_delimiter: true,
          });
          expect(await rowsOf(file, { delimiter: delimiter as ",", chunkBytes })).toEqual(
            rows.filter((row) => !row.every(isBlank)),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  it("reads alike wherever the file is cut into chunks", async () => {
    const file = 'a;b\r\n1;"x\r\n""y"""\r\n"bad"z;2\r\n3\r\nä;😀\r\n"open';
    const whole = await read(file);
    for (let chunkBytes = 1; chunkBytes < 20; chunkBytes++) {
      expect(await read(file, { chunkBytes })).toEqual(whole);
    }
  });
});

describe("a large file", () => {
  it("does not hold the event loop while it is read", async () => {
    let turnCount = 0;
    const timer = setInterval(() => turnCount++, 1);
    let rowCount = 0;
    const source = endlessRows("a,b,c,d\n", "PO-1,STORE,A17,V-1\n", 60);
    for await (const item of readCsv(source, DEFAULT_DIALECT)) if (item.kind === "row") rowCount++;
    clearInterval(timer);
    expect(rowCount).toBe(60 * Math.ceil(65_536 / 19));
    expect(turnCount).toBeGreaterThan(20);
  });

  it.each([
    ["a line without end", "a,b\n1,", "x"],
    ["a quote that is never closed", 'a,b\n1,"x\n', "y,z\n"],
    ["a value after a closed quote", 'a,b\n1,"x" y', "z"],
    ["a line of blanks", "a,b\n", " "],
    ["delimiters without end", "a,b\n1,2", ","],
    ["bytes of another encoding", "a,b\n1,", "\xe9"],
  ])("is left within the first megabytes when it holds %s", async (_, opening, filling) => {
    let bytes = 0;
    async function* gigabyte() {
      yield Buffer.from(opening);
      const chunk = Buffer.from(filling.repeat(262_144), "latin1");
      for (; bytes < 1_073_741_824; bytes += chunk.length) yield chunk;
    }
    const readAll = async () => {
      for await (const item of readCsv(gigabyte(), DEFAULT_DIALECT)) expect(item.kind).toBe("header");
    };
    await expect(readAll()).rejects.toMatchObject({ place: expect.stringMatching(/^lines? 2/) });
    expect(bytes).toBeLessThan(4_194_304);
  });
});
