import { expect, test } from "vitest";
import { shownValue } from "../../src/operator/hl7-tree.ts";
import { HIDDEN } from "../../src/operator/text.ts";

const VALUE = "PAT-4711";

/** Which of these fields, such as `QRD-8`, are shown to somebody who didn't ask for patients' data. */
function shown(...places: readonly string[]): string[] {
  return places.filter((place) => {
    const [segment = "", field] = place.split("-");
    const value = shownValue(segment, { field: Number(field) }, VALUE, false);
    expect([VALUE, HIDDEN]).toContain(value);
    return value === VALUE;
  });
}

test("who a query asks about is hidden, and when and how it asks is shown", () => {
  expect(shown("QRD-1", "QRD-4", "QRD-8", "QRD-11", "QRF-5", "QPD-3", "ZQU-1")).toEqual(["QRD-1", "QRD-4"]);
});

test("comments and instructions are hidden wherever they stand, since people write anything there", () => {
  expect(shown("NTE-3", "TQ1-11", "BHS-10", "BTS-2", "FHS-10", "FTS-2")).toEqual([]);
});

test("who ordered, entered and verified is hidden, and what the order is called is shown", () => {
  expect(shown("ORC-2", "ORC-3", "ORC-10", "ORC-12", "EVN-2", "EVN-5")).toEqual(["ORC-2", "ORC-3", "EVN-2"]);
});

test("everything is shown to somebody who asked for patients' data", () => {
  expect(shownValue("QRD", { field: 8 }, VALUE, true)).toBe(VALUE);
});
