import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { nextMs, type RefillDeps, type RefillWatch, watchRefills } from "../../src/jobs/refills/refills.ts";
import { readTankAges } from "../../src/jobs/refills/tanks.ts";
import { listRefills, subscribeRefills } from "../../src/ledger/refills.ts";
import { createServiceClient } from "../../src/service/client.ts";
import type { ServiceSettings } from "../../src/service/settings.ts";
import { type Row, StubService, send } from "../service/stub-service.ts";
import { failureOf, logSink, settings } from "../service/with-client.ts";
import { eventually } from "../support/eventually.ts";
import { type RefillLab, withRefillLab } from "../support/refill-lab.ts";
import { silent } from "../support/with-ledger.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NORTH = { facilityId: 12, facilityCode: "NORTH" } as const;
const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString();
/** The refills of the ledger by their ids: `7 COMPLETED`. */
const known = async (lab: RefillLab) =>
  (await lab.refills()).map(({ refill }) => `${refill.id} ${refill.status}`).sort();
const statuses = async (lab: RefillLab) => (await lab.refills()).map(({ refill }) => refill.status);
const requests = ({ simulator }: RefillLab) => simulator.tally().received;

/** Reads from a stub with these procedures instead of the simulator. */
async function withProcedures(
  lab: RefillLab,
  rows: Row[],
  given: Partial<ServiceSettings>,
  run: (stub: StubService, read: (parts?: Partial<RefillDeps>) => Promise<void>) => Promise<void>,
): Promise<void> {
  const stub = await new StubService().start();
  stub.rows.procedures = rows;
  const service = createServiceClient(
    { ...settings(stub.baseUrl), maxRequestsPerSecond: 100_000, ...given },
    { clock: systemClock, logger: silent },
  );
  try {
    await run(stub, (parts) => lab.read({ service, ...parts }));
  } finally {
    await service.close();
    await stub.stop();
  }
}

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

describe("a service that is not as expected", () => {
  test("ignores the filters: refills are found among all procedures, each once", () =>
    withRefillLab({}, async (lab) => {
      lab.simulator.control.behave({ filters: "none", sort: "random", maxPerPage: 3 });
      await lab.read();
      const ids = [lab.refill(), lab.refill(), lab.refill(), lab.refill(), lab.refill()];
      // A list in another order on each page shows some entry only at a later look.
      for (let looks = 0; looks < 30 && (await lab.refills()).length < ids.length; looks += 1)
        await lab.read();
      await lab.read();
      expect(await known(lab)).toEqual(ids.map((id) => `${id} COMPLETED`));
    }));

  test("sets a refill back: that is flagged and not believed", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      const id = lab.refill();
      await lab.read();
      lab.simulator.control.alterProcedure(id, { status: "IN_PROGRESS" });
      await lab.read();
      await lab.read();
      expect(await lab.refills()).toMatchObject([
        { refill: { status: "COMPLETED" }, remoteStatus: "IN_PROGRESS", flagged: ["IN_PROGRESS"] },
      ]);
      expect(await lab.counts()).toEqual({ COMPLETED: 1 });
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
      expect(await lab.refills()).toMatchObject([
        { refill: { status: "COMPLETED" }, flagged: ["DEFROSTING"] },
      ]);
    }));

  test("lists an open refill no more: it is followed by its id, and noted as missing when that fails too", () =>
    withRefillLab({}, async (lab) => {
      const { control } = lab.simulator;
      await lab.read();
      const old = control.createRefill(lab.tankId);
      await lab.read();
      await lab.pool.query("update refills set created_time = created_time - interval '30 days'");
      const newer = control.createRefill(lab.tankId);
      await lab.read();
      control.startProcedure(old.id);
      control.alterProcedure(old.id, { createdAt: fromNow(-30 * DAY) });
      await lab.read();
      expect(await known(lab)).toEqual([`${old.id} IN_PROGRESS`, `${newer.id} CREATED`]);
      control.forget("procedure", old.id);
      await lab.read();
      const missingSince = async () =>
        (await lab.refills()).find(({ refill }) => refill.id === old.id)?.missingSince;
      const first = await missingSince();
      expect(first).toBeInstanceOf(Date);
      await lab.read();
      expect(await missingSince()).toEqual(first);
    }));

  test("forgets the newest refill: it is noted as missing, and the whole list is not read for it again", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      lab.refill();
      const newest = lab.refill();
      await lab.read();
      lab.simulator.control.forget("procedure", newest);
      await lab.read();
      const shown = (await lab.refills()).find(({ refill }) => refill.id === newest);
      expect([shown?.refill.status, shown?.missingSince]).toEqual(["COMPLETED", expect.any(Date)]);
      const before = requests(lab);
      await lab.read();
      expect(requests(lab) - before).toBeLessThanOrEqual(2);
    }));

  test("is not asked for its tanks where the credential doesn't reach them", () =>
    withRefillLab({ surface: "external" }, async (lab) => {
      await lab.read({ mayListTanks: () => false });
      const id = lab.refill();
      await lab.read({ mayListTanks: () => false });
      expect(Object.keys(lab.simulator.tally().routes)).not.toContain("GET /api/storage");
      expect(await known(lab)).toEqual([`${id} COMPLETED`]);
    }));

  test("doesn't let its tanks be listed: refills are followed all the same", () =>
    withRefillLab({}, async (lab) => {
      lab.simulator.control.setFaults([{ method: "GET", path: "/api/storage", status: 403 }]);
      await lab.read();
      const id = lab.refill();
      await lab.read();
      expect(await known(lab)).toEqual([`${id} COMPLETED`]);
    }));

  test("dates a refill years ahead: none that comes after it is hidden", () =>
    withRefillLab({}, async (lab) => {
      await lab.read();
      lab.refill();
      await lab.read();
      lab.simulator.control.alterProcedure(lab.refill(), { createdAt: fromNow(3_000 * DAY) });
      await lab.read();
      lab.refill();
      await lab.read();
      expect(await statuses(lab)).toEqual(["COMPLETED", "COMPLETED", "COMPLETED"]);
    }));

  test("can't show one by its id: that keeps no other from being followed", () =>
    withRefillLab({}, async (lab) => {
      const { control } = lab.simulator;
      await lab.read();
      const [bad, good] = [control.createRefill(lab.tankId), control.createRefill(lab.tankId)];
      await lab.read();
      // The list shows neither any more: both are older than what is asked for.
      await lab.pool.query("update refills set created_time = created_time - interval '30 days'");
      lab.refill();
      for (const { id } of [bad, good]) control.alterProcedure(id, { createdAt: fromNow(-30 * DAY) });
      control.setFaults([{ method: "GET", path: `/api/procedures/${bad.id}`, status: 500, times: 1_000 }]);
      control.startProcedure(good.id);
      control.completeProcedure(good.id);
      await lab.read();
      await lab.read();
      expect(await known(lab)).toContain(`${good.id} COMPLETED`);
    }));

  test("has a list too long to be read to its end, since it ignores the type: it is read by time alone", () => {
    const others = Array.from({ length: 2_050 }, (_, index): Row => {
      const createdAt = fromNow((index - 2_050) * HOUR - 5 * DAY);
      return { id: index + 1, type: "storage", status: "COMPLETED", facilityId: 12, createdAt };
    });
    return withRefillLab({}, (lab) =>
      withProcedures(lab, others, { perPage: 1 }, async (stub, read) => {
        stub.intercept = (request, response) => {
          const { pathname, searchParams } = new URL(request.url ?? "", "http://stub");
          if (pathname !== "/api/procedures") return false;
          const from = searchParams.get("createdAt_from") ?? "";
          const page = Number(searchParams.get("page"));
          const rows = stub.rows.procedures?.filter(({ createdAt }) => String(createdAt) >= from) ?? [];
          send(response, 200, rows.slice(page - 1, page));
          return true;
        };
        await read();
        stub.seen.length = 0;
        const times = { createdAt: fromNow(1_000), completedAt: fromNow(2_000) };
        const refill = { id: 9_000, type: "refill", status: "COMPLETED", facilityId: 12, ...times };
        stub.rows.procedures?.push(refill);
        await read();
        await read();
        expect(await known(lab)).toEqual(["9000 COMPLETED"]);
        expect(stub.count("GET /api/procedures")).toBeLessThan(20);
      }),
    );
  });
});

describe("a list that shows no status", () => {
  const refill = (id: number, parts: Row = {}): Row => ({
    id,
    type: "refill",
    status: "COMPLETED",
    facilityId: 12,
    createdAt: fromNow(1_000),
    completedAt: fromNow(2_000),
    ...parts,
  });
  const withoutStatus = ({ status: _status, ...row }: Row): Row => row;

  test("is read entry by entry over several readings, and what was over before is not counted", () =>
    withRefillLab({}, (lab) => {
      const rows = Array.from({ length: 450 }, (_, index) =>
        refill(index + 1, { createdAt: fromNow(-DAY), completedAt: fromNow(-DAY) }),
      );
      return withProcedures(lab, [...rows, refill(451)], {}, async (stub, read) => {
        stub.options.entry = withoutStatus;
        await read();
        expect(new Set(await statuses(lab))).toEqual(new Set(["COMPLETED", "UNKNOWN"]));
        await read();
        await read();
        expect(new Set(await statuses(lab))).toEqual(new Set(["COMPLETED"]));
        expect(await lab.counts()).toEqual({ COMPLETED: 1 });
        stub.seen.length = 0;
        await read();
        expect(stub.count("GET /api/procedures/")).toBe(0);
      });
    }));

  test("has no entry kept back by three that can't be read, whose turn comes again", () =>
    withRefillLab({}, (lab) => {
      const rows = [1, 2, 3, 4].map((id) => refill(id));
      return withProcedures(lab, rows, {}, async (stub, read) => {
        stub.options.entry = withoutStatus;
        stub.intercept = ({ url }, response) => {
          const isBad = /[/][123]$/.test(url ?? "");
          if (isBad) send(response, 500, { message: "out of order" });
          return isBad;
        };
        await read();
        await read();
        expect(await known(lab)).toEqual(["1 UNKNOWN", "2 UNKNOWN", "3 UNKNOWN", "4 COMPLETED"]);
        stub.intercept = () => false;
        await read();
        expect(new Set(await statuses(lab))).toEqual(new Set(["COMPLETED"]));
      });
    }));
});

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
