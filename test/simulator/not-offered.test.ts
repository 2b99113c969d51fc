import { expect, test } from "vitest";
import { STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const OUTSIDE = "/api/v1/external/procedures";

test("an integration can't create a procedure on the request surface", () =>
  withSimulator({}, async ({ post, simulator }) => {
    simulator.control.addSubject(SUBJECT);
    expect((await post("/api/procedures", STORE)).status).toBe(404);
    expect(simulator.control.procedures()).toEqual([]);
  }));

test.each(["PUT", "PATCH", "POST", "DELETE"])("an integration can't change a procedure by %s", (method) =>
  withSimulator({}, async ({ ask, simulator }) => {
    const { id } = simulator.control.createRefill(101);
    for (const path of [`/api/procedures/${id}`, `${OUTSIDE}/${id}`, `/api/procedures/${id}/status`]) {
      expect((await ask(path, { method, body: { status: "COMPLETED" } })).status).toBe(404);
    }
    expect(simulator.control.findProcedure(id)?.status).toBe("CREATED");
  }),
);

test.each(["REFILL", "TRANSFER", "REGISTER_STORAGE", "store"])("an integration can't order a %s", (type) =>
  withSimulator({}, async ({ post, simulator }) => {
    simulator.control.addSubject(SUBJECT);
    const sampleContainers = [{ name: "V1", description: "" }];
    expect((await post("/api/procedure-requests", { ...STORE, type })).status).toBe(422);
    expect((await post(OUTSIDE, { ...STORE, type, sampleContainers })).status).toBe(422);
    expect(simulator.tally().journal).toEqual([]);
  }),
);

test("there are no webhooks: nothing takes a subscription, and the description names none", () =>
  withSimulator({}, async ({ ask, post }) => {
    expect((await post("/api/webhooks", { url: "http://127.0.0.1/" })).status).toBe(404);
    expect((await ask("/openapi.json")).json).not.toHaveProperty("webhooks");
  }));

test("an id in a path that is no integer names nothing", () =>
  withSimulator({}, async ({ ask }) => {
    for (const id of ["abc", "1.5", "-1", "99999999999999999"]) {
      expect((await ask(`/api/procedures/${id}`)).status).toBe(404);
    }
  }));
