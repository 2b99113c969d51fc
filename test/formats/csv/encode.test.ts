import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeCsv } from "../../../src/formats/csv/encode.ts";
import { isBlank } from "../../../src/formats/csv/headings.ts";
import { readCsv } from "../../../src/formats/csv/read.ts";
import { DEFAULT_DIALECT } from "./source.ts";

describe("writing CSV", () => {
  it("quotes only where needed and ends every record with CRLF", () => {
    expect(
      encodeCsv(
        ["order_number", "position"],
        [
          ["PO-1", 'a "b", c'],
          [undefined, "two\nlines"],
          [7, -1.5],
        ],
      ),
    ).toBe('order_number,position\r\nPO-1,"a ""b"", c"\r\n,"two\nlines"\r\n7,-1.5\r\n');
  });

  it("writes the header alone where there are no rows", () => {
    expect(encodeCsv(["a", "b"], [])).toBe("a,b\r\n");
  });

  it.each(["=1+2", "+49", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "=cmd|' /C calc'!A0"])(
    "makes %j harmless for a spreadsheet",
    (value) => {
      const cell = encodeCsv(["a"], [[value]]).slice("a\r\n".length);
      expect(cell).toMatch(/^"?'/);
    },
  );

  it("makes a column name harmless too", () => {
    expect(encodeCsv(["=a"], [])).toBe("'=a\r\n");
  });

  it("is read back with every value as it was, but for the apostrophe before a formula", async () => {
    const cell = fc.string({ maxLength: 8 }).map((value) => value.replace(/\0/g, ""));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, cell), { maxLength: 5 }), async (rows) => {
        const file = encodeCsv(
          ["a", "b"],
          rows.map((row) => [...row]),
        );
        const read: string[][] = [];
        const { rows: found } = await readCsv(Buffer.from(file), { ...DEFAULT_DIALECT, delimiter: "," });
        for await (const row of found) read.push([...row.values.values()]);
        const written = rows.map((row) =>
          row.map((value) => (/^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value)),
        );
        expect(read).toEqual(written.filter((row) => !row.every(isBlank)));
      }),
    );
  });
});
