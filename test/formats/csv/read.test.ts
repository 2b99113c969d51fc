import { stringify } from "csv-stringify/sync";
import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, it } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import { placeText } from "../../../src/core/place.ts";
import type { CsvDialect } from "../../../src/formats/csv/dialect.ts";
import { isBlank } from "../../../src/formats/csv/headings.ts";
import { type CsvLimits, readCsv } from "../../../src/formats/csv/read.ts";
import type { CsvRecord } from "../../../src/formats/csv/row.ts";
import { DEFAULT_DIALECT } from "./source.ts";

interface Given extends Partial<CsvDialect>, CsvLimits {}

async function read(file: Buffer | string, { maxRowBytes, maxColumns, ...dialect }: Given = {}) {
  const limits = { ...(maxRowBytes ? { maxRowBytes } : {}), ...(maxColumns ? { maxColumns } : {}) };
  const { rows, ...header } = await readCsv(
    Buffer.from(file as string),
    { ...DEFAULT_DIALECT, ...dialect },
    limits,
  );
  const all: CsvRecord[] = [];
  for await (const row of rows) all.push(row);
  return { header, rows: all };
}

const rowsOf = async (file: Buffer | string, given?: Given) =>
  (await read(file, given)).rows.flatMap(({ problem, values }) => (problem ? [] : [[...values.values()]]));

const problemsOf = async (file: Buffer | string, given?: Given) =>
  (await read(file, given)).rows.flatMap(({ problem }) =>
    problem ? [`${problem.code} at ${placeText(problem.place)}`] : [],
  );

async function failureOf(file: Buffer | string, given?: Given) {
  const error = await read(file, given).catch((reason: unknown) => reason);
  if (!(error instanceof Failure)) return error;
  return [error.code, error.place && placeText(error.place), error.message]
    .filter((part) => part !== undefined)
    .join(": ");
}

describe("reading a CSV file", () => {
  it("gives the header first, then each row with its line and its text", async () => {
    const { header, rows } = await read(
      'order_number,subject_code\r\nPO-1,A17\r\n\r\nPO-2,"B ""9""\r\nx"\r\nPO-3,C3',
    );
    expect(header).toEqual({
      line: 1,
      columns: ["order_number", "subject_code"],
      header: "order_number,subject_code\r\n",
      delimiter: ",",
      width: 2,
      encoding: "utf-8",
      hasByteOrderMark: false,
    });
    expect(rows.map(({ place, line, raw }) => [place, line, raw])).toEqual([
      ["line 2", 2, "PO-1,A17\r\n"],
      ["lines 4-5", 4, 'PO-2,"B ""9""\r\nx"\r\n'],
      ["line 6", 6, "PO-3,C3"],
    ]);
    expect([...(rows[1]?.values ?? [])]).toEqual([
      ["order_number", "PO-2"],
      ["subject_code", 'B "9"\r\nx'],
    ]);
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
    expect((await read(file)).header).toMatchObject({ columns: ["a", "b"] });
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
    const { header, rows } = await read("PO-1;1,5,7,9;x\nPO-2;2,5,7,9;y\n", { header: false });
    expect(header).toMatchObject({ columns: ["1", "2", "3"], header: "", delimiter: ";" });
    expect(rows.map(({ line, values }) => [line, [...values]])).toEqual([
      [
        1,
        [
          ["1", "PO-1"],
          ["2", "1,5,7,9"],
          ["3", "x"],
        ],
      ],
      [
        2,
        [
          ["1", "PO-2"],
          ["2", "2,5,7,9"],
          ["3", "y"],
        ],
      ],
    ]);
  });

  it("calls the columns of such a file as it is told", async () => {
    const { rows } = await read("PO-1,x\n", { header: ["number", "label"] });
    expect([...(rows[0]?.values ?? [])]).toEqual([
      ["number", "PO-1"],
      ["label", "x"],
    ]);
  });

  it("keeps columns named like parts of objects as plain columns", async () => {
    const { rows } = await read("__proto__,constructor,toString\n1,2,3\n");
    expect([...(rows[0]?.values ?? [])]).toEqual([
      ["__proto__", "1"],
      ["constructor", "2"],
      ["toString", "3"],
    ]);
    expect(rows[0]?.values.get("valueOf")).toBeUndefined();
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
    [";", '"a\n,1";b;c\n1,1,1;2;3\n'],
    [",", "single\n1\n"],
    [";", "sep=;\r\na,b;c\r\n1;2\r\n"],
    ["\t", "sep=\t\na;b\tc\n1\t2\n"],
  ])("is found to be %j in %j", async (delimiter, file) => {
    expect((await read(file)).header).toMatchObject({ delimiter });
    expect(await problemsOf(file)).toEqual([]);
  });

  it("is the configured one even where Excel's first line says another, and lines are counted through", async () => {
    const { header, rows } = await read("sep=;\na,b\n1,2\n3\n", { delimiter: "," });
    expect(header).toMatchObject({ line: 2, columns: ["a", "b"] });
    expect(rows.map(({ problem }) => problem?.place)).toEqual([undefined, "line 4"]);
  });
});

describe("what stands above the header", () => {
  it.each([
    ["a title with a quote in it", 'Racks of 2" tubes\n"\n', { skipLines: 2 }],
    ["a title of two lines in quotes", '"Orders\nof today"\n', { skipLines: 2 }],
    ["blank lines", "\n \n", {}],
    ["rows of empty values, as Excel writes them", ";;\n;;\n", {}],
    ["a remark", "\n-- of today\n\n", { noRow: [/^--.*$/] }],
  ])("is passed over: %s", async (_, above, given) => {
    const { header, rows } = await read(`${above}a;b;c\n1;2;3\n`, given);
    expect(header).toMatchObject({ columns: ["a", "b", "c"], delimiter: ";" });
    expect(rows.map(({ cells }) => cells)).toEqual([["1", "2", "3"]]);
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
    expect((await read(file)).rows.flatMap(({ problem }) => problem?.message ?? [])).toEqual([
      "a value stands in column 4, which has no name",
      "expected 4 columns, found 3",
    ]);
  });

  it("say how many columns were expected and found, and carry their text but no value in the words", async () => {
    const [bad] = (await read("a,b,c\nAnna,Larsen\n")).rows;
    expect(bad?.raw).toBe("Anna,Larsen\n");
    expect(bad?.problem?.message).toBe("expected 3 columns, found 2");
  });

  it("name the line on which a quoted value begins that is never closed", async () => {
    const { rows } = await read('a,b\n1,"x\n2"\n3,"never\n4,5\n6,7\n');
    expect(rows.at(-1)?.problem).toMatchObject({
      code: "CSV_QUOTE_UNCLOSED",
      place: "lines 4-7",
      message: expect.stringContaining("begins on line 4 is never closed"),
    });
    const late = (await read('a,b,c\n"1\n2",,"3\n4,5,6\n')).rows.at(-1);
    expect(late?.problem?.message).toContain("begins on line 3 is never closed");
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
    ["has a header without end", "a".repeat(300), { maxRowBytes: 100 }, /^CSV_ROW_TOO_LONG: line 1: /],
    [
      "has a row without end",
      `a,b\n1,${"x".repeat(500)}\n2,y\n`,
      { maxRowBytes: 100 },
      /^CSV_ROW_TOO_LONG: line 2: expected at most 100 bytes in a row; the file was not read any further$/,
    ],
    [
      "has a quoted value without end",
      `a,b\n2,"${"y\n".repeat(200)}"\n3,z\n`,
      { maxRowBytes: 100 },
      /^CSV_ROW_TOO_LONG: lines 2-\d+: .* 100 bytes in a row; its first quote stands on line 2; /,
    ],
    [
      "never closes a quote, and goes on for more than a row may have",
      `a,b\n2,"${"y\n".repeat(100_000)}`,
      { maxRowBytes: 100_000 },
      /^CSV_ROW_TOO_LONG: lines 2-\d+: .*; its first quote stands on line 2; /,
    ],
    [
      "has a blank row without end",
      `a,b\n${" ".repeat(500)}\n3,z\n`,
      { maxRowBytes: 100 },
      /^CSV_ROW_TOO_LONG: line 2: /,
    ],
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
  ])("%s (byte order mark: %s), configured as %s, is read", async (written, addBOM, encoding, read_) => {
    const file = iconv.encode(text, written, { addBOM });
    const { header, rows } = await read(file, { encoding });
    expect(header).toMatchObject({ columns: ["Käse", "Größe"], encoding: read_, hasByteOrderMark: addBOM });
    expect([...(rows[0]?.values.values() ?? [])]).toEqual(["Œuvre", "10 €"]);
  });

  it("takes a character outside the basic plane", async () => {
    for (const written of ["utf-16le", "utf-16be", "utf-8"]) {
      const file = iconv.encode("a\nx😀y\n", written, { addBOM: true });
      expect(await rowsOf(file)).toEqual([["x😀y"]]);
    }
  });

  it.each(["windows-1252", "gb18030", "shift_jis"])(
    "%s is read alike in a file of many pieces",
    async (encoding) => {
      const line = `${"ab".repeat(20_000)}${encoding === "windows-1252" ? "é" : "王小明"},1\n`;
      const rows = await rowsOf(
        Buffer.concat([Buffer.from("a,b\n"), iconv.encode(line.repeat(80), encoding)]),
        {
          encoding,
        },
      );
      expect(rows).toHaveLength(80);
      expect(new Set(rows.map(([value]) => value))).toEqual(new Set([line.slice(0, line.indexOf(","))]));
    },
  );

  it.each([
    ["auto", "latin1", "x\x81", "utf-8"],
    ["utf-8", "latin1", "ü", "utf-8"],
    ["us-ascii", "utf8", "ü", "us-ascii"],
  ])("%s is strict: the failure names the first bad byte", async (encoding, written, value, named) => {
    const file = iconv.encode(`a,b\n1,2\n3,${value}\n`, written);
    const offset = 10 + value.length - 1;
    expect(await failureOf(file, { encoding })).toBe(
      `CSV_BYTES: line 3: byte ${offset} of the file is not ${named}`,
    );
  });

  it.each([
    ["a picture (PNG)", "\x89PNG\r\n\x1a\n"],
    ["a picture (JPEG)", "\xff\xd8\xff\xe0"],
    ["a PDF", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"],
    ["a ZIP archive or an Excel workbook (.xlsx)", "PK\x03\x04\x14\0"],
    ["an Excel workbook (.xls)", "\xd0\xcf\x11\xe0\xa1\xb1"],
  ])("says that it is %s", async (what, bytes) => {
    const words = await failureOf(Buffer.from(bytes, "latin1"));
    expect(words).toBe(`CSV_BINARY: line 1: expected text, found ${what}`);
  });

  it("is strict for a character that the file's end cuts", async () => {
    const file = Buffer.from("a,b\n1,ü").subarray(0, 7);
    expect(await failureOf(file, { encoding: "utf-8" })).toBe(
      "CSV_BYTES: line 2: byte 6 of the file is not utf-8",
    );
  });

  it("counts a byte order mark in the offset", async () => {
    const file = Buffer.concat([Buffer.from("\ufeffa\n"), Buffer.from([0xff])]);
    expect(await failureOf(file)).toContain("byte 5 ");
  });
});

describe("what csv-stringify writes", () => {
  it("is read back, whatever the cells and the dialect", async () => {
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
        async (rows, delimiter, lineEnd) => {
          const columns = (rows[0] ?? []).map((_, i) => `c${i}`);
          const file = stringify([columns, ...rows], {
            delimiter,
            record_delimiter: lineEnd,
            quote_record_delimiter: true,
          });
          expect(await rowsOf(file, { delimiter: delimiter as "," })).toEqual(
            rows.filter((row) => !row.every(isBlank)),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  it("reads alike wherever a block of the file ends", async () => {
    const opening = "a;b\r\n";
    const rows = '1;"x\r\n""y"""\r\n"bad"z;2\r\n3\r\nä;😀\r\n"open';
    const whole = await read(`${opening}${rows}`);
    for (let back = 0; back <= Buffer.byteLength(rows); back++) {
      const filling = `${"n".repeat(65_536 - opening.length - back - 4)};m\r\n`;
      const { rows: found } = await read(`${opening}${filling}${rows}`);
      expect(found.slice(1).map(({ raw, cells, problem }) => [raw, cells, problem?.code])).toEqual(
        whole.rows.map(({ raw, cells, problem }) => [raw, cells, problem?.code]),
      );
      expect(found.at(-1)?.place).toEqual("line 8");
    }
  });
});

describe("a large file", () => {
  it("does not hold the event loop while it is read", async () => {
    let turnCount = 0;
    let turn = setImmediate(function again() {
      turnCount += 1;
      turn = setImmediate(again);
    });
    const file = `a,b,c,d\n${"PO-1,STORE,A17,V-1\n".repeat(100_000)}`;
    expect((await read(file)).rows).toHaveLength(100_000);
    clearImmediate(turn);
    expect(turnCount).toBeGreaterThan(10);
  });
});
