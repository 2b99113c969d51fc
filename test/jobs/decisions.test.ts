import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { backoffMs } from "../../src/core/backoff.ts";
import { FAILURES, Failure, type FailureCode } from "../../src/core/failures.ts";
import { planCheck, type ReconcileTimes } from "../../src/jobs/calls/decide.ts";
import { nextStepAfter } from "../../src/jobs/next-step.ts";
import { nextPollMs } from "../../src/jobs/track/track.ts";

const BACKOFF = { firstMs: 2_000, maxMs: 300_000 };

describe("backoff", () => {
  test("doubles its ceiling with each attempt up to the cap", () => {
    const ceilings = [1, 2, 3, 8, 9, 50].map((attempt) => backoffMs(attempt, BACKOFF, 1));
    expect(ceilings).toEqual([2_000, 4_000, 8_000, 256_000, 300_000, 300_000]);
  });

  test("never waits less than the other side asked for", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.nat(3_600_000),
        (attempt, random, atLeastMs) => {
          const ms = backoffMs(attempt, BACKOFF, random, atLeastMs);
          expect(ms).toBeGreaterThanOrEqual(atLeastMs);
          expect(ms).toBeLessThanOrEqual(atLeastMs + BACKOFF.maxMs);
        },
      ),
    );
  });
});

describe("polling", () => {
  const polling = { firstMs: 60_000, maxMs: 900_000, factor: 1.5 };

  test("lengthens the interval while there is no news, up to the cap", () => {
    const intervals: number[] = [];
    for (let ageMs = 0; intervals.length < 9; ageMs += intervals.at(-1) as number)
      intervals.push(nextPollMs(ageMs, polling));
    expect(intervals.map((ms) => Math.round(ms / 1_000))).toEqual([
      60, 90, 135, 203, 304, 456, 683, 900, 900,
    ]);
  });

  test("is as often as at first where the clock went back, and always where the interval does not grow", () => {
    expect(nextPollMs(-1_000, polling)).toBe(60_000);
    expect(nextPollMs(1e12, { ...polling, factor: 1 })).toBe(60_000);
  });
});

describe("looking for what a lost call did", () => {
  const reconcile: ReconcileTimes = {
    checksMs: [5_000, 30_000],
    giveUpAfterMs: 900_000,
    recheckMs: 3_600_000,
    retrievals: "park",
  };

  test("looks at 5 s, 30 s and 15 min before it believes that nothing happened", () => {
    expect(planCheck(1, 5_000, reconcile)).toEqual({ nextInMs: 25_000 });
    expect(planCheck(2, 30_000, reconcile)).toEqual({ nextInMs: 870_000 });
    expect(planCheck(3, 900_000, reconcile)).toBe("believed");
  });

  test("does not believe fewer than three looks, however late they come", () => {
    expect(planCheck(1, 10_000_000, reconcile)).toEqual({ nextInMs: 5_000 });
    expect(planCheck(2, 10_005_000, reconcile)).toEqual({ nextInMs: 5_000 });
    expect(planCheck(3, 10_010_000, reconcile)).toBe("believed");
  });

  test("never believes before the reconcile time, and always comes to an end", () => {
    const ms = fc.integer({ min: 1, max: 1_000_000 });
    fc.assert(
      fc.property(fc.array(ms, { maxLength: 4 }), ms, (checksMs, giveUpAfterMs) => {
        let ageMs = checksMs[0] ?? giveUpAfterMs;
        for (let looks = 1; looks <= checksMs.length + 4; looks += 1) {
          const next = planCheck(looks, ageMs, { checksMs, giveUpAfterMs });
          if (next === "believed") {
            expect(ageMs).toBeGreaterThanOrEqual(giveUpAfterMs);
            return;
          }
          expect(next.nextInMs).toBeGreaterThan(0);
          ageMs += next.nextInMs;
        }
        throw new Error("no end");
      }),
    );
  });
});

describe("deciding about a failed step", () => {
  const decide = (code: FailureCode, mayHaveLeft = false, attempts = 1) =>
    nextStepAfter(new Failure(code, "x"), { attempts, mayHaveLeft });

  test("tries again for as long as an outage lasts", () => {
    expect(decide("SERVICE_UNAVAILABLE", false, 100_000)).toBe("again");
    // A read that gets no answer: the last one to do so says as little about the order as the first.
    expect(decide("SERVICE_NO_ANSWER", false, 100_000)).toBe("again");
    expect(decide("SERVICE_NO_ANSWER", true, 100_000)).toBe("look");
  });

  test("does not park orders for refused credentials", () => {
    expect(decide("SERVICE_CREDENTIALS_REFUSED", false, 100_000)).toBe("again");
  });

  test("looks for what happened whenever a call may have left and nobody can tell", () => {
    const codes = (Object.keys(FAILURES) as FailureCode[]).filter(
      (code) => FAILURES[code].class === "ambiguous",
    );
    expect(codes.map((code) => decide(code, true))).toEqual(codes.map(() => "look"));
  });

  test("parks what is refused", () => {
    expect(decide("SERVICE_REFUSED", true)).toBe("person");
  });

  test("gives up on a step that keeps failing for an unknown reason before anything was sent", () => {
    expect(decide("UNCLASSIFIED", false, 9)).toBe("again");
    expect(decide("UNCLASSIFIED", false, 10)).toBe("person");
    expect(decide("UNCLASSIFIED", true, 10)).toBe("person");
  });
});
