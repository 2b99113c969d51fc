import { expect, test } from "vitest";
import { beganAt, parseDays, parseMinute } from "../../src/core/weekly.ts";

test("days are read singly, as ranges also over the weekend, or all", () => {
  const days = (text: string) => parseDays(text) && [...(parseDays(text) ?? [])].sort();
  expect(days("mon-fri")).toEqual([1, 2, 3, 4, 5]);
  expect(days("sat-mon,wed")).toEqual([0, 1, 3, 6]);
  expect(days("daily")).toEqual([0, 1, 2, 3, 4, 5, 6]);
  for (const text of ["", "monday", "mon-", "mon-tue-wed", "mon, tue"]) expect(days(text)).toBeUndefined();
});

test("times are read up to midnight", () => {
  expect(["00:00", "07:30", "24:00", "24:01", "7:30"].map(parseMinute)).toEqual([
    0,
    450,
    1_440,
    undefined,
    undefined,
  ]);
});

test("hours begin on each of their days anew, and their end is not part of them", () => {
  const hours = { days: new Set([1]), fromMinute: 420, toMinute: 1_080 };
  const monday = (hour: number, minute = 0) => new Date(2026, 10, 23, hour, minute);
  expect(beganAt(hours, monday(7))).toEqual(monday(7));
  expect(beganAt(hours, monday(17, 59))).toEqual(monday(7));
  expect([monday(6, 59), monday(18), new Date(2026, 10, 24, 9)].map((now) => beganAt(hours, now))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
