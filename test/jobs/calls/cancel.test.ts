import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import { decideAfterCall } from "../../../src/jobs/calls/cancel.ts";
import { decideAfterLook, type UncancelledLook } from "../../../src/jobs/calls/look-cancel.ts";

const BACKOFF = { firstMs: 2_000, maxMs: 300_000 };
const RECONCILE = {
  checksMs: [5_000, 30_000],
  giveUpAfterMs: 900_000,
  recheckMs: 3_600_000,
  retrievals: "park",
} as const;
const decide = (failure: Failure, attempt = 1) => decideAfterCall(failure, { attempt, random: 0.5 }, BACKOFF);

describe("a cancel call that failed", () => {
  test.each(["SERVICE_BUSY", "SERVICE_UNREACHABLE", "SERVICE_CREDENTIALS_REFUSED"] as const)(
    "is made again later after %s, which says that nothing was done",
    (code) => {
      expect(decide(new Failure(code, ""))).toEqual({ kind: "again", nextInMs: 1_000 });
    },
  );

  test("waits for as long as the service asks", () => {
    const failure = new Failure("SERVICE_BUSY", { message: "", retryAfterMs: 60_000 });
    expect(decide(failure)).toEqual({ kind: "again", nextInMs: 61_000 });
  });

  test("is looked into when nobody knows what it did", () => {
    expect(decide(new Failure("SERVICE_NO_ANSWER", ""))).toEqual({ kind: "look", isRefused: false });
  });

  test("is looked into once more when it was refused, since an earlier one may have worked", () => {
    expect(decide(new Failure("SERVICE_REFUSED", ""))).toEqual({ kind: "look", isRefused: true });
  });
});

const LOOK: UncancelledLook = {
  answer: "taken",
  unanswered: 0,
  checks: 1,
  calledAgeMs: 0,
  failure: undefined,
  found: { kind: "shown", status: "PENDING" },
};
const LOST = { code: "SERVICE_NO_ANSWER", text: "no whole answer in time" } as const;

describe("a look that finds the order as it was", () => {
  test("is repeated at the times of reconcile.checks", () => {
    expect(decideAfterLook(LOOK, RECONCILE)).toEqual({ kind: "checkAgain", nextInMs: 5_000 });
    const later = { ...LOOK, checks: 3, calledAgeMs: 30_000 };
    expect(decideAfterLook(later, RECONCILE)).toEqual({ kind: "checkAgain", nextInMs: 870_000 });
  });

  test("lets a refusal stand at once, with the service's words and what it shows", () => {
    const failure = { code: "SERVICE_REFUSED", text: "status 409: too late" } as const;
    const decision = decideAfterLook({ ...LOOK, answer: "refused", failure }, RECONCILE);
    expect(decision).toMatchObject({ kind: "unable", refusal: { code: "CANCEL_REFUSED" } });
    expect(JSON.stringify(decision)).toMatch(/PENDING.*409/);
  });

  test("has a call without an answer made again after reconcile.giveUpAfter, and a third time at most", () => {
    const settled = { ...LOOK, checks: 4, calledAgeMs: 900_000, answer: undefined, failure: LOST };
    expect(decideAfterLook(settled, RECONCILE)).toEqual({ kind: "callAgain" });
    expect(decideAfterLook({ ...settled, unanswered: 1 }, RECONCILE)).toEqual({ kind: "callAgain" });
    expect(decideAfterLook({ ...settled, unanswered: 2 }, RECONCILE)).toMatchObject({
      kind: "unable",
      refusal: { code: "CANCEL_WITHOUT_EFFECT" },
    });
  });

  test("never has a call repeated that the service took", () => {
    const settled = { ...LOOK, checks: 4, calledAgeMs: 900_000 };
    expect(decideAfterLook(settled, RECONCILE)).toMatchObject({ refusal: { code: "CANCEL_WITHOUT_EFFECT" } });
  });

  test("never has a call made again before reconcile.giveUpAfter", () => {
    const looks = fc.record({
      answer: fc.constantFrom("taken", "refused", undefined),
      unanswered: fc.integer({ min: 0, max: 2 }),
      checks: fc.integer({ min: 1, max: 50 }),
      calledAgeMs: fc.integer({ min: 0, max: RECONCILE.giveUpAfterMs - 1 }),
      failure: fc.constantFrom(undefined, LOST),
      found: fc.constantFrom(LOOK.found, gone(0), gone(RECONCILE.giveUpAfterMs)),
    }) as fc.Arbitrary<UncancelledLook>;
    fc.assert(fc.property(looks, (look) => decideAfterLook(look, RECONCILE).kind !== "callAgain"));
  });
});

const REFUSED = { code: "SERVICE_REFUSED", text: "status 404: no such request" } as const;
const HOUR = 3_600_000;
const gone = (forMs: number) => ({ kind: "gone", forMs }) as const;

describe("a look that is answered that there is no such request", () => {
  const taken = { answer: "taken", failure: undefined } as const;
  const lost = { answer: undefined, failure: LOST } as const;
  const refused = { answer: "refused", failure: REFUSED } as const;

  test.each([
    ["that the service took", taken, 0, 1, 0, "cancelled"],
    ["without an answer, at once", lost, 0, 1, 0, "checkAgain"],
    [
      "without an answer, within reconcile.giveUpAfter",
      lost,
      0,
      9,
      RECONCILE.giveUpAfterMs - 1,
      "checkAgain",
    ],
    ["without an answer, with too few looks", lost, 0, 2, RECONCILE.giveUpAfterMs, "checkAgain"],
    ["without an answer, after reconcile.giveUpAfter", lost, 0, 3, RECONCILE.giveUpAfterMs, "cancelled"],
    ["that was refused after a lost one, at once", refused, 1, 1, 0, "checkAgain"],
    [
      "that was refused after a lost one, after reconcile.giveUpAfter",
      refused,
      1,
      3,
      RECONCILE.giveUpAfterMs,
      "cancelled",
    ],
    ["that was refused like all before it, at once", refused, 0, 1, 0, "checkAgain"],
    ["that was refused like all before it, after a minute of it", refused, 0, 3, 60_000, "unable"],
    [
      "that was refused like all before it, after reconcile.giveUpAfter",
      refused,
      0,
      3,
      RECONCILE.giveUpAfterMs,
      "unable",
    ],
  ] as const)("after a call %s", (_words, call, unanswered, looks, forMs, kind) => {
    const look = { ...LOOK, ...call, unanswered, checks: looks, calledAgeMs: HOUR, found: gone(forMs) };
    expect(decideAfterLook(look, RECONCILE).kind).toBe(kind);
  });

  test("is looked at again at the times of reconcile.checks, counted from the first such answer", () => {
    const look = { ...LOOK, ...lost, checks: 2, calledAgeMs: HOUR, found: gone(5_000) };
    expect(decideAfterLook(look, RECONCILE)).toEqual({ kind: "checkAgain", nextInMs: 25_000 });
  });

  test("never grants what no call of ours can have done, and never calls again", () => {
    const looks = fc.record({
      answer: fc.constantFrom("taken", "refused", undefined),
      unanswered: fc.integer({ min: 0, max: 2 }),
      checks: fc.integer({ min: 1, max: 50 }),
      calledAgeMs: fc.integer({ min: 0, max: 3 * RECONCILE.giveUpAfterMs }),
      failure: fc.constantFrom(undefined, LOST, REFUSED),
      found: fc.integer({ min: 0, max: 3 * RECONCILE.giveUpAfterMs }).map(gone),
    }) as fc.Arbitrary<UncancelledLook & { readonly found: ReturnType<typeof gone> }>;
    fc.assert(
      fc.property(looks, (look) => {
        const isTaken = look.answer === "taken";
        const isSteady = look.found.forMs >= RECONCILE.giveUpAfterMs && look.checks >= 3;
        const { kind } = decideAfterLook(look, RECONCILE);
        if (kind === "cancelled")
          return isTaken || (isSteady && (look.answer !== "refused" || look.unanswered > 0));
        return kind === "checkAgain" ? !isTaken && !isSteady : kind === "unable" && look.answer === "refused";
      }),
    );
  });
});
