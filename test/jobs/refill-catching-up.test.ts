import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { RefillDeps } from "../../src/jobs/refills.ts";
import { subscribeRefills } from "../../src/ledger/refill-subscriptions.ts";
import { listRefills } from "../../src/ledger/refill-views.ts";
import type { RefillTelling } from "../../src/ledger/refills.ts";
import { createServiceClient } from "../../src/service/client.ts";
import type { ServiceSettings } from "../../src/service/settings.ts";
import { type Row, StubService, send } from "../service/stub-service.ts";
import { settings } from "../service/with-client.ts";
import { type RefillLab, withRefillLab } from "../support/refill-lab.ts";
import { silent } from "../support/with-ledger.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString();
/** The procedures of the rows of all CSV files, in their order. */
const toldIds = async (lab: RefillLab) =>
  (await lab.files()).flatMap(({ text }) =>
    text
      .trim()
      .split("\r\n")
      .slice(1)
      .map((row) => Number(row.split(",")[3])),
  );
const subscribeEarlier = ({ pool }: RefillLab) =>
  pool.query("update refill_subscriptions set subscribed_at = now() - interval '10 days'");

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

test("hundreds of an outage are told as they happened, also when the daemon was killed half-way and the list begins with the newest", () => {
  let aheadMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  return withRefillLab({ simulator: { clock } }, async (lab) => {
    lab.simulator.control.behave({ sort: "-id" });
    await lab.read();
    await subscribeEarlier(lab);
    const ids: number[] = [];
    for (let count = 0; count < 520; count += 1) {
      aheadMs = (count - 600) * 600_000;
      ids.push(lab.refill());
    }
    aheadMs = 0;
    let files = 0;
    const compose: RefillTelling["compose"] = (told, number) => {
      files += 1;
      if (files > 1) throw new Error("the process ends here");
      return lab.deps.telling?.compose(told, number) ?? [];
    };
    await expect(lab.read({ telling: { connector: "bench", compose } })).rejects.toThrow("ends here");
    expect((await toldIds(lab)).length).toBe(500);
    await lab.read();
    expect(await toldIds(lab)).toEqual(ids);
  });
});

test("of two that ended between two readings, the one that ended first is told first", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    const [long, short] = [lab.refill(), lab.refill()];
    lab.simulator.control.alterProcedure(long, { completedAt: fromNow(2 * HOUR) });
    lab.simulator.control.alterProcedure(short, { completedAt: fromNow(HOUR) });
    await lab.read();
    expect(await toldIds(lab)).toEqual([short, long]);
  }));

test("one that a wrong clock dated years ahead hides none that come after it", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    const usual = lab.refill();
    await lab.read();
    const odd = lab.refill();
    lab.simulator.control.alterProcedure(odd, { createdAt: fromNow(3_000 * DAY) });
    await lab.read();
    const next = lab.refill();
    await lab.read();
    expect(await toldIds(lab)).toEqual([usual, odd, next]);
  }));

test("a facility that changes its surface is read on from where it was read to, and told of nothing twice", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    const before = lab.refill();
    lab.simulator.control.alterProcedure(before, { completedAt: fromNow(-HOUR) });
    await lab.pool.query("update refill_subscriptions set subscribed_at = now() - interval '2 hours'");
    await lab.read();
    await lab.pool.query("update refill_subscriptions set last_read_at = now() - interval '30 minutes'");
    const between = lab.refill();
    lab.simulator.control.alterProcedure(between, { completedAt: fromNow(-HOUR / 4) });
    await subscribeRefills(lab.pool, [{ facilityId: 12, facilityCode: "NORTH", surface: "external" }]);
    await lab.read();
    expect(await toldIds(lab)).toEqual([before, between]);
  }));

test("a subscription that a wrong clock set in the future begins at the next start", () =>
  withRefillLab({}, async (lab) => {
    await lab.pool.query(
      "update refill_subscriptions set subscribed_at = now() + interval '9 years', full_read_at = now() + interval '9 years'",
    );
    await subscribeRefills(lab.pool, [{ facilityId: 12, facilityCode: "NORTH", surface: "request" }]);
    const { subscribedAt, isFullReadingDue } = await lab.subscription();
    expect([subscribedAt.getTime() <= Date.now() + 1_000, isFullReadingDue]).toEqual([true, true]);
  }));

test("a refill that the service gave the id of an earlier one is told as well, with its own tank and times", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    const id = lab.refill("fail");
    await lab.read();
    // The service was put back to yesterday, and so is what the ledger knows of it.
    await lab.pool.query(
      "update refills set created_at = $1, created_time = $1::text::timestamptz, first_seen_at = now() - interval '1 day', storage_id = 999, storage_name = 'Old tank'",
      [fromNow(-DAY)],
    );
    lab.simulator.control.alterProcedure(id, { status: "IN_PROGRESS", error: null });
    await lab.read();
    expect(await listRefills(lab.pool, { limit: 9 })).toMatchObject([
      { refill: { id, status: "IN_PROGRESS", storageId: lab.tankId, error: undefined } },
    ]);
    lab.simulator.control.alterProcedure(id, { status: "COMPLETED", completedAt: fromNow(0) });
    await lab.read();
    await lab.read();
    expect(await toldIds(lab)).toEqual([id, id]);
    expect((await lab.files())[1]?.text).not.toContain("Old tank");
  }));

test("so is one that got the id of another facility's", () =>
  withRefillLab({}, async (lab) => {
    await lab.read();
    const id = lab.refill();
    await lab.read();
    await lab.pool.query(
      "update refills set created_at = $1, completed_at = $1, first_seen_at = now() - interval '1 day', facility_id = 13, facility_code = 'SOUTH'",
      [fromNow(-DAY)],
    );
    await lab.read();
    await lab.read();
    expect(await listRefills(lab.pool, { limit: 9 })).toMatchObject([
      { facilityId: 12, facilityCode: "NORTH", refill: { id, status: "COMPLETED" } },
    ]);
    expect(await toldIds(lab)).toEqual([id, id]);
  }));

test("one that can't be read by its id keeps no other from being followed", () =>
  withRefillLab({}, async (lab) => {
    const { control } = lab.simulator;
    await lab.read();
    const [bad, good] = [control.createRefill(lab.tankId), control.createRefill(lab.tankId)];
    await lab.read();
    // The list shows neither any more: both are older than what is asked for.
    await lab.pool.query("update refills set created_time = created_time - interval '30 days'");
    lab.refill();
    await lab.read();
    for (const { id } of [bad, good]) control.alterProcedure(id, { createdAt: fromNow(-30 * DAY) });
    control.setFaults([{ method: "GET", path: `/api/procedures/${bad.id}`, status: 500, times: 1_000 }]);
    control.startProcedure(good.id);
    control.completeProcedure(good.id);
    await lab.read();
    expect(await toldIds(lab)).toContain(good.id);
  }));

describe("a list that is too long to be read to its end, since the service ignores the type", () => {
  const others = (count: number): Row[] =>
    Array.from({ length: count }, (_, index) => ({
      id: index + 1,
      type: "storage",
      status: "COMPLETED",
      facilityId: 12,
      createdAt: fromNow((index - count) * HOUR - 5 * DAY),
    }));
  const byTimeAlone = (stub: StubService) => {
    stub.intercept = (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://stub");
      if (pathname !== "/api/procedures") return false;
      const from = searchParams.get("createdAt_from") ?? "";
      const page = Number(searchParams.get("page"));
      const rows = stub.rows.procedures?.filter(({ createdAt }) => String(createdAt) >= from) ?? [];
      send(response, 200, rows.slice(page - 1, page));
      return true;
    };
  };

  test("is read by time alone: what happens from the subscription on is told, and the long way is gone once a day", () =>
    withRefillLab({}, (lab) =>
      withProcedures(lab, others(2_050), { perPage: 1 }, async (stub, read) => {
        byTimeAlone(stub);
        await read();
        stub.seen.length = 0;
        const times = { createdAt: fromNow(1_000), completedAt: fromNow(2_000) };
        stub.rows.procedures?.push({
          id: 9_000,
          type: "refill",
          status: "COMPLETED",
          facilityId: 12,
          ...times,
        });
        await read();
        await read();
        expect(await toldIds(lab)).toEqual([9_000]);
        expect(stub.count("GET /api/procedures")).toBeLessThan(20);
      }),
    ));
});

describe("a list that tells no status", () => {
  test("is read entry by entry over several readings, and none that was over before the subscription is told", () =>
    withRefillLab({}, (lab) => {
      const rows = Array.from({ length: 510 }, (_, index) => ({
        id: index + 1,
        type: "refill",
        status: "FAILED",
        facilityId: 12,
        createdAt: fromNow((index - 600) * HOUR),
      }));
      return withProcedures(lab, rows, {}, async (stub, read) => {
        stub.options.entry = ({ status: _status, ...row }) => row;
        await read();
        expect((await lab.subscription()).firstReadAt).toBeUndefined();
        await read();
        expect((await listRefills(lab.pool, { limit: 1_000 })).length).toBe(510);
        expect([await toldIds(lab), (await lab.subscription()).firstReadAt]).toEqual([[], expect.any(Date)]);
      });
    }));

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

  test("has none kept back by hundreds that retention has forgotten", () =>
    withRefillLab({}, async (lab) => {
      await lab.pool.query(
        "update refill_subscriptions set subscribed_at = now() - interval '4 years', first_read_at = now() - interval '4 years', last_read_at = now()",
      );
      const past = { createdAt: fromNow(-1_100 * DAY), completedAt: fromNow(-1_100 * DAY) };
      const rows = Array.from({ length: 505 }, (_, index) => refill(index + 1, past));
      await withProcedures(lab, [...rows, refill(9_000)], {}, async (stub, read) => {
        stub.options.entry = withoutStatus;
        await read();
        await read();
        expect(await toldIds(lab)).toEqual([9_000]);
        expect((await lab.subscription()).isFullReadingDue).toBe(false);
        stub.seen.length = 0;
        await lab.pool.query("update refill_subscriptions set full_read_at = null");
        await read();
        expect(stub.count("GET /api/procedures/")).toBe(0);
      });
    }));

  test("is not read from its beginning for ever because one of them can't be read by its id", () =>
    withRefillLab({}, (lab) =>
      withProcedures(lab, [refill(1), refill(2)], {}, async (stub, read) => {
        stub.options.entry = withoutStatus;
        const outOfOrder = (response: ServerResponse) => {
          send(response, 500, { message: "out of order" });
          return true;
        };
        stub.intercept = ({ url }, response) => url === "/api/procedures/1" && outOfOrder(response);
        let laterMs = 0;
        const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + laterMs };
        const parts = { clock };
        for (let count = 0; count < 3; count += 1) {
          expect((await lab.subscription()).isFullReadingDue).toBe(true);
          await read(parts);
          laterMs += 10 * 60_000;
        }
        expect([await toldIds(lab), (await lab.subscription()).isFullReadingDue]).toEqual([[2], false]);
        stub.intercept = () => false;
        await read(parts);
        expect(await toldIds(lab)).toEqual([2, 1]);
      }),
    ));

  test("is read although three open ones that it doesn't show can't be", () =>
    withRefillLab({}, (lab) => {
      const open = [1, 2, 3].map((id) => refill(id, { status: "CREATED", completedAt: undefined }));
      return withProcedures(lab, open, {}, async (stub, read) => {
        await read();
        stub.rows.procedures = [refill(4)];
        stub.options.entry = withoutStatus;
        stub.intercept = ({ url }, response) => {
          const isOpen = /[/][123]$/.test(url ?? "");
          if (isOpen) send(response, 500, { message: "out of order" });
          return isOpen;
        };
        await read();
        expect(await toldIds(lab)).toEqual([4]);
      });
    }));
});
