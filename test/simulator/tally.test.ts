import { expect, test } from "vitest";
import { STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

test("the journal holds every executed creation with what was sent", () =>
  withSimulator({}, async ({ post, simulator }) => {
    const subject = (await post("/api/subjects", SUBJECT)).json;
    const request = (await post("/api/procedure-requests", STORE)).json;
    const tally = simulator.tally();
    expect(tally.subjectsCreated).toEqual([
      { subjectId: subject.id, facilityId: 12, code: "S-001", at: subject.createdAt },
    ]);
    expect(tally.journal).toEqual([
      {
        surface: "request",
        requestId: request.id,
        procedureId: null,
        type: "STORE",
        facilityId: 12,
        subjectCode: "S-001",
        sampleContainers: [
          { name: "V1", description: "straw" },
          { name: "V2", description: "straw" },
        ],
        sampleContainerIds: [],
        at: request.createdAt,
      },
    ]);
  }));

test("an order that was made twice is listed as such, whatever the order of its labels", () =>
  withSimulator({}, async ({ post, simulator }) => {
    simulator.control.addSubject(SUBJECT);
    const first = (await post("/api/procedure-requests", STORE)).json;
    expect(simulator.tally().doubled).toEqual([]);
    const turned = { ...STORE, sampleContainers: STORE.sampleContainers.toReversed() };
    const second = (await post("/api/procedure-requests", turned)).json;
    const { orders, doubled } = simulator.tally();
    expect(orders).toHaveLength(1);
    expect(doubled).toMatchObject([
      { key: "STORE 12 S-001 V1,V2", executed: 2, requestIds: [first.id, second.id] },
    ]);
  }));

test("routes count what came and how it was answered", () =>
  withSimulator({}, async ({ ask, simulator }) => {
    await ask("/api/subjects/1");
    await ask("/api/subjects/2");
    await ask("/api/subjects", { token: null });
    const { routes, received } = simulator.tally();
    expect(received).toBe(3);
    expect(routes).toEqual({
      "GET /api/subjects/:id": { received: 2, answered: { 404: 2 } },
      "GET /api/subjects": { received: 1, answered: { 401: 1 } },
    });
  }));

test("a tally that was read doesn't change afterwards", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    simulator.control.addSubject(SUBJECT);
    await post("/api/procedure-requests", STORE);
    const before = simulator.tally();
    const copy = structuredClone(before);
    await post("/api/procedure-requests", STORE);
    await ask("/api/procedure-requests");
    expect(before).toEqual(copy);
  }));

test("the tally answers how many calls an order took, by route", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    simulator.control.addSubject(SUBJECT);
    const first = (await post("/api/procedure-requests", STORE)).json;
    await post("/api/procedure-requests", {
      ...STORE,
      sampleContainers: [{ sampleContainerId: "V3", description: "" }],
    });
    await ask(`/api/procedure-requests/${first.id}`);
    const { id, containerIds } = simulator.control.fulfilRequest(first.id);
    await ask(`/api/procedure-requests/${first.id}`);
    await ask(`/api/procedures/${id}`);
    await ask(`/api/sample-containers/${containerIds[0]}/location`);
    await ask("/api/procedures");
    const { orders, callsPerOrder } = simulator.tally();
    expect(orders.map(({ calls }) => calls)).toEqual([
      {
        "POST /api/procedure-requests": 1,
        "GET /api/procedure-requests/:id": 2,
        "GET /api/procedures/:id": 1,
        "GET /api/sample-containers/:id/location": 1,
      },
      { "POST /api/procedure-requests": 1 },
    ]);
    expect(callsPerOrder).toMatchObject({
      "POST /api/procedure-requests": 1,
      "GET /api/procedures": 0.5,
      all: 3.5,
    });
  }));

test("calls on the external surface count for their order, refused ones too", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    const base = "/api/v1/external/procedures";
    const order = { ...STORE, sampleContainers: [{ name: "V1", description: "" }] };
    await post(base, order);
    simulator.control.addSubject(SUBJECT);
    const { id } = (await post(base, order)).json;
    await ask(`${base}/${id}`);
    expect(simulator.tally().orders).toMatchObject([
      { refused: 1, executed: 1, calls: { [`POST ${base}`]: 2, [`GET ${base}/:id`]: 1 } },
    ]);
  }));
