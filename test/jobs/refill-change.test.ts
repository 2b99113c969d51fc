import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isEndedRefill, type Refill, rankOf } from "../../src/core/refill.ts";
import { PROCEDURE_STATUSES } from "../../src/core/service-catalogue.ts";
import { decideRefill, type RefillRules } from "../../src/jobs/refills/refills.ts";
import type { LedgerRefill, RefillChange } from "../../src/ledger/refills.ts";

const SUBSCRIBED = Date.parse("2026-11-20T12:00:00Z");
const RULES: RefillRules = { subscribedAtMs: SUBSCRIBED, keptFromMs: Date.parse("2024-11-20T12:00:00Z") };

const aRefill = (parts: Partial<Refill> = {}): Refill => ({
  id: 7,
  status: "CREATED",
  createdAt: "2026-11-21T08:00:00Z",
  ...parts,
});

/** The refill as the ledger would have it after a change. */
function kept(change: RefillChange | undefined): LedgerRefill {
  if (!change) throw new Error("nothing changed");
  const { refill, reached, remoteStatus, flagged } = change;
  return {
    ledgerId: 1,
    facilityId: 12,
    facilityCode: "NORTH",
    surface: "request",
    refill,
    reached,
    remoteStatus,
    flagged,
    firstSeenAt: new Date(SUBSCRIBED),
    changedAt: new Date(SUBSCRIBED),
    missingSince: null,
  };
}
const known = (parts: Partial<Refill> = {}) => kept(decideRefill(undefined, aRefill(parts), RULES));

describe("a refill that is seen for the first time", () => {
  test.each<[string, Partial<Refill>, string | undefined]>([
    ["completed since", { status: "COMPLETED", completedAt: "2026-11-21T09:00:00Z" }, "COMPLETED"],
    ["completed before", { status: "COMPLETED", completedAt: "2026-11-20T11:59:59Z" }, undefined],
    ["failed since, created before", { status: "FAILED", createdAt: "2026-11-20T11:00:00Z" }, undefined],
    ["created since", {}, "CREATED"],
    ["created before", { createdAt: "2026-11-20T11:00:00Z" }, undefined],
    ["without any time", { status: "FAILED", createdAt: undefined }, "FAILED"],
    ["with a word that nobody knows", { status: "ON_HOLD" }, undefined],
    ["without a status", { status: "UNKNOWN" }, undefined],
  ])("counts by when the facility was first followed: %s", (_words, parts, counted) => {
    const change = decideRefill(undefined, aRefill(parts), RULES);
    expect([change?.refill.status, change?.counted]).toEqual([parts.status ?? "CREATED", counted]);
  });

  test("is left alone when retention has forgotten it, which it can't have before it was followed that long", () => {
    const refill = aRefill({ status: "FAILED", createdAt: "2023-01-01T00:00:00Z" });
    expect(decideRefill(undefined, refill, RULES)?.refill.status).toBe("FAILED");
    expect(decideRefill(undefined, refill, { ...RULES, subscribedAtMs: 0 })).toBeUndefined();
  });
});

describe("a refill that is known", () => {
  test("may skip steps forwards", () => {
    const change = decideRefill(known(), aRefill({ status: "FAILED", error: "valve" }), RULES);
    expect(change).toMatchObject({
      refill: { status: "FAILED", error: "valve" },
      reached: 3,
      counted: "FAILED",
    });
  });

  test("is flagged and not believed when it goes back, once for each word", () => {
    const running = known({ status: "IN_PROGRESS" });
    const change = decideRefill(running, aRefill({ status: "PENDING" }), RULES);
    expect(change).toMatchObject({
      refill: { status: "IN_PROGRESS" },
      remoteStatus: "PENDING",
      flagged: ["PENDING"],
      counted: undefined,
    });
    expect(decideRefill(kept(change), aRefill({ status: "PENDING" }), RULES)).toBeUndefined();
  });

  test("is flagged when one end, or a word that nobody knows, follows another end", () => {
    for (const status of ["FAILED", "ON_HOLD"]) {
      const change = decideRefill(known({ status: "COMPLETED" }), aRefill({ status }), RULES);
      expect(change).toMatchObject({ refill: { status: "COMPLETED" }, flagged: [status], reached: 3 });
    }
  });

  test("keeps a status that nobody knows, and goes on from it", () => {
    const change = decideRefill(known(), aRefill({ status: "ON_HOLD" }), RULES);
    expect(change).toMatchObject({ refill: { status: "ON_HOLD" }, reached: 1, flagged: ["ON_HOLD"] });
    const next = decideRefill(kept(change), aRefill({ status: "COMPLETED" }), RULES);
    expect(next).toMatchObject({ refill: { status: "COMPLETED" }, counted: "COMPLETED" });
  });

  test("keeps its status when an entry shows none, and gets the one that it shows later", () => {
    expect(decideRefill(known(), aRefill({ status: "UNKNOWN" }), RULES)).toBeUndefined();
    const late = (completedAt: string) =>
      decideRefill(known({ status: "UNKNOWN" }), aRefill({ status: "COMPLETED", completedAt }), RULES);
    expect(late("2026-11-21T09:00:00Z")).toMatchObject({ reached: 3, counted: "COMPLETED", flagged: [] });
    expect(late("2026-11-20T09:00:00Z")).toMatchObject({ reached: 3, counted: undefined, flagged: [] });
  });

  test("takes in what is shown later, and keeps what is not shown any more", () => {
    const done = known({ status: "COMPLETED", storageId: 31 });
    const later = aRefill({ status: "COMPLETED", completedAt: "2026-11-21T09:00:00Z" });
    expect(decideRefill(done, later, RULES)).toMatchObject({
      refill: { completedAt: "2026-11-21T09:00:00Z", storageId: 31 },
      hasNews: false,
      counted: undefined,
    });
  });

  test("is news again when it was missing", () => {
    const missing = { ...known(), missingSince: new Date(SUBSCRIBED) };
    expect(decideRefill(missing, aRefill(), RULES)).toMatchObject({ hasNews: true, counted: undefined });
  });
});

test("whatever the service says, a refill never goes back, and one end at most is counted", () => {
  const word = fc.constantFrom(...PROCEDURE_STATUSES, "ON_HOLD", "PAUSED");
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
      let state: LedgerRefill | undefined;
      const ends: unknown[] = [];
      let reached = 0;
      for (const status of words) {
        const change = decideRefill(state, aRefill({ status }), RULES);
        if (!change) continue;
        if (change.counted !== undefined && isEndedRefill(change.counted)) ends.push(change.counted);
        expect(change.reached).toBeGreaterThanOrEqual(reached);
        reached = change.reached;
        state = kept(change);
      }
      const firstEnd = words.find(isEndedRefill);
      expect(ends).toEqual(firstEnd === undefined ? [] : [firstEnd]);
      expect(reached).toBe(firstEnd ? 3 : Math.max(0, ...words.map((each) => rankOf(each) ?? 0)));
    }),
  );
});
