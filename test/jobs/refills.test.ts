import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import { readTankAges } from "../../src/jobs/tanks.ts";
import { subscribeRefills } from "../../src/ledger/refill-subscriptions.ts";
import { countRefills, listRefills } from "../../src/ledger/refill-views.ts";
import { failureOf } from "../service/with-client.ts";
import { type RefillLab, withRefillLab } from "../support/refill-lab.ts";

const all = async ({ pool }: RefillLab) => listRefills(pool, { limit: 1_000 });
const statuses = async (lab: RefillLab) => (await all(lab)).map(({ refill }) => refill.status);
const kinds = async ({ pool }: RefillLab) =>
  (await pool.query<{ kind: string }>("select kind from refill_events order by id")).rows.map(
    ({ kind }) => kind,
  );
/** Cells of the rows of all CSV files: procedure and status. */
const toldRows = async (lab: RefillLab) =>
  (await lab.files()).flatMap(({ text }) =>
    text
      .trim()
      .split("\r\n")
      .slice(1)
      .map((row) => `${row.split(",")[3]} ${row.split(",")[5]}`),
  );
const requests = ({ simulator }: RefillLab) => simulator.tally().received;

describe.each(["request", "external"] as const)("reading the refills of the %s surface", (surface) => {
  test("follows each from its beginning to its end, and tells the lab of the end once", () =>
    withRefillLab({ surface }, async (lab) => {
      const { control } = lab.simulator;
      await lab.read();
      const { id } = control.createRefill(lab.tankId);
      await lab.read();
      expect(await statuses(lab)).toEqual(["CREATED"]);
      control.startProcedure(id);
      await lab.read();
      expect(await statuses(lab)).toEqual(["IN_PROGRESS"]);
      expect(await lab.files()).toEqual([]);
      control.completeProcedure(id);
      await lab.read();
      await lab.read();
      expect(await statuses(lab)).toEqual(["COMPLETED"]);
      expect(await toldRows(lab)).toEqual([`${id} COMPLETED`]);
      expect(await kinds(lab)).toEqual(["status", "status", "status"]);
    }));

  test("tells of those that failed or were called off, with the reason where the surface has one", () =>
    withRefillLab({ surface }, async (lab) => {
      await lab.read();
      const failed = lab.refill("fail");
      const cancelled = lab.refill("cancel");
      await lab.read();
      expect(await toldRows(lab)).toEqual([`${failed} FAILED`, `${cancelled} CANCELLED`]);
      const [file] = await lab.files();
      expect(file?.text.includes("valve is stuck")).toBe(surface === "request");
    }));

  test("finds what was created and ended while nobody could look", () =>
    withRefillLab({ surface }, async (lab) => {
      await lab.read();
      lab.simulator.control.setFaults([{ method: "GET", status: 503 }]);
      const id = lab.refill();
      expect((await failureOf(lab.read())).class).toBe("transient");
      lab.simulator.control.setFaults([]);
      await lab.read();
      expect(await toldRows(lab)).toEqual([`${id} COMPLETED`]);
    }));

  test("takes two requests when there is nothing new, however many refills there were", () => {
    let aheadMs = -10 * 86_400_000;
    const clock = { ...systemClock, now: () => Date.now() + aheadMs };
    return withRefillLab({ surface, simulator: { clock } }, async (lab) => {
      for (let count = 0; count < 250; count += 1) lab.refill();
      aheadMs = 0;
      lab.refill();
      await lab.read();
      const before = requests(lab);
      await lab.read();
      expect(requests(lab) - before).toBeLessThanOrEqual(2);
    });
  });
});

describe("the first reading", () => {
  test("records what was over before the subscription without telling the lab", () =>
    withRefillLab({}, async (lab) => {
      const ids = [lab.refill(), lab.refill("fail")];
      await lab.pool.query("update refill_subscriptions set subscribed_at = now() + interval '1 minute'");
      await lab.read();
      expect((await all(lab)).map(({ refill }) => refill.id).sort()).toEqual(ids);
      expect(await lab.files()).toEqual([]);
      expect(await countRefills(lab.pool)).toEqual([]);
    }));

  test("tells of what was completed after the subscription, however late it comes", () =>
    withRefillLab({}, async (lab) => {
      await lab.pool.query("update refill_subscriptions set subscribed_at = now() - interval '2 hours'");
      const id = lab.refill();
      await lab.read();
      expect(await toldRows(lab)).toEqual([`${id} COMPLETED`]);
    }));

  test("begins anew for a facility that was left out of the configuration for a while", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      await subscribeRefills(lab.pool, []);
      lab.refill();
      await subscribeRefills(lab.pool, [{ facilityId: 12, facilityCode: "NORTH", surface: "request" }]);
      await lab.pool.query("update refill_subscriptions set subscribed_at = now() + interval '1 minute'");
      await lab.read();
      expect([await statuses(lab), await lab.files()]).toEqual([["COMPLETED"], []]);
    }));

  test("goes on where it stood when the configuration is the same", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      const before = await lab.subscription();
      await subscribeRefills(lab.pool, [{ facilityId: 12, facilityCode: "NORTH", surface: "request" }]);
      expect(await lab.subscription()).toEqual(before);
    }));
});

describe("what is told", () => {
  test("are the statuses that the configuration names", () =>
    withRefillLab({ statuses: ["CREATED", "IN_PROGRESS"] }, async (lab) => {
      const { control } = lab.simulator;
      await lab.pool.query("update refill_subscriptions set subscribed_at = now() - interval '1 minute'");
      const { id } = control.createRefill(lab.tankId);
      await lab.read();
      control.startProcedure(id);
      await lab.read();
      control.completeProcedure(id);
      await lab.read();
      expect(await toldRows(lab)).toEqual([`${id} CREATED`, `${id} IN_PROGRESS`]);
    }));

  test("names the tank, whose name the service tells elsewhere", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      lab.refill();
      await lab.read();
      const name = lab.simulator.control.storages().find(({ id }) => id === lab.tankId)?.name;
      expect((await lab.files())[0]?.text).toContain(`NORTH,${name},${lab.tankId},`);
    }));

  test("is a CSV file for each reading, numbered on, or an HL7 message for each refill", async () => {
    await withRefillLab({ format: "csv" }, async (lab) => {
      await lab.read();
      lab.refill();
      lab.refill();
      await lab.read();
      lab.refill();
      await lab.read();
      expect((await lab.files()).map(({ name }) => name)).toEqual(["refills-1.csv", "refills-2.csv"]);
    });
    await withRefillLab({ format: "hl7" }, async (lab) => {
      await lab.read();
      lab.refill();
      lab.refill("fail");
      await lab.read();
      const messages = (await lab.files()).map(({ text }) => Hl7Message.parse(text));
      expect(messages.map((message) => message.get("NDS-4.1"))).toEqual([
        "REFILL-COMPLETED",
        "REFILL-FAILED",
      ]);
      expect(new Set(messages.map(({ header }) => header.messageControlId)).size).toBe(2);
    });
  });

  test("has a number that was not used before, also when the connector has a new name", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      lab.refill();
      await lab.read();
      for (let count = 0; count < 2; count += 1) {
        lab.refill();
        const compose = lab.deps.telling?.compose ?? (() => []);
        await lab.read({ telling: { connector: "bench-2", compose } });
      }
      const names = (await lab.files()).map(({ name }) => name);
      expect(names).toEqual(["refills-1.csv", "refills-2.csv", "refills-3.csv"]);
    }));

  test("is nothing when no connector is configured for it, while everything is recorded", () =>
    withRefillLab({}, async (lab) => {
      await lab.read({ telling: undefined });
      lab.refill();
      await lab.read({ telling: undefined });
      expect([await statuses(lab), await lab.files()]).toEqual([["COMPLETED"], []]);
      expect(await countRefills(lab.pool)).toEqual([
        { facilityCode: "NORTH", status: "COMPLETED", count: 1 },
      ]);
    }));

  test("is recorded with the step in one transaction: a file that can't be made leaves no step behind", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      const id = lab.refill();
      const compose = () => {
        throw new Error("the process ends here");
      };
      await expect(lab.read({ telling: { connector: "bench", compose } })).rejects.toThrow("ends here");
      expect(await all(lab)).toEqual([]);
      await lab.read();
      expect(await toldRows(lab)).toEqual([`${id} COMPLETED`]);
    }));

  test("is told once when two processes read at once", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      for (let count = 0; count < 20; count += 1) lab.refill();
      await Promise.allSettled([lab.read(), lab.read(), lab.read()]);
      await lab.read();
      expect(await toldRows(lab)).toHaveLength(20);
    }));
});

describe("a service that is not as expected", () => {
  test("ignores the filters: refills are found among all procedures, and told once", () =>
    withRefillLab({}, async (lab) => {
      lab.simulator.control.behave({ filters: "none", sort: "random", maxPerPage: 3 });
      await lab.read();
      const ids = [lab.refill(), lab.refill(), lab.refill(), lab.refill(), lab.refill()];
      // A list in another order on each page shows some entry only at a later look.
      for (let looks = 0; looks < 30 && (await all(lab)).length < ids.length; looks += 1) await lab.read();
      await lab.read();
      expect((await toldRows(lab)).sort()).toEqual(ids.map((id) => `${id} COMPLETED`));
    }));

  test("sets a refill back: that is flagged and not believed", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      const id = lab.refill();
      await lab.read();
      lab.simulator.control.alterProcedure(id, { status: "IN_PROGRESS" });
      await lab.read();
      await lab.read();
      expect(await all(lab)).toMatchObject([
        { refill: { status: "COMPLETED" }, remoteStatus: "IN_PROGRESS", flagged: ["IN_PROGRESS"] },
      ]);
      expect(await toldRows(lab)).toHaveLength(1);
    }));

  test("has a status that nobody knows: it is kept and followed", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      const { id } = lab.simulator.control.createRefill(lab.tankId);
      lab.simulator.control.alterProcedure(id, { status: "DEFROSTING" });
      await lab.read();
      expect(await statuses(lab)).toEqual(["DEFROSTING"]);
      lab.simulator.control.alterProcedure(id, { status: "COMPLETED" });
      await lab.read();
      expect(await toldRows(lab)).toEqual([`${id} COMPLETED`]);
    }));

  test("lists an open refill no more: it is followed by its id, and noted once as missing when that fails too", () =>
    withRefillLab({}, async (lab) => {
      const { control } = lab.simulator;
      await lab.read();
      const old = control.createRefill(lab.tankId);
      await lab.read();
      await lab.pool.query("update refills set created_time = created_time - interval '30 days'");
      const newer = control.createRefill(lab.tankId);
      await lab.read();
      control.startProcedure(old.id);
      await lab.read();
      const statusOf = async (id: number) =>
        (await all(lab)).find(({ refill }) => refill.id === id)?.refill.status;
      expect([await statusOf(old.id), await statusOf(newer.id)]).toEqual(["IN_PROGRESS", "CREATED"]);
      control.forget("procedure", old.id);
      await lab.read();
      await lab.read();
      expect((await kinds(lab)).filter((kind) => kind === "missing")).toEqual(["missing"]);
      expect((await all(lab)).find(({ refill }) => refill.id === old.id)?.missingSince).toBeInstanceOf(Date);
    }));

  test("is not asked for its tanks where the credential doesn't reach them", () =>
    withRefillLab({ surface: "external" }, async (lab) => {
      await lab.read({ mayListTanks: () => false });
      const id = lab.refill();
      await lab.read({ mayListTanks: () => false });
      expect(Object.keys(lab.simulator.tally().routes)).not.toContain("GET /api/storage");
      expect(await toldRows(lab)).toEqual([`${id} COMPLETED`]);
    }));

  test("doesn't let its tanks be listed: refills are followed all the same", () =>
    withRefillLab({}, async (lab) => {
      lab.simulator.control.setFaults([{ method: "GET", path: "/api/storage", status: 403 }]);
      await lab.read();
      const id = lab.refill();
      await lab.read();
      expect(await toldRows(lab)).toEqual([`${id} COMPLETED`]);
    }));
});

test("a tank's age is counted from its last completed refill, not from one that failed", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    lab.refill();
    await lab.read();
    await lab.pool.query("update refills set completed_time = completed_time - interval '15 days'");
    lab.refill("fail");
    await lab.read();
    const limits = { alertAfterMs: 14 * 86_400_000, limitByTank: new Map() };
    const tanks = await readTankAges(lab.pool, limits, Date.now());
    expect(tanks.filter(({ isOverdue }) => isOverdue)).toMatchObject([
      { facilityCode: "NORTH", storageId: lab.tankId },
    ]);
    lab.refill();
    await lab.read();
    expect((await readTankAges(lab.pool, limits, Date.now())).some(({ isOverdue }) => isOverdue)).toBe(false);
  }));

test("a tank's last refill is never in the future, whatever its clock says, so that the alert comes in time", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    const completedAt = new Date(Date.now() + 3_000 * 86_400_000).toISOString();
    lab.simulator.control.alterProcedure(lab.refill(), { completedAt });
    await lab.read();
    const limits = { alertAfterMs: 14 * 86_400_000, limitByTank: new Map() };
    const inAMonth = await readTankAges(lab.pool, limits, Date.now() + 30 * 86_400_000);
    expect(inAMonth.find(({ storageId }) => storageId === lab.tankId)?.isOverdue).toBe(true);
  }));

test("no name, not even that of who did it, is in anything that is kept", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    const { id } = lab.simulator.control.createRefill(lab.tankId);
    lab.simulator.control.startProcedure(id, "Robin Invented");
    lab.simulator.control.failProcedure(id, "stopped by Robin Invented");
    await lab.read();
    const { rows } = await lab.pool.query("select * from refills");
    expect(JSON.stringify([rows, await lab.files()])).not.toContain("Invented");
  }));
