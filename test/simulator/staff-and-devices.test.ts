import { expect, test } from "vitest";
import { createFakeClock } from "./fake-clock.ts";
import { type Bench, type STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const BASE = "/api/v1/external";
const EXTERNAL_STORE = {
  type: "STORE",
  facilityId: 12,
  subjectCode: "S-001",
  sampleContainers: [
    { name: "V1", description: "straw" },
    { name: "V2", description: "straw" },
  ],
};

const statusOf = async ({ ask }: Bench, id: number) => (await ask(`${BASE}/procedures/${id}`)).json.status;
const runToEnd = ({ simulator: { control } }: Bench, id: number) => {
  control.startProcedure(id);
  control.completeProcedure(id);
};

test("what the external surface orders stays PENDING until staff accept it", () =>
  withSimulator({}, async (bench) => {
    const { control } = bench.simulator;
    control.addSubject(SUBJECT);
    const { id } = (await bench.post(`${BASE}/procedures`, EXTERNAL_STORE)).json;
    expect(() => control.startProcedure(id)).toThrow("PENDING");
    control.acceptProcedure(id);
    expect(await statusOf(bench, id)).toBe("CREATED");
    runToEnd(bench, id);
    const sampleContainerIds = control.containers().map((container) => container.id);
    const body = { type: "RETRIEVAL", facilityId: 12, subjectCode: "S-001", sampleContainerIds };
    const { id: retrieval } = (await bench.post(`${BASE}/procedures`, body)).json;
    expect(await statusOf(bench, retrieval)).toBe("PENDING");
    control.acceptProcedure(retrieval);
    runToEnd(bench, retrieval);
    expect((await bench.ask(`${BASE}/sample-containers?subjectCode=S-001`)).json).toEqual([]);
  }));

test("automatic staff accept what the external surface orders", () =>
  withSimulator({ staff: { auto: true, reviewAfterMs: 1_000 } }, async (bench) => {
    const { control } = bench.simulator;
    control.addSubject(SUBJECT);
    const { id } = (await bench.post(`${BASE}/procedures`, EXTERNAL_STORE)).json;
    control.advance(1_000);
    expect(await statusOf(bench, id)).toBe("CREATED");
  }));

test("a web-app user's own order needs no request and begins as CREATED", () =>
  withSimulator({}, async ({ ask, simulator: { control } }) => {
    control.addSubject(SUBJECT);
    const containers = [{ name: "W1", description: "" }];
    const order = { facilityId: 12, subjectCode: "S-001", containers, containerIds: [] };
    const { id } = control.createProcedure({ type: "STORE", ...order });
    expect((await ask(`/api/procedures/${id}`)).json).toMatchObject({ status: "CREATED", requestId: null });
    expect((await ask("/api/procedure-requests")).json).toEqual([]);
  }));

test("devices ask for refills of each tank in turn of their time, and run them", () =>
  withSimulator(
    {
      clock: createFakeClock(),
      refills: { auto: true, everyMs: 3_600_000 },
      device: { auto: true, startAfterMs: 1_000, runMs: 1_000 },
    },
    async ({ ask, simulator: { control } }) => {
      control.advance(3_599_999);
      expect(control.procedures()).toEqual([]);
      control.advance(10_000);
      const refills = (await ask(`${BASE}/procedures?type=REFILL`)).json;
      expect(refills.map(({ status }: { status: string }) => status)).toEqual(
        Array.from({ length: 4 }, () => "COMPLETED"),
      );
      control.advance(3_600_000);
      expect(control.procedures()).toHaveLength(8);
      control.configure({ refills: { auto: false } });
      control.advance(7_200_000);
      expect(control.procedures()).toHaveLength(8);
    },
  ));

test("a person plays staff and refills over HTTP", () =>
  withSimulator({}, async ({ ask, post, simulator: { control } }) => {
    control.addSubject(SUBJECT);
    const open = { token: null };
    const { id: stored } = control.addContainer({ facilityId: 12, subjectCode: "S-001", name: "V0" });
    const [tank] = control.storages();
    const { id } = (await post(`${BASE}/procedures`, EXTERNAL_STORE)).json;
    expect((await post(`/simulator/procedures/${id}/accept`, {}, open)).status).toBe(200);
    await post("/simulator/refills", { storageId: tank?.id }, open);
    const order = { type: "RETRIEVAL", facilityId: 12, subjectCode: "S-001", containerIds: [stored] };
    await post("/simulator/procedures", order, open);
    const { procedures } = (await ask("/simulator/state", open)).json;
    expect(procedures.map(({ type, status }: typeof STORE & { status: string }) => [type, status])).toEqual([
      ["RETRIEVAL", "CREATED"],
      ["REFILL", "CREATED"],
      ["STORE", "CREATED"],
    ]);
  }));
