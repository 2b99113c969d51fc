import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderTable } from "../../src/cli/table.ts";

const columns = [{ title: "id" }, { title: "count", isRight: true }, { title: "reason", isFlexible: true }];

describe("a table", () => {
  it("is as wide as its content, with numbers to the right", () => {
    expect(
      renderTable(
        columns,
        [
          ["o1", "7", "short"],
          ["o117", "1200", "a longer reason"],
        ],
        undefined,
      ),
    ).toEqual(["ID    COUNT  REASON", "o1        7  short", "o117   1200  a longer reason"]);
  });

  it("cuts flexible columns to the width of the screen and marks the cut", () => {
    expect(renderTable(columns, [["o1", "7", "a reason that is far too long"]], 26)).toEqual([
      "ID  COUNT  REASON",
      "o1      7  a reason that…",
    ]);
  });

  it("cuts nothing when nobody looks at a screen", () => {
    const reason = "x".repeat(500);
    expect(renderTable(columns, [["o1", "7", reason]], undefined)[1]).toContain(reason);
  });

  it("never lets a value command the terminal or break the row", () => {
    const [, row] = renderTable(columns, [["o1", "7", "\u001b[2Jevil\r\nline\u202e"]], undefined);
    expect(row).toBe("o1      7  ?[2Jevil line?");
  });

  it("measures a painted cell by its text", () => {
    const paint = (text: string) => `<${text}>`;
    expect(
      renderTable(
        columns,
        [
          [{ text: "o1", paint }, "7", "r"],
          ["o117", "8", "r"],
        ],
        undefined,
      )[1],
    ).toBe("<o1  >      7  r");
  });

  it("keeps every line within the screen as long as its fixed columns allow", () => {
    const cells = fc.tuple(
      fc.string({ maxLength: 6 }),
      fc.string({ maxLength: 6 }),
      fc.string({ maxLength: 200 }),
    );
    fc.assert(
      fc.property(fc.array(cells, { maxLength: 5 }), fc.integer({ min: 30, max: 120 }), (rows, width) => {
        for (const line of renderTable(columns, rows, width))
          expect([...line].length).toBeLessThanOrEqual(width);
      }),
    );
  });
});
