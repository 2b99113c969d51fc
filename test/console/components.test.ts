import { expect, test } from "vitest";
import { listTable } from "../../src/console/components.ts";
import { systemClock } from "../../src/core/clock.ts";

test("a long text without blanks may be broken into lines anywhere but within a character", () => {
  const text = `${"x".repeat(23)}🧊${"y".repeat(30)}`;
  const columns = [{ title: "file", show: () => text }];
  const viewer = { clock: systemClock, mayShowPhi: false };
  const table = Buffer.from(listTable(columns, [{}], viewer, { nothing: "" }).text).toString();
  expect(table).toContain("<wbr>");
  expect(table.replaceAll("<wbr>", "")).toContain(text);
});

test("a long file name is broken after the signs between its parts, and its parts stay whole", () => {
  const columns = [{ title: "file", show: () => "clinic-03-oml-o33-v251-consent.hl7" }];
  const table = listTable(columns, [{}], { clock: systemClock, mayShowPhi: false }, { nothing: "" });
  expect(table.text).toContain("v251-<wbr>consent.<wbr>hl7");
});
