import { readFile, writeFile } from "node:fs/promises";
import type pg from "pg";
import { describe, expect, it } from "vitest";
import type { Refill } from "../../src/core/refill.ts";
import { keepTanks, recordRefills, subscribeRefills } from "../../src/ledger/refills.ts";
import { type Lab, withLab } from "./with-lab.ts";

const NORTH = { facilityId: 12, facilityCode: "NORTH", surface: "request" } as const;

/** A refill that came to its end, as a reading would have recorded it. */
async function record(pool: pg.Pool, parts: Partial<Refill> = {}): Promise<void> {
  const refill: Refill = { id: 77, status: "COMPLETED", storageId: 31, storageName: "Tank 4", ...parts };
  const change = {
    known: undefined,
    isAnother: false,
    refill,
    reached: 3,
    remoteStatus: refill.status,
    flagged: [],
    hasNews: true,
    counted: refill.status,
  };
  await recordRefills(pool, NORTH, [change]);
}

/** A lab that follows the refills of NORTH, with one tank that was just refilled and one that never was. */
async function withRefills(test: (lab: Lab) => Promise<void>): Promise<void> {
  await withLab(async (lab) => {
    const text = await readFile(lab.configFile, "utf8");
    await writeFile(
      lab.configFile,
      `${text}refills: { facilities: [NORTH], alertAfter: 14d, tanks: { "Tank 6": off } }\n`,
    );
    await subscribeRefills(lab.pool, [NORTH]);
    await keepTanks(lab.pool, 12, [
      { storageId: 31, name: "Tank 4" },
      { storageId: 32, name: "Tank 5" },
      { storageId: 33, name: "Tank 6" },
    ]);
    await lab.pool.query("update tanks set first_seen_at = now() - interval '20 days'");
    await record(lab.pool);
    await record(lab.pool, { id: 78, status: "FAILED", error: "valve is stuck" });
    await test(lab);
  });
}

describe("refills list", () => {
  it("is what `refills` alone does: refills with tank, status and reason", () =>
    withRefills(async ({ cli }) => {
      const { status, stdout, stderr } = await cli(["refills"]);
      expect([status, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/^ +77 +NORTH +Tank 4 +COMPLETED .*$/m);
      expect(stdout).toMatch(/^ +78 +NORTH +Tank 4 +FAILED .* +valve is stuck$/m);
    }));

  it("shows the same in JSON", () =>
    withRefills(async ({ cli }) => {
      const document = JSON.parse((await cli(["refills", "list", "--json", "--limit", "1"])).stdout);
      expect(document).toMatchObject({
        hasMore: true,
        refills: [
          {
            procedureId: 78,
            surface: "request",
            facilityCode: "NORTH",
            storageName: "Tank 4",
            status: "FAILED",
            completedAt: null,
            error: "valve is stuck",
            missingSince: null,
            flagged: [],
          },
        ],
      });
    }));

  it("takes a facility and a time, and refuses a facility that there is none", () =>
    withRefills(async ({ cli, pool }) => {
      await pool.query("update refills set changed_at = now() - interval '2 days' where procedure_id = 77");
      const { stdout } = await cli(["refills", "list", "--facility", "NORTH", "--since", "1d"]);
      expect(stdout).not.toMatch(/^ +77 /m);
      const wrong = await cli(["refills", "list", "--facility", "WEST"]);
      expect([wrong.status, wrong.stderr]).toEqual([
        2,
        expect.stringContaining("--facility WEST: the configuration has NORTH"),
      ]);
    }));

  it("says when none are followed", () =>
    withLab(async ({ cli }) => {
      const { stdout, stderr } = await cli(["refills"]);
      expect([stdout, stderr]).toEqual([
        "No refills.\n",
        "No refills are followed: the configuration has no section refills.\n",
      ]);
    }));
});

describe("refills tanks", () => {
  it("lists tanks, those without a refill for longest first, and marks those that are overdue", () =>
    withRefills(async ({ cli }) => {
      const lines = (await cli(["refills", "tanks"])).stdout.split("\n");
      expect(lines[1]).toMatch(/^NORTH +Tank 5 +32 +none seen +20d ago +14d +overdue$/);
      expect(lines[2]).toMatch(/^NORTH +Tank 6 +33 +none seen +20d ago +never$/);
      expect(lines[3]).toMatch(/^NORTH +Tank 4 +31 +2\d{3}-.* (now|\ds ago) +14d$/);
    }));

  it("shows the same in JSON", () =>
    withRefills(async ({ cli }) => {
      const { tanks } = JSON.parse((await cli(["refills", "tanks", "--json"])).stdout);
      expect(tanks[0]).toEqual({
        facilityCode: "NORTH",
        storageId: 32,
        storageName: "Tank 5",
        lastRefillAt: null,
        since: expect.any(String),
        alertAfterSeconds: 1_209_600,
        isOverdue: true,
      });
    }));

  it("is cut and refuses facilities as other lists are and do", () =>
    withRefills(async ({ cli }) => {
      const first = JSON.parse((await cli(["refills", "tanks", "--limit", "1", "--json"])).stdout);
      expect([first.tanks.length, first.hasMore]).toEqual([1, true]);
      const unknown = await cli(["refills", "tanks", "--facility", "SOUTH"]);
      expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining("--facility SOUTH")]);
    }));
});
