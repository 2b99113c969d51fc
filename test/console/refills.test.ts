import { describe, expect, it } from "vitest";
import type { TankAge } from "../../src/jobs/refills/tanks.ts";
import type { RefillOverview } from "../../src/standing/facts.ts";
import type { Status } from "../../src/standing/status-document.ts";
import { withConsole } from "./console-fixture.ts";

const HOUR = 3_600_000;
const tank = (parts: Partial<TankAge> = {}): TankAge => {
  const lastRefillAt = new Date(Date.now() - HOUR);
  return {
    facilityCode: "NORTH",
    storageId: 31,
    storageName: "Tank 4",
    lastRefillAt,
    since: lastRefillAt,
    limitMs: HOUR / 2,
    isOverdue: true,
    ...parts,
  };
};
const overview = (parts: Partial<RefillOverview> = {}) => ({
  refills: async (): Promise<RefillOverview> => ({ counts: [], tanks: [], ...parts }),
});
const metricsOf = async (url: string) => (await fetch(`${url}/metrics`)).text();

describe("refills in /metrics", () => {
  it("count what was reached, and tell the age of each tank and how many are overdue", () =>
    withConsole(
      {
        deps: overview({
          counts: [{ facilityCode: "NORTH", status: "COMPLETED", count: 3 }],
          tanks: [tank(), tank({ storageId: 32, storageName: "Tank 5", isOverdue: false })],
        }),
      },
      async ({ url }) => {
        const text = await metricsOf(url);
        expect(text).toContain('cryobridge_refills_total{facility="NORTH",status="COMPLETED"} 3\n');
        expect(text).toMatch(
          /^cryobridge_tank_seconds_since_refill\{facility="NORTH",storage="Tank 4"\} 360\d\./m,
        );
        expect(text).toContain("cryobridge_tanks_overdue 1\n");
        // A second scrape says the same: the counts are the ledger's and don't add up here.
        expect(await metricsOf(url)).toContain('status="COMPLETED"} 3\n');
      },
    ));

  it("are silent when none are followed, rather than saying that all is well", () =>
    withConsole({}, async ({ url }) =>
      expect(await metricsOf(url)).not.toMatch(/^cryobridge_(refills|tank)/m),
    ));

  it("have 200 tanks at most, and one series for all others with the longest age", () => {
    const tanks = Array.from({ length: 300 }, (_, index) =>
      tank({
        storageId: index,
        storageName: `T${index}`,
        since: new Date(Date.now() - (1_000 - index) * HOUR),
      }),
    );
    return withConsole({ deps: overview({ tanks }) }, async ({ url }) => {
      const lines = (await metricsOf(url)).match(/^cryobridge_tank_seconds_since_refill\{.*$/gm) ?? [];
      expect(lines).toHaveLength(201);
      expect(lines.at(-1)).toMatch(/storage="\(others\)"\} 2880\d{3}/);
    });
  });
});

describe("an overdue tank", () => {
  it("stands in the status document, and doesn't make the program unready", () =>
    withConsole({ deps: overview({ tanks: [tank(), tank({ isOverdue: false })] }) }, async ({ url }) => {
      const status = (await (await fetch(`${url}/api/status`)).json()) as Status;
      expect(status.overdueTanks).toMatchObject([
        { facilityCode: "NORTH", storageId: 31, storage: "Tank 4" },
      ]);
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
    }));

  it("is unknown while no refills are followed", () =>
    withConsole({}, async ({ url }) => {
      const status = (await (await fetch(`${url}/api/status`)).json()) as Status;
      expect(status.overdueTanks).toBeNull();
    }));
});
