import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { RefillDeps } from "../../src/jobs/refills/refills.ts";
import { createServiceClient } from "../../src/service/client.ts";
import type { ServiceSettings } from "../../src/service/settings.ts";
import { type Row, StubService, send } from "../service/stub-service.ts";
import { settings } from "../service/with-client.ts";
import { type RefillLab, withRefillLab } from "../support/refill-lab.ts";
import { silent } from "../support/with-ledger.ts";
import { DAY, fromNow, HOUR, known, statuses } from "./refill-readings.ts";

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
