import { expect, test } from "vitest";
import { isWithin, msWithin, parseDays, parseMinute } from "../../src/core/weekly.ts";

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

const HOURS = { days: new Set([1]), fromMinute: 420, toMinute: 1_080 };
const monday = (hour: number, minute = 0, week = 0) => new Date(2026, 10, 23 + 7 * week, hour, minute);

test("hours hold on their days, and their end is not part of them", () => {
  const moments = [monday(7), monday(17, 59), monday(6, 59), monday(18), new Date(2026, 10, 24, 9)];
  expect(moments.map((now) => isWithin(HOURS, now))).toEqual([true, true, false, false, false]);
});

test("of a time, what is within the hours counts, over as many days as it lasts", () => {
  const hoursFrom = (from: Date, to: Date) => msWithin(HOURS, from, to) / 3_600_000;
  expect(hoursFrom(monday(8), monday(9))).toBe(1);
  expect(hoursFrom(monday(3), monday(23))).toBe(11);
  expect(hoursFrom(monday(17), monday(8, 0, 1))).toBe(2);
  expect(hoursFrom(monday(18), monday(7, 0, 1))).toBe(0);
  expect(hoursFrom(monday(12), monday(12, 0, 3))).toBe(33);
  expect(hoursFrom(monday(9), monday(8))).toBe(0);
  const always = { days: new Set([0, 1, 2, 3, 4, 5, 6]), fromMinute: 0, toMinute: 1_440 };
  const [from, to] = [monday(18, 30), monday(3, 0, 2)];
  expect(msWithin(always, from, to)).toBe(to.getTime() - from.getTime());
});
