import fc from "fast-check";
import { expect, it } from "vitest";
import { safeFileName } from "../../../src/core/file-name.ts";
import { type FileNamePattern, fileNameOf, parseFileName } from "../../../src/mapping/outbound/file-name.ts";

const DEFAULT = "{input}.results-{number}.csv";
const at = new Date("2026-11-27T10:00:00Z");
const nameOf = (pattern: string, inputName: string, number?: number) =>
  fileNameOf(
    parseFileName(pattern) as FileNamePattern,
    { inputName, connector: "bänk", at, timeZone: "UTC" },
    number,
  );

it("keeps the end of its pattern whatever the dropped file was called", () => {
  const input = `${"ä".repeat(120)}.csv`;
  expect(Buffer.byteLength(input)).toBe(244);
  expect(nameOf(DEFAULT, input, 1)).toMatch(/~[0-9a-f]{8}\.csv\.results-1\.csv$/);
});

it("is the name that no folder changes, in at most 143 bytes, and the series shares all but the number", () => {
  const patterns = [DEFAULT, "{stem}-ergebnis-{number:4}.csv", "{connector}_{date}_{input}_{number}.csv"];
  const inputs = fc.oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 250 }),
    fc.constantFrom("CON.csv", "aux", "..", "a/b", `x.${"y".repeat(200)}`, `${"長".repeat(80)}.csv`),
  );
  fc.assert(
    fc.property(fc.constantFrom(...patterns), inputs, fc.nat(), (pattern, input, number) => {
      const name = nameOf(pattern, input, number);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(143);
      expect(safeFileName(name, 255)).toBe(name);
      const series = nameOf(pattern, input);
      const [before = "", after = ""] = series.split("{number}");
      expect(name.startsWith(before) && name.endsWith(after)).toBe(true);
    }),
  );
});
