import { describe, expect, test } from "vitest";
import { judgeTanks, type TankFacts, tankName } from "../../src/jobs/refills/tanks.ts";
import type { ListedTank, TankRefill } from "../../src/ledger/refills.ts";

const DAY = 86_400_000;
const NOW = Date.parse("2026-11-21T12:00:00Z");
const daysAgo = (days: number) => new Date(NOW - days * DAY);
const NORTH = {
  facilityId: 12,
  facilityCode: "NORTH",
  surface: "request",
  subscribedAt: daysAgo(100),
} as const;

const listed = (storageId: number, name: string, parts: Partial<ListedTank> = {}): ListedTank => ({
  facilityId: 12,
  storageId,
  name,
  firstSeenAt: daysAgo(30),
  listedAt: daysAgo(0),
  ...parts,
});
const refilled = (storageId: number | null, days: number, parts: Partial<TankRefill> = {}): TankRefill => ({
  facilityId: 12,
  storageId,
  storageName: null,
  completedAt: daysAgo(days),
  ...parts,
});

function judged(facts: Partial<TankFacts>, limits: Record<string, number | "off"> = {}, alertDays?: number) {
  const all = { subscriptions: [NORTH], lastRefills: [], listed: [], ...facts };
  const alertAfterMs = alertDays === undefined ? undefined : alertDays * DAY;
  const tanks = judgeTanks(all, { alertAfterMs, tanks: new Map(Object.entries(limits)) }, NOW);
  return tanks.map(
    (tank) => `${tankName(tank)} ${(NOW - tank.since.getTime()) / DAY}d${tank.isOverdue ? " overdue" : ""}`,
  );
}

describe("tanks", () => {
  test("alert when their last completed refill is longer ago than the limit, the longest first", () => {
    const facts = {
      lastRefills: [refilled(1, 3), refilled(2, 15)],
      listed: [listed(1, "Tank 1"), listed(2, "Tank 2")],
    };
    expect(judged(facts, {}, 14)).toEqual(["Tank 2 15d overdue", "Tank 1 3d"]);
  });

  test("don't alert at the very limit", () => {
    expect(judged({ lastRefills: [refilled(1, 14)] }, {}, 14)).toEqual(["tank 1 14d"]);
  });

  test("never alert without a limit", () => {
    expect(judged({ lastRefills: [refilled(1, 900)] })).toEqual(["tank 1 900d"]);
  });

  test("have limits of their own, by name, by id, by facility, or none at all", () => {
    const facts = {
      lastRefills: [1, 2, 3, 4].map((id) => refilled(id, 20)),
      listed: [1, 2, 3, 4].map((id) => listed(id, `Tank ${id}`)),
    };
    const limits = {
      "Tank 1": 30 * DAY,
      "2": 30 * DAY,
      "Tank 3": 10 * DAY,
      "NORTH/Tank 3": 30 * DAY,
      "Tank 4": "off",
    } as const;
    expect(judged(facts, limits, 14).filter((line) => line.endsWith("overdue"))).toEqual([]);
    expect(judged(facts, { "Tank 3": 10 * DAY })).toContain("Tank 3 20d overdue");
  });

  test("that were never refilled count from when they were first seen", () => {
    expect(judged({ listed: [listed(5, "Tank 5")] }, {}, 14)).toEqual(["Tank 5 30d overdue"]);
  });

  test("that are listed are not judged where the service doesn't name the tank of a refill", () => {
    const facts = { lastRefills: [refilled(null, 2)], listed: [listed(5, "Tank 5")] };
    expect(judged(facts, {}, 14)).toEqual(["(tank not known) 2d"]);
  });

  test("that are listed for two facilities and were never refilled are nobody's", () => {
    const twice = [listed(5, "Tank 5"), listed(5, "Tank 5", { facilityId: 13 }), listed(6, "Tank 6")];
    expect(judged({ listed: twice }, {}, 14)).toEqual(["Tank 6 30d overdue"]);
  });

  test("that the service lists no more and that were never refilled are gone", () => {
    const facts = { listed: [listed(5, "Tank 5", { listedAt: daysAgo(4) }), listed(6, "Tank 6")] };
    expect(judged(facts, {}, 14)).toEqual(["Tank 6 30d overdue"]);
  });

  test("of a facility of which nothing at all is known stand for an unknown one since the subscription", () => {
    expect(judged({}, {}, 14)).toEqual(["(tank not known) 100d overdue"]);
  });

  test("that were renamed stay one tank under the newer name", () => {
    const lastRefills = [refilled(1, 20, { storageName: "Old" }), refilled(1, 3, { storageName: "New" })];
    expect(judged({ lastRefills }, {}, 14)).toEqual(["New 3d"]);
  });

  test("of facilities that are followed no more are left out", () => {
    expect(
      judged({ lastRefills: [refilled(1, 20, { facilityId: 99 })], listed: [listed(2, "Tank 2")] }),
    ).toEqual(["Tank 2 30d"]);
  });
});
