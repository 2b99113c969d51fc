import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { parsePeriod } from "../../src/operator/report-period.ts";

const NOW = new Date(2026, 10, 23, 15, 30).getTime();

test("a day and a month begin and end at midnight here, and know the ones before and after", () => {
  expect(parsePeriod("day", "2026-03-01", NOW)).toMatchObject({
    from: new Date(2026, 2, 1),
    to: new Date(2026, 2, 2),
    previous: "2026-02-28",
    next: "2026-03-02",
  });
  expect(parsePeriod("month", "2026-01", NOW)).toMatchObject({
    from: new Date(2026, 0, 1),
    to: new Date(2026, 1, 1),
    previous: "2025-12",
    next: "2026-02",
  });
});

test("without a name it is the day or month of now", () => {
  expect(parsePeriod("day", undefined, NOW).name).toBe("2026-11-23");
  expect(parsePeriod("month", undefined, NOW).name).toBe("2026-11");
});

test.each([
  ["day", "2026-02-30"],
  ["day", "2026-11"],
  ["day", "23.11.2026"],
  ["day", "0026-11-23"],
  ["month", "2026-13"],
  ["month", "2026-11-23"],
] as const)("a %s is not named by %s", (kind, text) => {
  expect(() => parsePeriod(kind, text, NOW)).toThrow(`"${text}" is no ${kind}`);
});

test("a day on which the clocks change has 23 or 25 hours", () => {
  const module = new URL("../../src/operator/report-period.ts", import.meta.url).pathname;
  const script = `
    const { parsePeriod } = await import(${JSON.stringify(module)});
    const hours = (day) => { const { from, to } = parsePeriod("day", day, 0); return (to - from) / 3_600_000; };
    console.log(JSON.stringify([hours("2026-03-29"), hours("2026-06-01"), hours("2026-10-25")]));`;
  const env = { ...process.env, TZ: "Europe/Vienna" };
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    env,
    encoding: "utf8",
  });
  expect(JSON.parse(said)).toEqual([23, 24, 25]);
});
