import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { decideAfterCall, decideAfterLook, type UncancelledLook } from "../../src/jobs/cancel-decision.ts";

const BACKOFF = { firstMs: 2_000, maxMs: 300_000 };
const SETTLE = { looksMs: [5_000, 30_000], afterMs: 900_000, retrievals: "park" } as const;
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
    expect(decide(new Failure("SERVICE_NO_ANSWER", ""))).toEqual({ kind: "look", call: "sent" });
  });

  test("is looked into once more when it was refused, since an earlier one may have worked", () => {
    expect(decide(new Failure("SERVICE_REFUSED", ""))).toEqual({ kind: "look", call: "refused" });
  });
});

const LOOK: UncancelledLook = {
  call: "sent",
  attempts: 1,
  looks: 1,
  calledAgeMs: 0,
  failure: undefined,
  status: "PENDING",
};
const LOST = { code: "SERVICE_NO_ANSWER", text: "no whole answer in time" } as const;

describe("a look that finds the order as it was", () => {
  test("is repeated at the settle times", () => {
    expect(decideAfterLook(LOOK, SETTLE)).toEqual({ kind: "lookAgain", nextInMs: 5_000 });
    const later = { ...LOOK, looks: 3, calledAgeMs: 30_000 };
    expect(decideAfterLook(later, SETTLE)).toEqual({ kind: "lookAgain", nextInMs: 870_000 });
  });

  test("lets a refusal stand at once, with the service's words and what it shows", () => {
    const failure = { code: "SERVICE_REFUSED", text: "status 409: too late" } as const;
    const decision = decideAfterLook({ ...LOOK, call: "refused", failure }, SETTLE);
    expect(decision).toMatchObject({ kind: "unable", refusal: { code: "CANCEL_REFUSED" } });
    expect(JSON.stringify(decision)).toMatch(/PENDING.*409/);
  });

  test("has a call without an answer made again after the settle time, and a third time at most", () => {
    const settled = { ...LOOK, looks: 4, calledAgeMs: 900_000, failure: LOST };
    expect(decideAfterLook(settled, SETTLE)).toEqual({ kind: "callAgain" });
    expect(decideAfterLook({ ...settled, attempts: 3 }, SETTLE)).toMatchObject({
      kind: "unable",
      refusal: { code: "CANCEL_WITHOUT_EFFECT" },
    });
  });

  test("never has a call repeated that the service took", () => {
    const settled = { ...LOOK, looks: 4, calledAgeMs: 900_000 };
    expect(decideAfterLook(settled, SETTLE)).toMatchObject({ refusal: { code: "CANCEL_WITHOUT_EFFECT" } });
  });

  test("never has a call made again before the settle time", () => {
    const looks = fc.record({
      call: fc.constantFrom("sent", "refused"),
      attempts: fc.integer({ min: 1, max: 5 }),
      looks: fc.integer({ min: 1, max: 50 }),
      calledAgeMs: fc.integer({ min: 0, max: SETTLE.afterMs - 1 }),
      failure: fc.constantFrom(undefined, LOST),
      status: fc.constant("PENDING"),
    }) as fc.Arbitrary<UncancelledLook>;
    fc.assert(fc.property(looks, (look) => decideAfterLook(look, SETTLE).kind !== "callAgain"));
  });
});
