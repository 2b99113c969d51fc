import { expect, test } from "vitest";
import { API_TOKEN, STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const TWO_ORGANIZATIONS = [
  {
    id: 1,
    name: "One",
    facilities: [{ id: 12, name: "North" }],
    clients: [{ clientId: "one", clientSecret: "s1", apiToken: API_TOKEN }],
  },
  {
    id: 2,
    name: "Two",
    facilities: [{ id: 77, name: "Abroad" }],
    clients: [{ clientId: "two", clientSecret: "s2", apiToken: "token-of-two" }],
  },
];

test("a registered subject is answered whole and found by its id and its code", () =>
  withSimulator({}, async ({ ask, post }) => {
    const created = await post("/api/subjects", SUBJECT);
    expect(created.status).toBe(201);
    expect(created.json).toEqual({ ...SUBJECT, id: expect.any(Number), createdAt: expect.any(String) });
    expect((await ask(`/api/subjects/${created.json.id}`)).json).toEqual(created.json);
    expect((await ask("/api/subjects?code=S-001&facilityId=12")).json).toEqual([created.json]);
    expect((await ask("/api/subjects?code=S-001&facilityId=13")).json).toEqual([]);
  }));

test("a second subject with the code of another is refused at the same facility only", () =>
  withSimulator({}, async ({ post, simulator }) => {
    await post("/api/subjects", SUBJECT);
    expect((await post("/api/subjects", SUBJECT)).status).toBe(409);
    expect((await post("/api/subjects", { ...SUBJECT, facilityId: 13 })).status).toBe(201);
    simulator.control.addSubject(SUBJECT);
    expect(simulator.control.subjects().filter(({ facilityId }) => facilityId === 12)).toHaveLength(2);
  }));

test("a body that breaks rules is refused with every field that is wrong", () =>
  withSimulator({}, async ({ post }) => {
    const reply = await post("/api/subjects", { facilityId: "12", code: " ", dateOfBirth: "1988-02-30" });
    expect(reply.status).toBe(422);
    expect(reply.json.code).toBe("VALIDATION_ERROR");
    expect(reply.json.details.map(({ field }: { field: string }) => field)).toEqual([
      "facilityId",
      "code",
      "firstName",
      "lastName",
      "dateOfBirth",
    ]);
    expect((await post("/api/subjects", "{")).status).toBe(400);
    const asText = await post("/api/subjects", "{}", { headers: { "content-type": "text/plain" } });
    expect(asText.status).toBe(415);
  }));

test("a STORE request takes its way from PENDING to stored containers with locations", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    await post("/api/subjects", SUBJECT);
    const created = await post("/api/procedure-requests", STORE);
    expect(created.json).toEqual({
      ...STORE,
      id: expect.any(Number),
      status: "PENDING",
      procedureId: null,
      createdAt: expect.any(String),
    });
    const { id } = created.json;
    expect(Object.keys((await ask(`/api/procedure-requests/${id}`)).json)).toEqual([
      "id",
      "type",
      "status",
      "procedureId",
      "createdAt",
    ]);

    simulator.control.acceptRequest(id, "Kim");
    const accepted = (await ask(`/api/procedure-requests/${id}`)).json;
    expect(Object.keys(accepted)).toEqual([
      "id",
      "type",
      "status",
      "procedureId",
      "acceptedAt",
      "acceptedBy",
    ]);
    expect(accepted).toMatchObject({ status: "ACCEPTED", acceptedBy: "Kim" });
    const procedurePath = `/api/procedures/${accepted.procedureId}`;
    const procedure = (await ask(procedurePath)).json;
    expect(procedure).toMatchObject({ type: "storage", status: "CREATED", requestId: id, error: null });
    expect(procedure.sampleContainerIds).toEqual([expect.any(Number), expect.any(Number)]);
    expect((await ask("/api/sample-containers?subjectCode=S-001")).json).toEqual([]);

    simulator.control.startProcedure(procedure.id);
    expect((await ask(procedurePath)).json).toMatchObject({
      status: "IN_PROGRESS",
      startedAt: expect.any(String),
    });
    simulator.control.completeProcedure(procedure.id);
    expect((await ask(procedurePath)).json).toMatchObject({
      status: "COMPLETED",
      completedAt: expect.any(String),
    });

    const containers = (await ask("/api/sample-containers?subjectCode=S-001")).json;
    expect(containers.map(({ name }: { name: string }) => name)).toEqual(["V1", "V2"]);
    expect(containers[0].id).toBe(procedure.sampleContainerIds[0]);
    const location = (await ask(`/api/sample-containers/${containers[1].id}/location`)).json;
    expect(location).toEqual({
      sampleContainerId: containers[1].id,
      storageId: procedure.storageId,
      storageName: "North Tank 1",
      position: "Canister 1, Cane A, Slot 2",
      storedAt: expect.any(String),
    });
    const inventory = (await ask(`/api/storage/${procedure.storageId}/inventory`)).json;
    expect(inventory).toMatchObject({ storageId: procedure.storageId, count: 2 });
  }));

test("a RETRIEVAL takes the containers out of storage when it is completed, and not before", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    const { control } = simulator;
    control.addSubject(SUBJECT);
    const { id } = control.addContainer({ facilityId: 12, subjectCode: "S-001", name: "V1" });
    const body = { type: "RETRIEVAL", facilityId: 12, subjectCode: "S-001", sampleContainerIds: [id] };
    const created = await post("/api/procedure-requests", body);
    expect(created.json).not.toHaveProperty("sampleContainers");
    const procedure = control.acceptRequest(created.json.id);
    control.startProcedure(procedure.id);
    expect((await ask(`/api/sample-containers/${id}/location`)).status).toBe(200);
    control.completeProcedure(procedure.id);
    expect((await ask(`/api/sample-containers/${id}/location`)).status).toBe(404);
    expect((await ask("/api/sample-containers?subjectCode=S-001")).json).toEqual([]);
    expect((await ask(`/api/procedures/${procedure.id}`)).json.type).toBe("retrieval");
  }));

test("a RETRIEVAL of another subject's container is refused with VALIDATION_ERROR", () =>
  withSimulator({}, async ({ post, simulator }) => {
    simulator.control.addSubject(SUBJECT);
    simulator.control.addSubject({ ...SUBJECT, code: "S-002" });
    const { id } = simulator.control.addContainer({ facilityId: 12, subjectCode: "S-002", name: "V1" });
    const reply = await post("/api/procedure-requests", {
      type: "RETRIEVAL",
      facilityId: 12,
      subjectCode: "S-001",
      sampleContainerIds: [id],
    });
    expect(reply.status).toBe(422);
    expect(reply.json.code).toBe("VALIDATION_ERROR");
    expect(simulator.tally().orders).toMatchObject([{ executed: 0, refused: 1 }]);
  }));

test("a request for an unknown subject or with a label twice is refused", () =>
  withSimulator({}, async ({ post, simulator }) => {
    expect((await post("/api/procedure-requests", STORE)).status).toBe(422);
    simulator.control.addSubject(SUBJECT);
    const [first] = STORE.sampleContainers;
    const repeated = await post("/api/procedure-requests", { ...STORE, sampleContainers: [first, first] });
    expect(repeated.json.details).toEqual([{ field: "sampleContainers", message: "names a label twice" }]);
    expect((await post("/api/procedure-requests", { ...STORE, type: "store" })).status).toBe(422);
  }));

test("a token sees nothing of another organization and creates nothing there", () =>
  withSimulator({ organizations: TWO_ORGANIZATIONS }, async ({ ask, post }) => {
    const own = await post("/api/subjects", SUBJECT);
    const token = "token-of-two";
    expect((await ask("/api/subjects", { token })).json).toEqual([]);
    expect((await ask("/api/storage", { token })).json).toHaveLength(2);
    expect((await ask(`/api/subjects/${own.json.id}`, { token })).status).toBe(404);
    expect((await post("/api/subjects", { ...SUBJECT, code: "S-9" }, { token })).status).toBe(403);
    expect((await post("/api/procedure-requests", STORE, { token })).status).toBe(403);
  }));

test("an id that is unknown or no integer, and a path that is unknown, is 404", () =>
  withSimulator({}, async ({ ask, simulator }) => {
    const paths = ["/api/procedures/999999", "/api/procedures/abc", "/api/subjects/-1", "/api/nothing"];
    for (const path of paths) expect((await ask(path)).status, path).toBe(404);
    expect(simulator.tally().routes["(unknown)"]).toEqual({ received: 1, answered: { 404: 1 } });
  }));

test("storage solutions are listed by facility", () =>
  withSimulator({}, async ({ ask }) => {
    const { json } = await ask("/api/storage?facilityId=13");
    expect(json).toEqual([
      { id: expect.any(Number), name: "South Tank 1" },
      { id: expect.any(Number), name: "South Tank 2" },
    ]);
  }));

test("a requester cancels a PENDING request where the site has set up a call for it", () =>
  withSimulator(
    { cancelRoute: { method: "POST", path: "/api/procedure-requests/{id}/cancel" } },
    async ({ post, simulator }) => {
      simulator.control.addSubject(SUBJECT);
      const { id } = (await post("/api/procedure-requests", STORE)).json;
      const cancelled = await post(`/api/procedure-requests/${id}/cancel`, {});
      expect(cancelled.json).toMatchObject({ id, status: "CANCELLED" });
      expect((await post(`/api/procedure-requests/${id}/cancel`, {})).status).toBe(409);
    },
  ));
