import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isEndedRefill, REFILL_STATUSES, type Refill, rankOf } from "../../src/core/refill.ts";
import { decideRefill, missingRefill, type RefillRules } from "../../src/jobs/refill-change.ts";
import type { LedgerRefill } from "../../src/ledger/refill-row.ts";
import type { RefillChange } from "../../src/ledger/refills.ts";

const SUBSCRIBED = Date.parse("2026-11-20T12:00:00Z");
const RULES: RefillRules = {
  subscribedAtMs: SUBSCRIBED,
  clockSkewMs: 0,
  isFirstReading: false,
  forgottenBeforeMs: Date.parse("2024-11-20T12:00:00Z"),
  statuses: new Set(["COMPLETED", "CANCELLED", "FAILED"]),
};
const FIRST: RefillRules = { ...RULES, isFirstReading: true };

const aRefill = (parts: Partial<Refill> = {}): Refill => ({
  id: 7,
  status: "CREATED",
  createdAt: "2026-11-21T08:00:00Z",
  ...parts,
});

/** The refill as the ledger would have it after a change. */
function kept(change: RefillChange | undefined, before?: LedgerRefill): LedgerRefill {
  const { refill, reached, remoteStatus, isMissing } = change ?? (before as LedgerRefill & RefillChange);
  return {
    ledgerId: 1,
    facilityId: 12,
    facilityCode: "NORTH",
    surface: "request",
    refill,
    reached,
    remoteStatus,
    firstSeenAt: new Date(SUBSCRIBED),
    changedAt: new Date(SUBSCRIBED),
    missingSince: isMissing ? new Date(SUBSCRIBED) : undefined,
  };
}
const known = (parts: Partial<Refill> = {}) => kept(decideRefill(undefined, aRefill(parts), RULES));
const toldStatuses = (change: RefillChange | undefined) =>
  change?.steps.filter(({ isTold }) => isTold).map(({ status }) => status) ?? [];

describe("a refill that is seen for the first time", () => {
  test("is told when it was completed after the subscription, also in the first reading", () => {
    const refill = aRefill({ status: "COMPLETED", completedAt: "2026-11-21T09:00:00Z" });
    expect(toldStatuses(decideRefill(undefined, refill, FIRST))).toEqual(["COMPLETED"]);
  });

  test("is history when it was completed before the subscription, in any reading", () => {
    const refill = aRefill({ status: "COMPLETED", completedAt: "2026-11-20T11:59:59Z" });
    for (const rules of [FIRST, RULES]) {
      expect(decideRefill(undefined, refill, rules)?.steps).toEqual([
        { kind: "status", status: "COMPLETED", isHistory: true, isTold: false },
      ]);
    }
  });

  test("is history in the first reading and news later when no time tells which", () => {
    const refill = aRefill({ status: "FAILED", createdAt: undefined });
    expect(toldStatuses(decideRefill(undefined, refill, FIRST))).toEqual([]);
    expect(toldStatuses(decideRefill(undefined, refill, RULES))).toEqual(["FAILED"]);
  });

  test("is told that failed after the subscription, though it was created before, where a time tells so", () => {
    const times = { createdAt: "2026-11-20T11:00:00Z", completedAt: "2026-11-20T12:30:00Z" };
    const change = decideRefill(undefined, aRefill({ status: "FAILED", ...times }), FIRST);
    expect(toldStatuses(change)).toEqual(["FAILED"]);
  });

  test("is judged by a time without a zone only where no zone would make another day of it", () => {
    const ended = (completedAt: string) =>
      aRefill({ status: "COMPLETED", createdAt: undefined, completedAt });
    expect(toldStatuses(decideRefill(undefined, ended("2026-11-20T03:00:00"), RULES))).toEqual(["COMPLETED"]);
    expect(toldStatuses(decideRefill(undefined, ended("2026-11-19T03:00:00"), RULES))).toEqual([]);
    expect(toldStatuses(decideRefill(undefined, ended("2026-11-20T03:00:00"), FIRST))).toEqual([]);
  });

  test("is told in the first reading by a time without a zone, as the service may have been away until then", () => {
    const times = { createdAt: "2026-11-20T11:00:00", completedAt: "2026-11-20T13:00:00" };
    const refill = aRefill({ status: "COMPLETED", ...times });
    expect(toldStatuses(decideRefill(undefined, refill, FIRST))).toEqual(["COMPLETED"]);
  });

  test("is left alone when retention has forgotten it", () => {
    const refill = aRefill({ status: "FAILED", createdAt: "2023-01-01T00:00:00Z" });
    expect(decideRefill(undefined, refill, RULES)).toBeUndefined();
  });

  test("is kept but not told while it has not come to a status that is told", () => {
    const change = decideRefill(undefined, aRefill(), RULES);
    expect([change?.refill.status, toldStatuses(change)]).toEqual(["CREATED", []]);
  });
});

describe("a refill that is known", () => {
  test("may skip steps forwards", () => {
    const change = decideRefill(known(), aRefill({ status: "FAILED", error: "valve" }), RULES);
    expect(change).toMatchObject({ refill: { status: "FAILED", error: "valve" }, reached: 3 });
    expect(toldStatuses(change)).toEqual(["FAILED"]);
  });

  test("is flagged and not believed when it goes back, once for each word", () => {
    const running = known({ status: "IN_PROGRESS" });
    const change = decideRefill(running, aRefill({ status: "PENDING" }), RULES);
    expect(change).toMatchObject({ refill: { status: "IN_PROGRESS" }, remoteStatus: "PENDING" });
    expect(change?.steps.map(({ kind }) => kind)).toEqual(["backward"]);
    expect(decideRefill(kept(change), aRefill({ status: "PENDING" }), RULES)).toBeUndefined();
  });

  test("is flagged when one end follows another", () => {
    const done = known({ status: "COMPLETED" });
    const change = decideRefill(done, aRefill({ status: "FAILED" }), RULES);
    expect([change?.refill.status, change?.steps[0]?.kind]).toEqual(["COMPLETED", "backward"]);
  });

  test("keeps a status that nobody knows, and goes on from it", () => {
    const change = decideRefill(known(), aRefill({ status: "ON_HOLD" }), RULES);
    expect([change?.refill.status, change?.reached, change?.steps[0]?.kind]).toEqual([
      "ON_HOLD",
      1,
      "unknown_status",
    ]);
    expect(toldStatuses(decideRefill(kept(change), aRefill({ status: "COMPLETED" }), RULES))).toEqual([
      "COMPLETED",
    ]);
  });

  test("takes in what is told later without telling again", () => {
    const done = known({ status: "COMPLETED" });
    const later = aRefill({
      status: "COMPLETED",
      completedAt: "2026-11-21T09:00:00Z",
      storageName: "Tank 4",
    });
    expect(decideRefill(done, later, RULES)).toMatchObject({
      refill: { completedAt: "2026-11-21T09:00:00Z", storageName: "Tank 4" },
      steps: [],
    });
  });

  test("keeps what was told earlier and is not told any more", () => {
    const first = known({ storageId: 31 });
    expect(decideRefill(first, aRefill({ status: "IN_PROGRESS" }), RULES)?.refill.storageId).toBe(31);
  });

  test("is another one when it was created after the ledger had seen its id", () => {
    const done = known({ status: "COMPLETED", storageId: 4, completedAt: "2026-11-21T09:00:00Z" });
    const change = decideRefill(done, aRefill({ createdAt: "2026-11-22T07:00:00Z" }), RULES);
    expect(change).toMatchObject({ isAnother: true, known: done, reached: 1 });
    expect(change?.refill).toEqual(aRefill({ createdAt: "2026-11-22T07:00:00Z" }));
    expect(change?.steps.map(({ kind }) => kind)).toEqual(["id_reused", "status"]);
  });

  test.each([
    ["a service that corrects the time of creation", "2026-11-20T08:05:00Z"],
    ["one that writes it in another zone than before", "2026-11-20T03:00:00-05:00"],
    ["one that writes no time that could be read", "today"],
  ])("is still the same for %s", (_words, createdAt) => {
    const done = known({ status: "COMPLETED", createdAt: "2026-11-20T08:00:00Z" });
    expect(decideRefill(done, aRefill({ status: "COMPLETED", createdAt }), RULES)?.isAnother).toBeUndefined();
  });

  test.each([
    [
      "without a zone, which one of the service's answers leaves out",
      { createdAt: "2026-11-20T21:00:00", completedAt: "2026-11-21T22:00:00" },
    ],
    [
      "that changes whenever anything is written",
      { createdAt: "2026-11-22T02:00:00Z", completedAt: "2026-11-21T09:00:00.000Z" },
    ],
  ])("is still the same for a time of creation %s", (_words, times) => {
    const before = { createdAt: "2026-11-20T08:00:00Z", completedAt: "2026-11-21T09:00:00Z" };
    const done = known({ status: "COMPLETED", ...before });
    const told = aRefill({ status: "COMPLETED", ...times });
    expect(decideRefill(done, told, RULES)?.isAnother).toBeUndefined();
    expect(toldStatuses(decideRefill(done, told, RULES))).toEqual([]);
  });

  test("is noted as missing once, and as found again", () => {
    const change = missingRefill(known());
    expect(change?.steps.map(({ kind }) => kind)).toEqual(["missing"]);
    expect(missingRefill(kept(change))).toBeUndefined();
    expect(decideRefill(kept(change), aRefill(), RULES)?.steps.map(({ kind }) => kind)).toEqual(["found"]);
  });
});

test("whatever the service says, a refill never goes back, and each end is told at most once", () => {
  const word = fc.constantFrom(...REFILL_STATUSES, "ON_HOLD", "PAUSED");
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
      let state: LedgerRefill | undefined;
      const told: unknown[] = [];
      let reached = 0;
      for (const status of words) {
        const change = decideRefill(state, aRefill({ status }), RULES);
        if (!change) continue;
        told.push(...toldStatuses(change));
        expect(change.reached).toBeGreaterThanOrEqual(reached);
        reached = change.reached;
        state = kept(change);
      }
      const firstEnd = words.find(isEndedRefill);
      expect(told).toEqual(firstEnd === undefined ? [] : [firstEnd]);
      expect(reached).toBe(firstEnd ? 3 : Math.max(0, ...words.map((each) => rankOf(each) ?? 0)));
    }),
  );
});
