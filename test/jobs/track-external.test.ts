import fc from "fast-check";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { FacilityWay } from "../../src/core/surface.ts";
import { type TrackDeps, trackFacility } from "../../src/jobs/track/track.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { createServiceClient, type ServiceClient } from "../../src/service/client.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import type { Procedure } from "../../src/simulator/world/rows.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { serviceSettings } from "../support/service-settings.ts";
import { byExternal } from "../support/ways.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const signal = new AbortController().signal;
/** Each message has a number of its own, or it would count as a repeat. */
let messages = 0;

interface Lab {
  readonly pool: pg.Pool;
  readonly simulator: Simulator;
  readonly service: ServiceClient;
  /** Asks about everything that is open, due or not. */
  track(): Promise<void>;
}

/** A ledger and a service without staff or device, in which nothing moves by itself. */
async function withLab<T>(
  run: (lab: Lab) => Promise<T>,
  wayOf: (facilityId: number) => FacilityWay = byExternal,
): Promise<T> {
  return withLedger(async ({ pool }) => {
    const simulator = await createSimulator({ port: 0, staff: { auto: false }, device: { auto: false } });
    const service = createServiceClient(
      serviceSettings({
        baseUrl: simulator.url,
        auth: { apiToken: "simulator-api-token" },
        maxRequestsPerSecond: 1_000,
      }),
      { clock: systemClock, logger: silent },
    );
    const polling = { firstMs: 60_000, maxMs: 900_000, factor: 1.5 };
    const deps: TrackDeps = {
      pool,
      service,
      locating: service,
      logger: silent,
      clock: systemClock,
      polling,
      concurrency: 2,
      wayOf,
      isSent: () => true,
      worker: { isSure: true, ledgerNow: Date.now },
    };
    const track = async () => {
      await pool.query("update orders set next_at = now()");
      await trackFacility(12, deps, signal);
    };
    try {
      return await run({ pool, simulator, service, track });
    } finally {
      await service.close();
      await simulator.close();
    }
  });
}

/** An order that the service has as a procedure of the external surface. */
async function submitted(lab: Lab, number = "A-1"): Promise<number> {
  const { pool, simulator, service } = lab;
  const labels = [`${number}-1`, `${number}-2`];
  const containers = labels.map((label) => ({ label, description: "" }));
  const order = anOrder({ code: `S-${number}`, placerOrderNumber: number, containers });
  messages += 1;
  const [orderId] = await commit(pool, [aRecord(messages, [order])]);
  const person = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
  simulator.control.addSubject({ facilityId: 12, code: `S-${number}`, ...person });
  const request = { type: "STORE", facilityId: 12, subjectCode: order.subject.code, containers } as const;
  const { id: procedureId } = await service.create("external", request, signal);
  await changeOrders(pool, [
    {
      orderId: orderId as number,
      from: ["received"],
      to: "submitted",
      request: { surface: "external", procedureId },
      remoteStatus: "PENDING",
    },
  ]);
  return procedureId;
}

async function orderOf({ pool }: Lab, number = "A-1") {
  const [order] = await findOrders(pool, number);
  if (!order) throw new Error("no order");
  return order;
}

const kindsOf = async (lab: Lab) =>
  (await listEvents(lab.pool, (await orderOf(lab)).id)).map(({ kind }) => kind);

describe("following an order of the external surface", () => {
  test("goes from staff to the device and to the end, with the locations that its procedure tells", () =>
    withLab(async (lab) => {
      const id = await submitted(lab);
      const { control } = lab.simulator;
      const states: string[] = [];
      const look = async () => {
        await lab.track();
        states.push((await orderOf(lab)).state);
      };
      await look();
      control.acceptProcedure(id);
      await look();
      control.startProcedure(id);
      await look();
      control.completeProcedure(id);
      await look();
      expect(states).toEqual(["submitted", "accepted", "in_progress", "completed"]);
      const order = await orderOf(lab);
      expect(order).toMatchObject({
        requestId: undefined,
        procedureId: id,
        procedureCode: expect.stringMatching(/^PR-/),
      });
      expect(order.containers.map(({ containerId, location }) => [containerId, location])).toEqual([
        [
          expect.any(Number),
          expect.objectContaining({ canister: "1", cane: "A", storedAt: expect.any(String) }),
        ],
        [
          expect.any(Number),
          expect.objectContaining({ canister: "1", cane: "A", storedAt: expect.any(String) }),
        ],
      ]);
      const routes = Object.keys(lab.simulator.tally().routes);
      expect(routes.filter((route) => !route.includes("/v1/external/"))).toEqual([]);
    }));

  test("takes a jump to the end in one step", () =>
    withLab(async (lab) => {
      const id = await submitted(lab);
      lab.simulator.control.alterProcedure(id, { status: "CANCELLED" });
      await lab.track();
      expect(await orderOf(lab)).toMatchObject({
        state: "cancelled",
        failure: { code: "PROCEDURE_CANCELLED" },
      });
    }));

  test("notes a step back and doesn't believe it", () =>
    withLab(async (lab) => {
      const id = await submitted(lab);
      lab.simulator.control.alterProcedure(id, { status: "IN_PROGRESS" });
      await lab.track();
      lab.simulator.control.alterProcedure(id, { status: "PENDING" });
      await lab.track();
      expect((await orderOf(lab)).state).toBe("in_progress");
      expect(await kindsOf(lab)).toContain("went_back");
    }));

  test("keeps a status that nobody knows and follows it on", () =>
    withLab(async (lab) => {
      const id = await submitted(lab);
      lab.simulator.control.alterProcedure(id, { status: "on hold" });
      await lab.track();
      expect(await orderOf(lab)).toMatchObject({ state: "submitted", remoteStatus: "ON_HOLD" });
      lab.simulator.control.alterProcedure(id, { status: "completed" });
      await lab.track();
      expect((await orderOf(lab)).state).not.toBe("parked");
      expect(await kindsOf(lab)).toContain("unknown_status");
    }));

  test("reads many from one list", () =>
    withLab(async (lab) => {
      for (let n = 1; n <= 12; n += 1) await submitted(lab, `A-${n}`);
      const before = lab.simulator.tally().received;
      await lab.track();
      expect(lab.simulator.tally().received - before).toBeLessThanOrEqual(2);
      const { rows } = await lab.pool.query("select 1 from orders where next_at > now()");
      expect(rows).toHaveLength(12);
    }));

  test("parks an order whose procedure turns out to be another subject's", () =>
    withLab(async (lab) => {
      await submitted(lab);
      await lab.pool.query("update orders set subject_code = 'S-OTHER'");
      await lab.track();
      expect(await orderOf(lab)).toMatchObject({ state: "parked", failure: { code: "REQUEST_MISMATCH" } });
    }));

  test("notes a procedure that the service forgot", () =>
    withLab(async (lab) => {
      const id = await submitted(lab);
      lab.simulator.control.forget("procedure", id);
      await lab.track();
      expect(await orderOf(lab)).toMatchObject({ state: "submitted", missingSince: expect.any(Date) });
      expect(await kindsOf(lab)).toContain("missing");
    }));

  test("goes on where it began when its facility has moved to the other surface meanwhile", () =>
    withLab(
      async (lab) => {
        const id = await submitted(lab);
        lab.simulator.control.acceptProcedure(id);
        await lab.track();
        expect((await orderOf(lab)).state).toBe("accepted");
      },
      () => ({ surface: "request", subjects: "register" }),
    ));
});

describe("the locations of a completed order of the external surface", () => {
  /** The service says COMPLETED, and its containers have no place there. */
  async function completedWithoutPlaces(lab: Lab): Promise<number> {
    const id = await submitted(lab);
    lab.simulator.control.alterProcedure(id, { status: "COMPLETED" } as Partial<Procedure>);
    return id;
  }

  test("are read from the procedure once more when it doesn't tell them at first", () =>
    withLab(async (lab) => {
      const id = await completedWithoutPlaces(lab);
      await lab.track();
      expect((await orderOf(lab)).state).toBe("submitted");
      lab.simulator.control.alterProcedure(id, { status: "IN_PROGRESS" } as Partial<Procedure>);
      lab.simulator.control.completeProcedure(id);
      await lab.track();
      expect(await orderOf(lab)).toMatchObject({
        state: "completed",
        containers: [{ location: {} }, { location: {} }],
      });
      expect(Object.keys(lab.simulator.tally().routes).join()).not.toContain("location");
    }));

  test("are asked for on the request surface when the procedure still doesn't tell them", () =>
    withLab(async (lab) => {
      lab.simulator.control.behave({ listedContainers: "all" });
      await completedWithoutPlaces(lab);
      await lab.track();
      await lab.track();
      expect(Object.keys(lab.simulator.tally().routes).join()).toContain("location");
    }));

  test("are never asked for on the request surface where the site's credentials don't reach it", () =>
    withLab(
      async (lab) => {
        await completedWithoutPlaces(lab);
        for (let look = 0; look < 6; look += 1) await lab.track();
        expect((await orderOf(lab)).state).toBe("completed");
        expect(Object.keys(lab.simulator.tally().routes).join()).not.toContain("location");
      },
      () => ({ surface: "external", subjects: "none" }),
    ));
});

test("any words of the service lead an order only forwards, and to no request", () =>
  withLab(async (lab) => {
    const rank = { submitted: 1, accepted: 2, in_progress: 3 } as const;
    const word = fc.constantFrom("PENDING", "created", "In-Progress", "ON_HOLD", "pending", "CREATED", "");
    let next = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 4 }), async (words) => {
        next += 1;
        const number = `P-${next}`;
        const id = await submitted(lab, number);
        let before = 0;
        for (const status of words) {
          lab.simulator.control.alterProcedure(id, { status });
          await lab.track();
          const { state, requestId } = await orderOf(lab, number);
          const now = rank[state as keyof typeof rank];
          expect(now).toBeGreaterThanOrEqual(before);
          expect(requestId).toBeUndefined();
          before = now;
        }
      }),
      { numRuns: 8 },
    );
  }));
