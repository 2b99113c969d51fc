import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { detailTexts } from "../../src/operator/column.ts";
import { SERVICE_COLUMNS, type ServiceView } from "../../src/operator/service-columns.ts";

const NOW = Date.parse("2026-11-21T10:00:00Z");
const viewer = { clock: { ...systemClock, now: () => NOW }, mayShowPhi: false };

const BEFORE_THE_FIRST_CALL: ServiceView = {
  ...{ isReachable: null, breaker: "closed", opening: null, hasApiToken: false, tokenEndsAt: null },
  ...{ maxRequestsPerSecond: 5, maxRequestsPerMinute: null, callsAtOnce: 2, callsLastMinute: 0, calls: 0 },
};

function shown(own: Partial<ServiceView> = {}): Record<string, string> {
  const lines = detailTexts(SERVICE_COLUMNS, { ...BEFORE_THE_FIRST_CALL, ...own }, viewer);
  return Object.fromEntries(lines.map(({ title, text }) => [title, text]));
}

test("before the first call nothing is said of whether the service can be reached", () => {
  expect(shown()).toEqual({
    ...{ reachable: "no call yet", calls: "✓ go out", token: "none yet" },
    rate: "0 calls in the last minute; at most 5 a second, 2 at once",
    called: "0 times since the start",
  });
});

test("a limit a minute is shown where there is one", () => {
  expect(shown({ maxRequestsPerMinute: 60 }).rate).toBe(
    "0 calls in the last minute; at most 60 a minute, 5 a second, 2 at once",
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
