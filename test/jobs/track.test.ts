import type pg from "pg";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { phi } from "../../src/core/phi.ts";
import { type TrackDeps, trackFacility } from "../../src/jobs/track/track.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { retryOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { createServiceClient, type ServiceClient } from "../../src/service/client.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { serviceSettings } from "../support/service-settings.ts";
import { byRequest } from "../support/ways.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;

const POLLING = { firstMs: 60_000, maxMs: 900_000, factor: 1.5 };

interface Lab {
  readonly pool: pg.Pool;
  readonly simulator: Simulator;
  readonly service: ServiceClient;
  readonly deps: TrackDeps;
  track(signal?: AbortSignal): Promise<void>;
}

/** A ledger and a service without staff or device, in which nothing moves by itself. */
async function withLab<T>(run: (lab: Lab) => Promise<T>): Promise<T> {
  return withLedger(async ({ pool }) => {
    const simulator = await createSimulator({ port: 0, staff: { auto: false }, device: { auto: false } });
    const auth = { apiToken: "simulator-api-token" };
    const deps = { clock: systemClock, logger: silent };
    const service = createServiceClient(
      serviceSettings({ baseUrl: simulator.url, auth, maxRequestsPerSecond: 1_000 }),
      deps,
    );
    const track: TrackDeps = {
      pool,
      service,
      locating: service,
      logger: silent,
      clock: systemClock,
      polling: POLLING,
      concurrency: 2,
      wayOf: byRequest,
      isSent: () => true,
      worker: { isSure: true, ledgerNow: Date.now },
    };
    try {
      return await run({
        pool,
        simulator,
        service,
        deps: track,
        track: (signal = new AbortController().signal) => trackFacility(12, track, signal),
      });
    } finally {
      await service.close();
      await simulator.close();
    }
  });
}

/** Each message has a number of its own, or it would count as a repeat. */
let messages = 0;

/** An order that the service has as a request of its own. */
async function submitted(
  { pool, simulator, service }: Lab,
  code = "SUBJ-1",
  {
    number = "A-1",
    labels = ["V-1"],
  }: { readonly number?: string; readonly labels?: readonly string[] } = {},
): Promise<{ orderId: number; requestId: number }> {
  const containers = labels.map((label) => ({ label, description: "vial" }));
  const order = anOrder({ code, placerOrderNumber: number, containers });
  messages += 1;
  const [orderId] = await commit(pool, [aRecord(messages, [order])]);
  simulator.control.addSubject({
    facilityId: 12,
    code,
    firstName: "Ada",
    lastName: "Example",
    dateOfBirth: "1990-01-31",
  });
  const request = {
    type: "STORE",
    facilityId: 12,
    subjectCode: order.subject.code,
    containers: order.containers,
  } as const;
  const { id: requestId } = await service.create("request", request, new AbortController().signal);
  await link(pool, orderId as number, requestId);
  return { orderId: orderId as number, requestId };
}

const link = (pool: pg.Pool, orderId: number, requestId: number) =>
  changeOrders(pool, [
    {
      orderId,
      from: ["received"],
      to: "submitted",
      request: { surface: "request", requestId },
      nextInMs: 0,
      remoteStatus: "PENDING",
    },
  ]);

/** The service with something that happens whenever procedures have been read, before anybody hears of them. */
function withLateProcedures(service: ServiceClient, meanwhile: () => Promise<unknown>): ServiceClient {
  return new Proxy(service, {
    get: (target, name) => {
      if (name !== "readProcedures") return Reflect.get(target, name);
      return async (...given: Parameters<ServiceClient["readProcedures"]>) => {
        const read = await target.readProcedures(...given);
        if (given[0].ids.length > 0) await meanwhile();
        return read;
      };
    },
  });
}

const due = (pool: pg.Pool) => pool.query("update orders set next_at = now()");

/** How often the lab was sent that an order failed. */
async function countFailed(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query("select from outcomes where payload->'order'->>'state' = 'failed'");
  return rows.length;
}

async function theOrder(pool: pg.Pool) {
  const [order] = await findOrders(pool, "A-1");
  if (!order) throw new Error("no order");
  return order;
}

describe("following orders", () => {
  test("reads on to the procedure in the same pass in which a request is found accepted", () =>
    withLab(async (lab) => {
      const { requestId } = await submitted(lab);
      const { id } = lab.simulator.control.acceptRequest(requestId);
      lab.simulator.control.startProcedure(id);
      await lab.track();
      expect(await theOrder(lab.pool)).toMatchObject({ state: "in_progress", procedureId: id });
    }));

  test("parks an order whose request turns out to be another subject's", () =>
    withLab(async (lab) => {
      const { requestId } = await submitted(lab, "OTHER");
      lab.simulator.control.behave({ singleRequest: "full" });
      await lab.pool.query("update orders set subject_code = 'SUBJ-1'");
      await due(lab.pool);
      await lab.track();
      expect(await theOrder(lab.pool)).toMatchObject({
        state: "parked",
        requestId,
        failure: { code: "REQUEST_MISMATCH" },
      });
    }));

  test("tells the lab of a completed order of which a container has no place that this is so, and why", () =>
    withLab(async (lab) => {
      const { orderId, requestId } = await submitted(lab);
      const { control } = lab.simulator;
      const { id, containerIds } = control.acceptRequest(requestId);
      control.startProcedure(id);
      control.completeProcedure(id);
      for (const containerId of containerIds) control.forget("container", containerId);
      await lab.track();
      expect(await theOrder(lab.pool)).toMatchObject({ state: "submitted", failure: undefined });
      await lab.pool.query("update orders set attempts = 4");
      await due(lab.pool);
      await lab.track();
      const failure = { code: "ORDER_PLACE_UNKNOWN", text: expect.stringContaining("not every location") };
      expect(await theOrder(lab.pool)).toMatchObject({ state: "completed", failure });
      const { rows } = await lab.pool.query<{ payload: unknown }>(
        "select payload from outcomes where order_id = $1 order by id desc limit 1",
        [orderId],
      );
      expect(JSON.stringify(rows)).toContain("ORDER_PLACE_UNKNOWN");
    }));

  test("records the ends of other orders while the many locations of a large one are still being read, each once", () =>
    withLab(async (lab) => {
      const { control } = lab.simulator;
      const complete = (requestId: number) => {
        const { id } = control.acceptRequest(requestId);
        control.startProcedure(id);
        control.completeProcedure(id);
      };
      const labels = Array.from({ length: 60 }, (_, n) => `L-${n + 1}`);
      const large = await submitted(lab, "SUBJ-1", { number: "A-1", labels });
      complete(large.requestId);
      const small = await submitted(lab, "SUBJ-2", { number: "A-2", labels: ["V-1"] });
      let nowMs = 0;
      let reads = 0;
      const recorded: string[] = [];
      const service = new Proxy(lab.service, {
        get: (target, name) => {
          if (name !== "getLocation") return Reflect.get(target, name);
          return async (...given: Parameters<ServiceClient["getLocation"]>) => {
            // A slow service: the other order ends while the locations of the large one are read.
            nowMs += 1_000;
            reads += 1;
            if (reads === 5) {
              complete(small.requestId);
              await due(lab.pool);
            }
            const { rows } = await lab.pool.query(
              "select placer_order_number from orders where state = 'completed'",
            );
            recorded.push(rows.map((row) => row.placer_order_number).join());
            return target.getLocation(...given);
          };
        },
      });
      const clock = { ...systemClock, monotonic: () => nowMs };
      const deps: TrackDeps = {
        pool: lab.pool,
        service,
        locating: service,
        logger: silent,
        clock,
        polling: POLLING,
        concurrency: 1,
        wayOf: byRequest,
        isSent: () => true,
        worker: { isSure: true, ledgerNow: Date.now },
      };
      await trackFacility(12, deps, new AbortController().signal);
      expect(recorded.indexOf("A-2")).toBeLessThan(40);
      expect([recorded.includes("A-2"), reads]).toEqual([true, labels.length + 1]);
      const { rows } = await lab.pool.query("select 1 from order_containers where location is not null");
      expect(rows).toHaveLength(labels.length + 1);
      const { rows: states } = await lab.pool.query("select distinct state from orders");
      expect(states).toEqual([{ state: "completed" }]);
    }));

  test("asks less often about an order the longer nothing happened to it, and begins anew with news of it", () =>
    withLab(async (lab) => {
      const { requestId } = await submitted(lab);
      const aheadMs = async (days: number) => {
        await due(lab.pool);
        const ledgerNow = () => Date.now() + days * 86_400_000;
        await trackFacility(12, { ...lab.deps, worker: { isSure: true, ledgerNow } }, never);
        const { rows } = await lab.pool.query<{ ms: number }>(
          "select (extract(epoch from next_at - now()) * 1000)::float8 as ms from orders",
        );
        return rows[0]?.ms;
      };
      // Half to one and a half of the interval.
      expect(await aheadMs(0)).toBeLessThanOrEqual(90_000);
      expect(await aheadMs(1)).toBeGreaterThan(300_000);
      await lab.pool.query("update orders set changed_at = changed_at - interval '1 day'");
      lab.simulator.control.alterRequest(requestId, { status: "WAITING" });
      expect(await aheadMs(0)).toBeLessThanOrEqual(90_000);
      expect((await theOrder(lab.pool)).state).toBe("submitted");
      expect(await aheadMs(0)).toBeLessThanOrEqual(90_000);
    }));

  test("gives a request that the service forgot to a person after a day, even when a poll failed in between", () =>
    withLab(async (lab) => {
      const { orderId, requestId } = await submitted(lab);
      lab.simulator.control.forget("request", requestId);
      await lab.track();
      expect((await theOrder(lab.pool)).state).toBe("submitted");
      lab.simulator.control.setFaults([{ method: "GET", status: 503 }]);
      await due(lab.pool);
      await lab.track();
      lab.simulator.control.setFaults([]);
      await lab.pool.query("update orders set missing_since = missing_since - interval '25 h'");
      const fresh = createServiceClient(
        serviceSettings({ baseUrl: lab.simulator.url, auth: { apiToken: "simulator-api-token" } }),
        { clock: systemClock, logger: silent },
      );
      await due(lab.pool);
      const deps: TrackDeps = {
        pool: lab.pool,
        service: fresh,
        locating: fresh,
        logger: silent,
        clock: systemClock,
        polling: POLLING,
        concurrency: 1,
        wayOf: byRequest,
        isSent: () => true,
        worker: { isSure: true, ledgerNow: Date.now },
      };
      await trackFacility(12, deps, new AbortController().signal);
      await fresh.close();
      expect(await theOrder(lab.pool)).toMatchObject({ state: "parked", failure: { code: "REQUEST_GONE" } });
      expect((await listEvents(lab.pool, orderId)).map((event) => event.kind)).toContain("missing");
    }));

  test.each([26, -26])(
    "counts how long a request is forgotten by the ledger's clock, where this machine's is %i hours off",
    (offHours) =>
      withLab(async (lab) => {
        const { requestId } = await submitted(lab);
        lab.simulator.control.forget("request", requestId);
        const clock = { ...systemClock, now: () => systemClock.now() + offHours * 3_600_000 };
        const deps = { ...lab.deps, clock };
        await trackFacility(12, deps, never);
        await due(lab.pool);
        await trackFacility(12, deps, never);
        expect((await theOrder(lab.pool)).state).toBe("submitted");
        await lab.pool.query("update orders set missing_since = missing_since - interval '25 h'");
        await due(lab.pool);
        await trackFacility(12, deps, never);
        expect((await theOrder(lab.pool)).state).toBe("parked");
      }),
  );

  test("counts the time for which locations are looked up from the completion, however long the request was missing", () =>
    withLab(async (lab) => {
      const { orderId, requestId } = await submitted(lab);
      const { control } = lab.simulator;
      await lab.pool.query("update orders set missing_since = now() - interval '25 h'");
      const { id } = control.acceptRequest(requestId);
      control.startProcedure(id);
      control.completeProcedure(id);
      control.setFaults([{ method: "GET", path: "/api/sample-containers", status: 503, times: 1_000 }]);
      await lab.track();
      expect(await theOrder(lab.pool)).toMatchObject({
        state: "submitted",
        missingSince: undefined,
        locatingSince: expect.any(Date),
      });
      expect((await listEvents(lab.pool, orderId)).map((event) => event.kind)).toContain("locating");
    }));

  test("records nothing for a request that a retry led to of what was read of the one before", () =>
    withLab(async (lab) => {
      const { pool, simulator, service, deps } = lab;
      const { orderId, requestId } = await submitted(lab);
      const { id } = simulator.control.acceptRequest(requestId);
      simulator.control.startProcedure(id);
      simulator.control.failProcedure(id);
      const { id: second } = await service.create(
        "request",
        {
          type: "STORE",
          facilityId: 12,
          subjectCode: phi("SUBJ-1"),
          containers: [{ label: "V-1", description: "vial" }],
        },
        never,
      );
      const late = withLateProcedures(service, async () => {
        // Another worker records it, and a person has the order sent again.
        await lab.track();
        expect((await theOrder(pool)).state).toBe("failed");
        await retryOrder(pool, { id: orderId }, { actor: "ada", reason: "" });
        await link(pool, orderId, second);
      });
      await trackFacility(12, { ...deps, service: late }, never);
      expect(await theOrder(pool)).toMatchObject({
        state: "submitted",
        requestId: second,
        failure: undefined,
      });
      expect(await countFailed(pool)).toBe(1);
    }));

  test("records nothing while another worker may have taken over", () =>
    withLab(async (lab) => {
      const { requestId } = await submitted(lab);
      const { id } = lab.simulator.control.acceptRequest(requestId);
      const worker = { isSure: true, ledgerNow: Date.now };
      const late = withLateProcedures(lab.service, async () => {
        worker.isSure = false;
      });
      const before = await theOrder(lab.pool);
      await trackFacility(12, { ...lab.deps, service: late, worker }, never);
      expect(await theOrder(lab.pool)).toMatchObject({ state: "submitted", nextAt: before?.nextAt });
      await lab.track();
      expect(await theOrder(lab.pool)).toMatchObject({ state: "accepted", procedureId: id });
    }));

  test("asks nothing once it is told to stop", () =>
    withLab(async (lab) => {
      await submitted(lab);
      const before = lab.simulator.tally().received;
      await expect(lab.track(AbortSignal.abort(new Error("stopping")))).rejects.toThrow("stopping");
      expect(lab.simulator.tally().received).toBe(before);
    }));
});
