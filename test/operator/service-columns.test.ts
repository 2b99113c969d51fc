import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { detailTexts } from "../../src/operator/column.ts";
import { SERVICE_COLUMNS, type ServiceView } from "../../src/operator/service-columns.ts";
import { serviceView } from "../support/service-view.ts";

const NOW = Date.parse("2026-11-21T10:00:00Z");
const viewer = { clock: { ...systemClock, now: () => NOW }, mayShowPhi: false };

function shown(own: Partial<ServiceView> = {}): Record<string, string> {
  const lines = detailTexts(SERVICE_COLUMNS, serviceView(own), viewer);
  return Object.fromEntries(lines.map(({ title, text }) => [title, text]));
}

test("before the first call nothing is said of whether the service can be reached", () => {
  expect(shown()).toEqual({
    ...{ reachable: "no call yet", calls: "✓ go out", token: "none yet" },
    ...{ "last minute": "0 calls", limit: "at most 5 calls a second, as set; 2 at once" },
    called: "0 times since the start",
  });
});

test("the limit in force is shown with where it comes from", () => {
  const limit = (calls: number, seconds: number, source: ServiceView["limit"]["source"]) =>
    shown({ limit: { calls, seconds, source } }).limit;
  expect(limit(60, 60, "set")).toBe("at most 60 calls a minute, as set; 2 at once");
  expect(limit(1, 1, "header")).toBe("at most 1 call a second, by the service's headers; 2 at once");
  expect(limit(1_000, 3_600, "header")).toMatch(/^at most 1000 calls an hour,/);
  expect(limit(60, 10, "learned")).toBe("at most 60 calls in 10s, learned from refused calls; 2 at once");
});

test("the calls of the last minute are shown with what they were for and how many were refused", () => {
  const callsByPurpose = { tokens: 1, reconciling: 0, submitting: 31, following: 5, locating: 20, other: 0 };
  expect(shown({ callsLastMinute: 57, callsByPurpose })["last minute"]).toBe(
    "57 calls: 31 submitting, 5 following, 20 locating, 1 for tokens",
  );
  expect(
    shown({ callsLastMinute: 57, refusedLastMinute: 2, callsByPurpose, calls: 90, refused: 8 }),
  ).toMatchObject({
    "last minute": expect.stringMatching(/^57 calls, 2 refused: /),
    called: "90 times since the start, 8 refused",
  });
});

test("a backlog is shown with how long it takes", () => {
  expect(shown({ backlog: { orders: 430, callsPerOrder: 5, calls: 2_150, seconds: 2_190 } }).backlog).toBe(
    "430 orders wait to be sent; with those at the service they need about 2150 calls, which takes 37m",
  );
});

test("a call that failed says that it is out of reach, before the breaker opens", () => {
  expect(shown({ isReachable: false })).toMatchObject({
    ...{ reachable: "✗ no", calls: "✓ go out" },
  });
  expect(shown({ isReachable: true })).toMatchObject({ reachable: "✓ yes" });
});

test("calls that are paused are shown with since when, why, and when one tries", () => {
  const opening = {
    ...{ since: "2026-11-21T09:59:00Z", text: "nothing listens there" },
    nextTryAt: "2026-11-21T10:00:20Z",
  };
  expect(shown({ isReachable: false, breaker: "open", opening })).toMatchObject({
    ...{ calls: "✗ paused; one tries in 20s", why: "nothing listens there" },
    since: expect.stringContaining("(1m ago)"),
  });
});

test("of a token is shown when it ends", () => {
  const token = (own: Partial<ServiceView>) => shown(own).token;
  expect(token({ tokenEndsAt: "2026-11-21T10:42:00Z" })).toBe("ends in 42m");
  expect(token({ tokenEndsAt: "2026-11-21T09:57:00Z" })).toBe("ended 3m ago; the next call takes a new one");
  expect(token({ hasApiToken: true })).toBe("an API token, which has no end");
});
