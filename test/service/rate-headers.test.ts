import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readHeaders } from "../../src/service/http/answer.ts";

const windowsOf = (headers: Record<string, string | string[]>) => readHeaders(headers).windows;

describe("what headers say of a limit", () => {
  it.each([
    [
      "several policies and what is left of one",
      {
        "ratelimit-policy": '"burst";q=100;w=60,"daily";q=1000;w=86400;pk=:sdfjLJUOUH==:',
        ratelimit: '"burst";r=50;t=30',
      },
      [
        { calls: 100, windowMs: 60_000 },
        { calls: 1_000, windowMs: 86_400_000 },
        { left: 50, ends: { inMs: 30_000 } },
      ],
    ],
    [
      "a name with a comma and a semicolon, and blanks",
      { "ratelimit-policy": '"100, in; a minute"; q=100; w=60' },
      [{ calls: 100, windowMs: 60_000 }],
    ],
    [
      "another unit than requests",
      { "ratelimit-policy": '"peruser";q=65535;qu="content-bytes";w=10,"ok";q=5;w=1;qu="requests"' },
      [{ calls: 5, windowMs: 1_000 }],
    ],
    [
      "the seventh draft",
      { ratelimit: "limit=100, remaining=50, reset=50", "ratelimit-policy": "100;w=60" },
      [
        { calls: 100, windowMs: 60_000 },
        { calls: 100, left: 50, ends: { inMs: 50_000 } },
      ],
    ],
    [
      "the sixth draft",
      {
        "ratelimit-limit": "10, 10;w=1;burst=1000, 1000;w=3600",
        "ratelimit-remaining": "3",
        "ratelimit-reset": "1",
      },
      [
        { calls: 10, windowMs: 1_000 },
        { calls: 1_000, windowMs: 3_600_000 },
        { calls: 10, left: 3, ends: { inMs: 1_000 } },
      ],
    ],
    [
      "a moment in seconds of the epoch",
      { "x-ratelimit-limit": "60", "x-ratelimit-remaining": "59", "x-ratelimit-reset": "1795780800" },
      [{ calls: 60, left: 59, ends: { atMs: 1_795_780_800_000 } }],
    ],
    [
      "a moment in ms of the epoch",
      { "x-rate-limit-limit": "60", "x-rate-limit-remaining": "59", "x-rate-limit-reset": "1795780800000" },
      [{ calls: 60, left: 59, ends: { atMs: 1_795_780_800_000 } }],
    ],
    [
      "a date",
      { "x-ratelimit-limit": "60", "x-ratelimit-reset": "Sat, 28 Nov 2026 00:00:00 GMT" },
      [{ calls: 60, left: undefined, ends: { atMs: Date.UTC(2026, 10, 28) } }],
    ],
    [
      "a header for each window",
      {
        "x-ratelimit-limit-minute": "60",
        "x-ratelimit-remaining-minute": "12",
        "x-ratelimit-limit-hour": "1000",
      },
      [
        { calls: 60, left: 12, windowMs: 60_000 },
        { calls: 1_000, left: undefined, windowMs: 3_600_000 },
      ],
    ],
    [
      "headers that came twice, of which the least counts",
      { "x-ratelimit-limit": ["60", "100"], "x-ratelimit-remaining": "7, 9", "x-ratelimit-reset": "30, 30" },
      [{ calls: 60, left: 7, ends: { inMs: 30_000 } }],
    ],
  ])("is read of %s", (_name, headers, windows) => {
    expect(windowsOf(headers)).toEqual(windows);
  });

  it.each([
    [{ "ratelimit-limit": "0" }],
    [{ "ratelimit-limit": "-1" }],
    [{ "ratelimit-limit": "unlimited" }],
    [{ "ratelimit-limit": "10", "ratelimit-remaining": "11", "ratelimit-reset": "5" }],
    [{ "ratelimit-remaining": "0" }],
    [{ "ratelimit-policy": '"a";q=ten;w=60' }],
    [{ "ratelimit-policy": '"a";q=10;w=0' }],
    [{ "ratelimit-policy": '"a' }],
    [{ ratelimit: ";;=,=;r=1" }],
    [{ "ratelimit-reset": "1e3" }],
    [{ "x-ratelimited": "60" }],
    [{}],
  ])("is nothing where %j is no limit", (headers) => {
    expect(windowsOf(headers)).toEqual([]);
  });

  it("is a number above nothing, or not there, whatever comes", () => {
    const text = fc.oneof(
      fc.string(),
      fc.stringMatching(/^("[a-z]?)?[";=,qwrt0-9 .:-]*$/),
      fc.constantFrom("60", "1", "0", "1795780800"),
    );
    const name = fc.constantFrom(
      ...["ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"],
      ...["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-ratelimit-limit-minute"],
    );
    fc.assert(
      fc.property(fc.dictionary(name, fc.oneof(text, fc.array(text, { maxLength: 3 }))), (headers) => {
        for (const { calls = 1, windowMs = 1, left = 0 } of windowsOf(headers) ?? []) {
          expect(calls).toBeGreaterThanOrEqual(1);
          expect(windowMs).toBeGreaterThan(0);
          expect(left).toBeGreaterThanOrEqual(0);
          expect(Number.isFinite(calls + windowMs + left)).toBe(true);
        }
      }),
    );
  });
});
