import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, it } from "vitest";
import { type CsvDialect, DEFAULT_DIALECT } from "../../../src/formats/csv/dialect.ts";
import { readCsv } from "../../../src/formats/csv/read.ts";
import { surveyCsv } from "../../../src/formats/csv/survey.ts";
import { Utf8Census } from "../../../src/formats/utf8-census.ts";
import { chunksOf } from "./source.ts";

const survey = (file: Buffer | string, dialect: Partial<CsvDialect> = {}, chunkBytes = 65_536) =>
  surveyCsv(chunksOf(file, chunkBytes), { ...DEFAULT_DIALECT, ...dialect });

describe("a survey of a CSV file", () => {
  it("settles the dialect and counts rows, good and bad", async () => {
    expect(await survey("a;b\n1;2\n3\n4;5\n")).toEqual({
      isReadable: true,
      dialect: { delimiter: ";", quote: '"', header: true, encoding: "utf-8" },
      encoding: "utf-8",
      delimiter: ";",
      columns: ["a", "b"],
      rowCount: 2,
      badRowCount: 1,
      problems: [{ code: "CSV_ROW_RAGGED", place: "line 3", message: "expected 2 columns, found 1" }],
    });
  });

  it("keeps the first hundred problems and counts all bad rows", async () => {
    const { problems, badRowCount } = await survey(`a,b\n${"1\n".repeat(500)}`);
    expect([problems.length, badRowCount]).toEqual([100, 500]);
  });

  it.each([
    ["", "CSV_EMPTY"],
    ["a,a\n", "CSV_HEADER_DOUBLED"],
    ["a,b\n1,\0\n", "CSV_BINARY"],
  ])("tells what makes %j unreadable", async (file, code) => {
    const { isReadable, problems } = await survey(file);
    expect([isReadable, problems.map((problem) => problem.code)]).toEqual([false, [code]]);
  });
});

describe("a survey that ends early", () => {
  it("lets go of its source", async () => {
    let isClosed = false;
    async function* source() {
      try {
        for (;;) yield Buffer.from("a,a\n");
      } finally {
        isClosed = true;
      }
    }
    expect((await surveyCsv(source(), DEFAULT_DIALECT)).isReadable).toBe(false);
    expect(isClosed).toBe(true);
  });
});

describe("the encoding that a survey settles", () => {
  const text = "Käse,Größe\r\nŒuvre,10 €\r\n";

  it.each([
    ["utf-8", false],
    ["utf-8", true],
    ["utf-16le", true],
    ["utf-16be", true],
    ["windows-1252", false],
  ])(
    "is %s (byte order mark: %s), whatever the chunks, and the file is read by it",
    async (encoding, addBOM) => {
      const file = iconv.encode(text, encoding, { addBOM });
      for (const chunkBytes of [1, 2, 3, 4_096]) {
        const found = await survey(file, {}, chunkBytes);
        expect(found).toMatchObject({ isReadable: true, encoding, columns: ["Käse", "Größe"], rowCount: 1 });
        const items = [];
        for await (const item of readCsv(chunksOf(file, chunkBytes), found.dialect)) items.push(item);
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

  it("is UTF-8 for plain ASCII", async () => {
    expect((await survey("a,b\n1,2\n")).encoding).toBe("utf-8");
  });

  it("is refused where two encodings stand in one file, at the first byte that is not UTF-8", async () => {
    const file = Buffer.concat([Buffer.from("a,b\n1,ü\n"), Buffer.from("2,ü\n3,x\n", "latin1")]);
    for (const chunkBytes of [1, 4_096]) {
      expect(await survey(file, {}, chunkBytes)).toMatchObject({
        isReadable: false,
        encoding: undefined,
        problems: [{ code: "CSV_BYTES", place: "line 3", message: "byte 11 of the file is not utf-8" }],
      });
    }
  });

  it("is refused where Windows-1252 has no such byte either", async () => {
    expect(await survey(Buffer.from("a,b\n1,\x81\n", "latin1"))).toMatchObject({
      isReadable: false,
      problems: [{ code: "CSV_BYTES", place: "line 2" }],
    });
  });

  it("is the configured one where one is configured, strictly", async () => {
    const file = Buffer.from("a,b\n1,ü\n", "latin1");
    expect(await survey(file, { encoding: "ISO-8859-1" })).toMatchObject({
      encoding: "iso-8859-1",
      rowCount: 1,
    });
    expect(await survey(file, { encoding: "utf-8" })).toMatchObject({ isReadable: false });
  });

  it("keeps a column name whose last byte is a no-break space in Windows-1252", async () => {
    expect((await survey("voilà,b\n1,2\n")).columns).toEqual(["voilà", "b"]);
  });

  it("agrees with the reader on every row, whatever the file", async () => {
    const file = fc
      .array(fc.constantFrom("a", ",", '"', "\n", "\r\n", "ü", " ", "x"), { minLength: 1, maxLength: 40 })
      .map((parts) => `c1,c2\n${parts.join("")}`);
    await fc.assert(
      fc.asyncProperty(file, fc.constantFrom("utf-8", "windows-1252"), async (content, encoding) => {
        const bytes = iconv.encode(content, encoding);
        const found = await survey(bytes, {}, 3);
        let rowCount = 0;
        for await (const item of readCsv(chunksOf(bytes), found.dialect)) if (item.kind === "row") rowCount++;
        expect(found.rowCount).toBe(rowCount);
      }),
    );
  });
});

describe("the census that tells UTF-8", () => {
  it("agrees with the runtime's decoder on any bytes in any chunks", () => {
    const byte = fc.oneof(
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(0xc3, 0xa4, 0xe2, 0x82, 0xac, 0xf0, 0x9f),
    );
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 30 }), fc.integer({ min: 1, max: 7 }), (values, size) => {
        const bytes = Buffer.from(values);
        const census = new Utf8Census();
        for (let i = 0; i < bytes.length; i += size) census.push(bytes.subarray(i, i + size));
        census.end();
        const isUtf8 = Buffer.from(bytes.toString("utf8"), "utf8").equals(bytes);
        expect(census.firstBadOffset === undefined).toBe(isUtf8);
        if (census.firstBadOffset !== undefined) {
          const before = bytes.subarray(0, census.firstBadOffset);
          expect(Buffer.from(before.toString("utf8"), "utf8").equals(before)).toBe(true);
        }
      }),
    );
  });
});
