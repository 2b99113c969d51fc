import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { localTime, parseSince, relativeTime } from "../../src/operator/times.ts";

const NOW = Date.parse("2026-11-21T10:00:00Z");
const AT = { clock: { ...systemClock, now: () => NOW } };

describe("times for people", () => {
  it.each([
    [0, "now"],
    [-999, "now"],
    [-5_000, "5s ago"],
    [-59_600, "1m ago"],
    [90_000, "in 2m"],
    [3_599_990, "in 1h"],
    [-5_400_000, "1.5h ago"],
    [-86_399_000, "1d ago"],
    [-3 * 86_400_000, "3d ago"],
  ])("tells %i ms from now as %s", (ms, words) => {
    expect(relativeTime(new Date(NOW + ms), NOW)).toBe(words);
  });

  it("writes the time of day that the clock on the wall shows", () => {
    expect(localTime(new Date(2026, 10, 2, 3, 4, 5))).toBe("2026-11-02 03:04:05");
  });
});

describe("--since", () => {
  it("takes a duration back from now", () => {
    expect(parseSince("2h", AT)?.toISOString()).toBe("2026-11-21T08:00:00.000Z");
  });

  it("takes a time with its zone, and a date as midnight here", () => {
    expect(parseSince("2026-11-20T23:00:00+01:00", AT)?.toISOString()).toBe("2026-11-20T22:00:00.000Z");
    expect(localTime(parseSince("2026-11-20", AT) as Date)).toBe("2026-11-20 00:00:00");
  });

  it.each(["yesterday", "2", "2026-13-01", "21.11.2026", ""])("refuses %j", (text) => {
    expect(() => parseSince(text, AT)).toThrow(expect.objectContaining({ code: "CLI_USAGE" }));
  });
});
