import { expect, test } from "vitest";
import { SUBJECT, withSimulator } from "./with-simulator.ts";

const BASE = "/api/v1/external";
const STORE = {
  type: "STORE",
  facilityId: 12,
  subjectCode: "S-001",
  sampleContainers: [{ name: "V1", description: "straw" }],
};

test("a STORE procedure begins as PENDING with ids for its containers, and ends with locations", () =>
  withSimulator({ behaviour: { listEnvelope: "data" } }, async ({ ask, post, simulator }) => {
    const { control } = simulator;
    const subject = control.addSubject(SUBJECT);
    const created = await post(`${BASE}/procedures`, STORE);
    expect(created.status).toBe(201);
    expect(created.json).toEqual({
      id: expect.any(Number),
      code: "PR-000001",
      type: "STORE",
      status: "PENDING",
      facility: { id: 12, name: "North" },
      subject: { id: subject.id, code: "S-001" },
      createdAt: expect.any(String),
      sampleContainers: [{ id: expect.any(Number), name: "V1", description: "straw" }],
    });
    const { id } = created.json;
    control.acceptProcedure(id);
    control.startProcedure(id);
    control.completeProcedure(id);
    const done = (await ask(`${BASE}/procedures/${id}`)).json;
    expect(done).toMatchObject({ status: "COMPLETED", completedAt: expect.any(String) });
    expect(done.sampleContainers[0]).toMatchObject({
      location: { storage: { id: expect.any(Number), name: "North Tank 1" }, canister: "1", cane: "A" },
      storedAt: expect.any(String),
    });
    const containers = (await ask(`${BASE}/sample-containers?subjectCode=S-001`)).json;
    expect(containers).toEqual([
      {
        id: created.json.sampleContainers[0].id,
        name: "V1",
        description: "straw",
        subject: { id: subject.id, code: "S-001" },
        storedAt: expect.any(String),
      },
    ]);
  }));

test("list entries have no containers, and a refill has no subject either", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    const { control } = simulator;
    control.addSubject(SUBJECT);
    await post(`${BASE}/procedures`, STORE);
    const refill = control.createRefill(control.storages()[0]?.id ?? 0);
    const all = (await ask(`${BASE}/procedures?facilityId=12`)).json;
    expect(all).toHaveLength(2);
    for (const entry of all) expect(entry).not.toHaveProperty("sampleContainers");
    const refills = (await ask(`${BASE}/procedures?type=REFILL`)).json;
    expect(refills).toMatchObject([{ id: refill.id, status: "CREATED" }]);
    expect(refills[0]).not.toHaveProperty("subject");
    expect((await ask(`${BASE}/procedures/${refill.id}`)).json).not.toHaveProperty("sampleContainers");
  }));

test("a RETRIEVAL of another subject's container is refused with VALIDATION_ERROR", () =>
  withSimulator({}, async ({ post, simulator }) => {
    const { control } = simulator;
    control.addSubject(SUBJECT);
    control.addSubject({ ...SUBJECT, code: "S-002" });
    const { id } = control.addContainer({ facilityId: 12, subjectCode: "S-002", name: "V1" });
    const body = { type: "RETRIEVAL", facilityId: 12, subjectCode: "S-001", sampleContainerIds: [id] };
    const refused = await post(`${BASE}/procedures`, body);
    expect([refused.status, refused.json.code]).toEqual([422, "VALIDATION_ERROR"]);
    const taken = await post(`${BASE}/procedures`, { ...body, subjectCode: "S-002" });
    expect(taken.json.sampleContainers).toEqual([{ id, name: "V1", description: "" }]);
    expect(simulator.tally().journal).toMatchObject([
      { surface: "external", procedureId: taken.json.id, sampleContainerIds: [id] },
    ]);
  }));

test("staff who turn a PENDING procedure down cancel it", () =>
  withSimulator(
    { staff: { auto: true, acceptanceRate: 0, reviewAfterMs: 1_000 } },
    async ({ ask, post, simulator }) => {
      simulator.control.addSubject(SUBJECT);
      const { id } = (await post(`${BASE}/procedures`, STORE)).json;
      simulator.control.advance(1_000);
      expect((await ask(`${BASE}/procedures/${id}`)).json.status).toBe("CANCELLED");
    },
  ));
