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
