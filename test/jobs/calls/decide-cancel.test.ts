import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideCancel, type Standing } from "../../../src/jobs/calls/decide.ts";

const TIMES = {
  checksMs: [5_000, 30_000],
  giveUpAfterMs: 900_000,
  recheckMs: 3_600_000,
  retrievals: "park",
} as const;
const LOST = { code: "SERVICE_NO_ANSWER", text: "no whole answer in time" } as const;
const REFUSED = { code: "SERVICE_REFUSED", text: "status 404: no such request" } as const;
const PENDING = { isCancelled: false, status: "PENDING" } as const;
const HOUR = 3_600_000;

/** A call to cancel that the service took just now, not looked for yet. */
const call = (given: Partial<Standing> = {}): Standing => ({
  ...{ kind: "cancel", isPresumed: false, answer: "taken", failure: undefined, isApproved: false },
  ...{ checks: 0, ageMs: 0, goneMs: undefined, lostBefore: 0 },
  ...{ surface: "request", operation: "STORE", times: TIMES },
  ...given,
});

const anyCall = fc
  .record({
    answer: fc.constantFrom("taken" as const, "refused" as const, undefined),
    failure: fc.constantFrom(undefined, LOST, REFUSED),
    lostBefore: fc.integer({ min: 0, max: 3 }),
    checks: fc.integer({ min: 0, max: 50 }),
    ageMs: fc.integer({ min: 0, max: 3 * TIMES.giveUpAfterMs }),
    goneMs: fc.option(fc.integer({ min: 0, max: 3 * TIMES.giveUpAfterMs }), { nil: undefined }),
  })
  .map(call);
const anyFound = fc.constantFrom(PENDING, { isCancelled: true, status: "CANCELLED" }, "gone" as const);

test("a look that finds the order cancelled ends the call to cancel it, whatever its answer was", () => {
  fc.assert(
    fc.property(anyCall, (standing) => {
      expect(decideCancel(standing, { isCancelled: true, status: "CANCELLED" })).toEqual({
        kind: "cancelled",
        status: "CANCELLED",
      });
    }),
  );
});

describe("a look that finds the order as it was", () => {
  test("is repeated at the times of reconcile.checks", () => {
    expect(decideCancel(call(), PENDING)).toMatchObject({ kind: "again", nextInMs: 5_000 });
    const later = call({ checks: 2, ageMs: 30_000 });
    expect(decideCancel(later, PENDING)).toMatchObject({ kind: "again", nextInMs: 870_000 });
  });

  test("lets a refusal stand at once, with the service's words and what it shows", () => {
    const failure = { code: "SERVICE_REFUSED", text: "status 409: too late" } as const;
    const decision = decideCancel(call({ answer: "refused", failure }), PENDING);
    expect(decision).toMatchObject({ kind: "refused", refusal: { code: "CANCEL_REFUSED" } });
    expect(JSON.stringify(decision)).toMatch(/PENDING.*409/);
  });

  test("has a call without an answer made again after reconcile.giveUpAfter, and a third time at most", () => {
    const lost = { checks: 3, ageMs: 900_000, answer: undefined, failure: LOST };
    expect(decideCancel(call(lost), PENDING)).toEqual({ kind: "nothing" });
    expect(decideCancel(call({ ...lost, lostBefore: 1 }), PENDING)).toEqual({ kind: "nothing" });
    expect(decideCancel(call({ ...lost, lostBefore: 2 }), PENDING)).toMatchObject({
      kind: "refused",
      refusal: { code: "CANCEL_WITHOUT_EFFECT" },
    });
  });

  test("counts from the first look again where the service had it no more in between", () => {
    const lost = { checks: 7, ageMs: 900_000, answer: undefined, goneMs: 60_000 };
    expect(decideCancel(call(lost), PENDING)).toMatchObject({ kind: "again", nextInMs: 5_000 });
  });

  test("never has a call repeated that the service took", () => {
    expect(decideCancel(call({ checks: 3, ageMs: 900_000 }), PENDING)).toMatchObject({
      refusal: { code: "CANCEL_WITHOUT_EFFECT" },
    });
  });
});

describe("a look that is answered that there is no such request", () => {
  const taken = { answer: "taken", failure: undefined } as const;
  const lost = { answer: undefined, failure: LOST } as const;
  const refused = { answer: "refused", failure: REFUSED } as const;
  const { giveUpAfterMs } = TIMES;

  test.each([
    ["that the service took", taken, 0, 0, undefined, "cancelled"],
    ["without an answer, at once", lost, 0, 0, undefined, "again"],
    ["without an answer, within reconcile.giveUpAfter", lost, 0, 8, giveUpAfterMs - 1, "again"],
    ["without an answer, with too few looks", lost, 0, 1, giveUpAfterMs, "again"],
    ["without an answer, after reconcile.giveUpAfter", lost, 0, 2, giveUpAfterMs, "cancelled"],
    ["that was refused after a lost one, at once", refused, 1, 0, undefined, "again"],
    [
      "that was refused after a lost one, after reconcile.giveUpAfter",
      refused,
      1,
      2,
      giveUpAfterMs,
      "cancelled",
    ],
    ["that was refused like all before it, at once", refused, 0, 0, undefined, "again"],
    ["that was refused like all before it, after a minute of it", refused, 0, 2, 60_000, "refused"],
    [
      "that was refused like all before it, after reconcile.giveUpAfter",
      refused,
      0,
      2,
      giveUpAfterMs,
      "refused",
    ],
  ] as const)("after a call %s", (_words, given, lostBefore, checks, goneMs, kind) => {
    const standing = call({ ...given, lostBefore, checks, goneMs, ageMs: HOUR });
    expect(decideCancel(standing, "gone").kind).toBe(kind);
  });

  test("is looked at again at the times of reconcile.checks, counted from the first such answer", () => {
    const standing = call({ ...lost, checks: 1, ageMs: HOUR, goneMs: 5_000 });
    expect(decideCancel(standing, "gone")).toMatchObject({ kind: "again", nextInMs: 25_000 });
  });
});

test("never is a call made again before reconcile.giveUpAfter, after a third, or after one that was answered", () => {
  fc.assert(
    fc.property(anyCall, anyFound, (standing, found) => {
      if (decideCancel(standing, found).kind !== "nothing") return;
      expect(found).toBe(PENDING);
      expect(standing.answer).toBeUndefined();
      expect(standing.ageMs).toBeGreaterThanOrEqual(TIMES.giveUpAfterMs);
      expect(standing.lostBefore).toBeLessThan(2);
    }),
    { numRuns: 2_000 },
  );
});

test("never is anything granted that no call of ours can have done, or refused that one may have done", () => {
  fc.assert(
    fc.property(anyCall, anyFound, (standing, found) => {
      const { kind } = decideCancel(standing, found);
      const { answer, lostBefore, checks, goneMs } = standing;
      const isSteady = goneMs !== undefined && goneMs >= TIMES.giveUpAfterMs && checks >= 2;
      const mayBeOurs = answer !== "refused" || lostBefore > 0;
      if (kind === "cancelled" && found === "gone")
        expect(answer === "taken" || (isSteady && mayBeOurs)).toBe(true);
      if (kind === "cancelled" && found !== "gone") expect(found.isCancelled).toBe(true);
      if (kind === "refused" && found === "gone") expect(mayBeOurs).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

test("a look again is always later, and no later than reconcile.giveUpAfter from now", () => {
  fc.assert(
    fc.property(anyCall, anyFound, (standing, found) => {
      const decision = decideCancel(standing, found);
      if (decision.kind !== "again") return;
      expect(decision.nextInMs).toBeGreaterThan(0);
      expect(decision.nextInMs).toBeLessThanOrEqual(TIMES.giveUpAfterMs);
    }),
  );
});
