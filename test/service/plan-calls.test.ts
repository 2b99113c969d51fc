import { describe, expect, it } from "vitest";
import type { Order } from "../../src/core/order.ts";
import { phi } from "../../src/core/phi.ts";
import { findMarks, hasRef, withRef } from "../../src/service/new-request.ts";
import { planCalls } from "../../src/service/plan-calls.ts";
import { serviceSettings } from "../support/service-settings.ts";

const settings = serviceSettings({ baseUrl: "https://storage.example.org", auth: { apiToken: "t" } });
const order = (given: Partial<Order>): Order => ({
  operation: "STORE",
  facilityCode: "NORTH",
  facilityId: 12,
  placerOrderNumber: "P-1",
  subject: { code: phi("S-4"), lastName: phi("Roe") },
  containers: [{ label: "V-1", description: "2 straws" }],
  sources: {},
  ...given,
});

describe("the calls that an order would make", () => {
  it("are, for a storage order, the look-up, the registration and the request", () => {
    expect(planCalls(order({}), settings)).toEqual([
      { method: "GET", path: "/api/subjects", query: { code: "S-4", facilityId: 12, page: 1, perPage: 100 } },
      {
        method: "POST",
        path: "/api/subjects",
        body: { facilityId: 12, code: "S-4", lastName: "Roe" },
        condition: "the facility has no subject with that code yet",
      },
      {
        method: "GET",
        path: "/api/sample-containers",
        query: { subjectCode: "S-4", page: 1, perPage: 100 },
        condition: "the facility has a subject with that code already",
      },
      {
        method: "POST",
        path: "/api/procedure-requests",
        body: {
          type: "STORE",
          facilityId: 12,
          subjectCode: "S-4",
          sampleContainers: [{ sampleContainerId: "V-1", description: "2 straws [ref XXXX-XXXXXXXXXX]" }],
        },
      },
    ]);
  });

  it("name, for a retrieval, each container by its label, since its id isn't known yet", () => {
    const calls = planCalls(order({ operation: "RETRIEVAL" }), settings);
    expect(calls.map((call) => `${call.method} ${call.path}`)).toEqual([
      "GET /api/subjects",
      "GET /api/sample-containers",
      "GET /api/procedure-requests",
      "POST /api/procedure-requests",
    ]);
    expect(calls.at(-1)?.body).toMatchObject({ type: "RETRIEVAL", sampleContainerIds: ["<id of V-1>"] });
  });

  it("are those of the external surface where the facility goes by it", () => {
    const calls = planCalls(order({}), settings, { surface: "external", subjects: "register" });
    expect(calls.map((call) => `${call.method} ${call.path}`)).toEqual([
      "GET /api/subjects",
      "POST /api/subjects",
      "GET /api/v1/external/sample-containers",
      "POST /api/v1/external/procedures",
    ]);
    expect(calls.at(-1)?.body).toEqual({
      type: "STORE",
      facilityId: 12,
      subjectCode: "S-4",
      sampleContainers: [{ name: "V-1", description: "2 straws [ref XXXX-XXXXXXXXXX]" }],
    });
  });

  it("are, for a retrieval on the external surface, the look for its containers and the procedure", () => {
    const retrieval = order({ operation: "RETRIEVAL" });
    const calls = planCalls(retrieval, settings, { surface: "external", subjects: "none" });
    expect(calls.map((call) => `${call.method} ${call.path}`)).toEqual([
      "GET /api/v1/external/sample-containers",
      "POST /api/v1/external/procedures",
    ]);
    expect(calls.at(-1)?.body).toMatchObject({ sampleContainerIds: ["<id of V-1>"] });
  });

  it("register no subject where the site keeps that to itself", () => {
    const calls = planCalls(order({}), settings, { surface: "request", subjects: "look" });
    expect(calls.filter(({ method }) => method === "POST").map(({ path }) => path)).toEqual([
      "/api/procedure-requests",
    ]);
  });

  it("are, for a registration, only the subject's", () => {
    const calls = planCalls(order({ operation: "REGISTER", containers: [] }), settings);
    expect(calls.map((call) => call.path)).toEqual(["/api/subjects", "/api/subjects"]);
  });
});

describe("the mark of an order", () => {
  it("is found in descriptions, of whatever order it is", () => {
    expect(findMarks("a [ref 7K3M-ZQ0VX9TB4D], b [ref 0000-0000000001]")).toEqual([
      "7K3M-ZQ0VX9TB4D",
      "0000-0000000001",
    ]);
    expect(findMarks("a [ref 7K3M-ZQ0VX9TB4] [ref 7K3M-ZQ0VX9TBIL] [ref XXXXXXXXXXXX]")).toEqual([]);
  });

  it("stands once at the end of a description, also of an empty one", () => {
    expect(withRef("2 straws", "ABC")).toBe("2 straws [ref ABC]");
    expect(withRef("", "ABC")).toBe("[ref ABC]");
    expect(withRef(withRef("x", "ABC"), "ABC")).toBe("x [ref ABC]");
    expect(hasRef("x [ref ABCD]", "ABC")).toBe(false);
  });
});
