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

test("a STORE of the external surface stays PENDING until each container has an RFID tag", () =>
  withSimulator({}, async (bench) => {
    const { control } = bench.simulator;
    control.addSubject(SUBJECT);
    const { id, sampleContainers } = (await bench.post(`${BASE}/procedures`, EXTERNAL_STORE)).json;
    expect(() => control.startProcedure(id)).toThrow("PENDING");
    control.associateTag(id, sampleContainers[0].id, "E200-1");
    expect(await statusOf(bench, id)).toBe("PENDING");
    expect(() => control.associateTag(id, sampleContainers[1].id, "E200-1")).toThrow("belongs to container");
    control.associateTag(id, sampleContainers[1].id, "E200-2");
    expect(await statusOf(bench, id)).toBe("CREATED");
    runToEnd(bench, id);
    expect(control.containers().map(({ rfidTag }) => rfidTag)).toEqual(["E200-1", "E200-2"]);
  }));

test("a RETRIEVAL of the external surface stays PENDING until it is accepted, and takes no tags", () =>
  withSimulator({}, async (bench) => {
    const { control } = bench.simulator;
    control.addSubject(SUBJECT);
    const { id: containerId } = control.addContainer({ facilityId: 12, subjectCode: "S-001", name: "V1" });
    const body = {
      type: "RETRIEVAL",
      facilityId: 12,
      subjectCode: "S-001",
      sampleContainerIds: [containerId],
    };
    const { id } = (await bench.post(`${BASE}/procedures`, body)).json;
    expect(() => control.associateTag(id, containerId, "E200-1")).toThrow("accept a retrieval");
    control.acceptProcedure(id);
    expect(await statusOf(bench, id)).toBe("CREATED");
    runToEnd(bench, id);
    expect((await bench.ask(`${BASE}/sample-containers?subjectCode=S-001`)).json).toEqual([]);
  }));

test("automatic staff associate tags as well as accept", () =>
  withSimulator({ staff: { auto: true, reviewAfterMs: 1_000 } }, async (bench) => {
    const { control } = bench.simulator;
    control.addSubject(SUBJECT);
    const { id } = (await bench.post(`${BASE}/procedures`, EXTERNAL_STORE)).json;
    control.advance(1_000);
    expect(await statusOf(bench, id)).toBe("CREATED");
    expect(control.containers().every(({ rfidTag }) => rfidTag !== undefined)).toBe(true);
  }));

test("a transfer of the web app begins as CREATED and moves the container to another tank", () =>
  withSimulator({}, async (bench) => {
    const { control } = bench.simulator;
    control.addSubject(SUBJECT);
    const { id } = control.addContainer({ facilityId: 12, subjectCode: "S-001", name: "V1" });
    const [from, to] = control.storages();
    const procedure = control.createTransfer([id], to?.id ?? 0);
    expect((await bench.ask(`/api/procedures/${procedure.id}`)).json).toMatchObject({
      type: "transfer",
      status: "CREATED",
      storageId: to?.id,
      sampleContainerIds: [id],
      requestId: null,
    });
    runToEnd(bench, procedure.id);
    const location = (await bench.ask(`/api/sample-containers/${id}/location`)).json;
    expect(location).toMatchObject({ storageId: to?.id, storageName: "North Tank 2" });
    expect((await bench.ask(`/api/storage/${from?.id}/inventory`)).json).toMatchObject({ count: 0 });
  }));

test("a storage solution is listed once the procedure that registers it is completed", () =>
  withSimulator({}, async (bench) => {
    const { control } = bench.simulator;
    const tanks = async () => (await bench.ask("/api/storage?facilityId=12")).json.length;
    const procedure = control.createStorageRegistration(12, "North Tank 3");
    expect((await bench.ask(`/api/procedures/${procedure.id}`)).json).toMatchObject({
      type: "register storage",
      status: "CREATED",
    });
    expect(await tanks()).toBe(2);
    runToEnd(bench, procedure.id);
    expect(await tanks()).toBe(3);
  }));

test("the external surface shows refills, but neither transfers nor registrations", () =>
  withSimulator({}, async ({ ask, simulator: { control } }) => {
    const refill = control.createRefill(control.storages()[0]?.id ?? 0);
    const registration = control.createStorageRegistration(12, "North Tank 3");
    expect((await ask(`${BASE}/procedures`)).json).toMatchObject([{ id: refill.id, type: "REFILL" }]);
    expect((await ask(`${BASE}/procedures/${registration.id}`)).status).toBe(404);
    expect((await ask("/api/procedures")).json).toHaveLength(2);
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

test("a person plays tags, refills, transfers and registrations over HTTP", () =>
  withSimulator({}, async ({ ask, post, simulator: { control } }) => {
    control.addSubject(SUBJECT);
    const open = { token: null };
    const { id: stored } = control.addContainer({ facilityId: 12, subjectCode: "S-001", name: "V0" });
    const [tank, other] = control.storages();
    const { id, sampleContainers } = (await post(`${BASE}/procedures`, EXTERNAL_STORE)).json;
    for (const { id: containerId } of sampleContainers) {
      const tagged = { containerId, tag: `E200-${containerId}` };
      expect((await post(`/simulator/procedures/${id}/tag`, tagged, open)).status).toBe(200);
    }
    await post("/simulator/refills", { storageId: tank?.id }, open);
    await post("/simulator/transfers", { containerIds: [stored], storageId: other?.id }, open);
    await post("/simulator/storage-registrations", { facilityId: 12, name: "North Tank 3" }, open);
    const order = { type: "RETRIEVAL", facilityId: 12, subjectCode: "S-001", containerIds: [stored] };
    await post("/simulator/procedures", order, open);
    const { procedures } = (await ask("/simulator/state", open)).json;
    expect(procedures.map(({ type, status }: typeof STORE & { status: string }) => [type, status])).toEqual([
      ["RETRIEVAL", "CREATED"],
      ["REGISTER_STORAGE", "CREATED"],
      ["TRANSFER", "CREATED"],
      ["REFILL", "CREATED"],
      ["STORE", "CREATED"],
    ]);
  }));
