import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { nextMs, type RefillWatch, watchRefills } from "../../src/jobs/refills/refills.ts";
import { readTankAges } from "../../src/jobs/refills/tanks.ts";
import { listRefills, subscribeRefills } from "../../src/ledger/refills.ts";
import { failureOf, logSink } from "../service/with-client.ts";
import { eventually } from "../support/eventually.ts";
import { type RefillLab, withRefillLab } from "../support/refill-lab.ts";
import { DAY, fromNow, HOUR, known, requests, statuses } from "./refill-readings.ts";

const NORTH = { facilityId: 12, facilityCode: "NORTH" } as const;

describe.each(["request", "external"] as const)("reading the refills of the %s surface", (surface) => {
  test("follows each from its beginning to its end, and counts each status once", () =>
    withRefillLab({ surface }, async (lab) => {
      const { control } = lab.simulator;
      await lab.read();
      const { id } = control.createRefill(lab.tankId);
      await lab.read();
      expect(await statuses(lab)).toEqual(["CREATED"]);
      control.startProcedure(id);
      await lab.read();
      expect(await statuses(lab)).toEqual(["IN_PROGRESS"]);
      control.completeProcedure(id);
      await lab.read();
      await lab.read();
      expect(await statuses(lab)).toEqual(["COMPLETED"]);
      expect(await lab.counts()).toEqual({ CREATED: 1, IN_PROGRESS: 1, COMPLETED: 1 });
    }));

  test("keeps those that failed or were called off, and that there is a reason, without its words", () =>
    withRefillLab({ surface }, async (lab) => {
      await lab.read();
      const failed = lab.refill("fail");
      const cancelled = lab.refill("cancel");
      await lab.read();
      expect(await known(lab)).toEqual([`${failed} FAILED`, `${cancelled} CANCELLED`]);
      const reason = (await lab.refills()).find(({ refill }) => refill.id === failed)?.refill.error;
      expect(reason).toBe(surface === "request" ? "the storage service gives a reason" : undefined);
    }));

  test("finds what was created and ended while nobody could look", () =>
    withRefillLab({ surface }, async (lab) => {
      await lab.read();
      lab.simulator.control.setFaults([{ method: "GET", status: 503 }]);
      const id = lab.refill();
      expect((await failureOf(lab.read())).class).toBe("transient");
      lab.simulator.control.setFaults([]);
      await lab.read();
      expect(await known(lab)).toEqual([`${id} COMPLETED`]);
    }));

  test("takes two requests when there is nothing new, however many refills there were", () => {
    let aheadMs = -10 * DAY;
    const clock = { ...systemClock, now: () => Date.now() + aheadMs };
    return withRefillLab({ surface, simulator: { clock } }, async (lab) => {
      for (let count = 0; count < 250; count += 1) lab.refill();
      aheadMs = 0;
      lab.refill();
      await lab.read();
      expect(await lab.refills()).toHaveLength(251);
      const before = requests(lab);
      await lab.read();
      expect(requests(lab) - before).toBeLessThanOrEqual(2);
    });
  });
});

test("a refill that another facility has already stays with that one, and this is reported once", () =>
  withRefillLab({}, async (lab) => {
    const id = lab.refill();
    await lab.read();
    await lab.pool.query("update refills set facility_id = 99, facility_code = 'SOUTH'");
    const { logger, text } = logSink();
    for (let n = 0; n < 2; n += 1) await lab.read({ logger });
    expect((await lab.refills()).map(({ facilityId }) => facilityId)).toEqual([99]);
    expect(text().match(/another facility has already/g)).toHaveLength(1);
    expect(text()).toContain(`"procedureId":${id}`);
  }));

describe("the first reading", () => {
  test("records what was over before the facility was followed without counting it", () =>
    withRefillLab({}, async (lab) => {
      const ids = [lab.refill(), lab.refill("fail")];
      await lab.pool.query("update refill_subscriptions set subscribed_at = now() + interval '1 minute'");
      await lab.read();
      expect(await known(lab)).toEqual([`${ids[0]} COMPLETED`, `${ids[1]} FAILED`]);
      expect(await lab.counts()).toEqual({});
    }));

  test("counts what was completed since then, however late it comes", () =>
    withRefillLab({}, async (lab) => {
      await lab.pool.query("update refill_subscriptions set subscribed_at = now() - interval '2 hours'");
      lab.refill();
      await lab.read();
      expect(await lab.counts()).toEqual({ COMPLETED: 1 });
    }));

  test("of a facility goes on where it stood when the configuration is the same, and begins anew when it was left out", () =>
    withRefillLab({}, async (lab) => {
      const { subscribedAt } = await lab.subscription();
      const facility = { ...NORTH, surface: "request" } as const;
      await subscribeRefills(lab.pool, [facility]);
      expect((await lab.subscription()).subscribedAt).toEqual(subscribedAt);
      await subscribeRefills(lab.pool, []);
      await subscribeRefills(lab.pool, [facility]);
      expect((await lab.subscription()).subscribedAt.getTime()).toBeGreaterThan(subscribedAt.getTime());
    }));

  test("after a restart records and counts nothing a second time", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      const id = lab.refill();
      await lab.read();
      lab.restart();
      await lab.read();
      expect([await known(lab), await lab.counts()]).toEqual([[`${id} COMPLETED`], { COMPLETED: 1 }]);
    }));

  test("leaves alone what retention has forgotten", () =>
    withRefillLab({}, async (lab) => {
      await lab.pool.query("update refill_subscriptions set subscribed_at = now() - interval '4 years'");
      const [old, young] = [lab.refill(), lab.refill()];
      const at = fromNow(-3 * 365 * DAY);
      lab.simulator.control.alterProcedure(old, { createdAt: at, completedAt: at });
      await lab.read();
      expect(await known(lab)).toEqual([`${young} COMPLETED`]);
    }));

  test("keeps what is older than retention of a facility that is followed for less than that", () =>
    withRefillLab({}, async (lab) => {
      const id = lab.refill();
      const at = fromNow(-3 * 365 * DAY);
      lab.simulator.control.alterProcedure(id, { createdAt: at, completedAt: at });
      await lab.read();
      expect(await known(lab)).toEqual([`${id} COMPLETED`]);
    }));
});

test("a facility that changes its surface begins anew there, and counts nothing twice", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    const before = lab.refill();
    await lab.read();
    await lab.pool.query("update refill_subscriptions set subscribed_at = now() - interval '2 hours'");
    const at = fromNow(-HOUR);
    lab.simulator.control.alterProcedure(before, { createdAt: at, completedAt: at });
    await subscribeRefills(lab.pool, [{ ...NORTH, surface: "external" }]);
    lab.restart();
    await lab.read();
    expect((await lab.refills()).map(({ surface }) => surface).sort()).toEqual(["external", "request"]);
    expect(await lab.counts()).toEqual({ COMPLETED: 1 });
  }));

test("a subscription that a wrong clock set in the future begins at the next start", () =>
  withRefillLab({}, async (lab) => {
    await lab.pool.query("update refill_subscriptions set subscribed_at = now() + interval '9 years'");
    await subscribeRefills(lab.pool, [{ ...NORTH, surface: "request" }]);
    expect((await lab.subscription()).subscribedAt.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
  }));

test("what several processes read at once is counted once", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    for (let count = 0; count < 20; count += 1) lab.refill();
    await Promise.all([lab.read(), lab.read(), lab.read()]);
    await lab.read();
    expect(await lab.counts()).toEqual({ COMPLETED: 20 });
  }));

test("a refill has the name of its tank, which the service shows elsewhere", () =>
  withRefillLab({}, async (lab) => {
    lab.refill();
    await lab.read();
    const name = lab.simulator.control.storages().find(({ id }) => id === lab.tankId)?.name;
    expect((await lab.refills())[0]?.refill).toMatchObject({ storageId: lab.tankId, storageName: name });
  }));

test("a tank's age is counted from its last completed refill, not from one that failed", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    lab.refill();
    await lab.read();
    await lab.pool.query("update refills set completed_time = completed_time - interval '15 days'");
    lab.refill("fail");
    await lab.read();
    const limits = { alertAfterMs: 14 * DAY, tanks: new Map() };
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
    lab.simulator.control.alterProcedure(lab.refill(), { completedAt: fromNow(3_000 * DAY) });
    await lab.read();
    const limits = { alertAfterMs: 14 * DAY, tanks: new Map() };
    const inAMonth = await readTankAges(lab.pool, limits, Date.now() + 30 * DAY);
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
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain("Invented");
  }));

describe("following refills", () => {
  const watching = async (
    lab: RefillLab,
    mayRead: () => boolean,
    run: (watch: RefillWatch) => Promise<void>,
  ) => {
    const watch = watchRefills([await lab.subscription()], { ...lab.deps, everyMs: 20, mayRead });
    try {
      await run(watch);
    } finally {
      await watch.stop();
    }
  };
  const count = async ({ pool }: RefillLab) => (await listRefills(pool, { limit: 100 })).length;
  const always = () => true;

  test("reads at once and again and again, until it is stopped", () =>
    withRefillLab({}, async (lab) => {
      lab.refill();
      await watching(lab, always, async () => {
        await eventually(async () => (await count(lab)) === 1);
        lab.refill();
        await eventually(async () => (await count(lab)) === 2);
      });
      const received = requests(lab);
      lab.refill();
      expect([requests(lab), await count(lab)]).toEqual([received, 2]);
    }));

  test("asks nothing while it may not, and goes on when it may", () =>
    withRefillLab({}, async (lab) => {
      let isAllowed = false;
      let wasAsked = 0;
      const mayRead = () => {
        wasAsked += 1;
        return isAllowed;
      };
      lab.refill();
      await watching(lab, mayRead, async () => {
        await eventually(() => wasAsked > 0);
        expect(requests(lab)).toBe(0);
        isAllowed = true;
        await eventually(async () => (await count(lab)) === 1);
      });
    }));

  test("says why a facility can't be read, only when that lasts, and no more once it can", () =>
    withRefillLab({}, async (lab) => {
      lab.simulator.control.setFaults([{ method: "GET", status: 403, times: 100_000 }]);
      await watching(lab, always, async (watch) => {
        const [trouble] = await eventually(() => watch.conditions().length > 0 && watch.conditions());
        expect(trouble?.text).toMatch(/^the refills of NORTH can't be read: .*\(SERVICE_\w+\)$/);
        lab.simulator.control.setFaults([]);
        lab.refill();
        await eventually(async () => (await count(lab)) === 1);
        await eventually(() => watch.conditions().length === 0);
      });
    }));

  test("reads a list of many pages less often", () => {
    expect([nextMs(3, 600_000), nextMs(10, 100), nextMs(500, 600_000)]).toEqual([600_000, 100, 1_000_000]);
  });
});
