import { expect, test } from "vitest";
import type { OrganizationOptions } from "../../src/simulator/options.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { API_TOKEN, type Bench, STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const own = (id: number, facilityId: number, apiToken: string): OrganizationOptions => ({
  id,
  name: `Organization ${id}`,
  facilities: [{ id: facilityId, name: `Facility ${facilityId}` }],
  clients: [{ clientId: `client-${id}`, clientSecret: `secret-${id}`, apiToken }],
});
const ORGANIZATIONS = [own(1, 12, API_TOKEN), own(2, 21, "other-token")];
const OTHER = { token: "other-token" };

/** A stored container, its request and its procedure at the first organization, and one waiting on the external surface. */
async function withData({ simulator, post }: Bench) {
  const subject = simulator.control.addSubject(SUBJECT);
  const request = (await post("/api/procedure-requests", STORE)).json;
  const procedure = simulator.control.fulfilRequest(request.id);
  const sampleContainers = [{ name: "E1", description: "straw" }];
  const outside = (await post("/api/v1/external/procedures", { ...STORE, sampleContainers })).json;
  return { subject, request, procedure, outside, containerId: procedure.containerIds[0] };
}

test("a token of another organization finds every list empty but its own tanks", () =>
  withSimulator({ organizations: ORGANIZATIONS }, async (bench) => {
    await withData(bench);
    const lists = [
      "/api/subjects",
      "/api/procedure-requests",
      "/api/procedures",
      "/api/procedures?facilityId=12",
      "/api/sample-containers?subjectCode=S-001",
      "/api/v1/external/procedures?facilityId=12",
      "/api/v1/external/sample-containers?subjectCode=S-001",
    ];
    for (const list of lists) expect((await bench.ask(list, OTHER)).json).toEqual([]);
    const names = (await bench.ask("/api/storage", OTHER)).json.map(({ name }: { name: string }) => name);
    expect(names).toEqual(["Facility 21 Tank 1", "Facility 21 Tank 2"]);
  }));

test("a token of another organization is answered 404 for each row by its id", () =>
  withSimulator({ organizations: ORGANIZATIONS }, async (bench) => {
    const { subject, request, procedure, outside, containerId } = await withData(bench);
    const rows = [
      `/api/subjects/${subject.id}`,
      `/api/procedure-requests/${request.id}`,
      `/api/procedures/${procedure.id}`,
      `/api/sample-containers/${containerId}/location`,
      `/api/storage/${procedure.storageId}/inventory`,
      `/api/v1/external/procedures/${outside.id}`,
    ];
    for (const row of rows) expect([row, (await bench.ask(row, OTHER)).status]).toEqual([row, 404]);
    for (const row of rows) expect((await bench.ask(row)).status).toBe(200);
  }));

test("a token of another organization creates nothing at a facility that is not its own", () =>
  withSimulator({ organizations: ORGANIZATIONS }, async (bench) => {
    const { containerId } = await withData(bench);
    const before = bench.simulator.tally().journal.length;
    const retrieval = { type: "RETRIEVAL", subjectCode: "S-001", sampleContainerIds: [containerId] };
    for (const [path, body] of [
      ["/api/subjects", { ...SUBJECT, code: "S-2" }],
      ["/api/procedure-requests", STORE],
      ["/api/procedure-requests", { ...retrieval, facilityId: 12 }],
      ["/api/v1/external/procedures", { ...retrieval, facilityId: 12 }],
    ] as const) {
      expect((await bench.post(path, body, OTHER)).status).toBe(403);
    }
    const own = await bench.post("/api/procedure-requests", { ...retrieval, facilityId: 21 }, OTHER);
    expect([own.status, own.json.code]).toEqual([422, "VALIDATION_ERROR"]);
    expect(bench.simulator.tally().journal).toHaveLength(before);
  }));

test("each surface may take a credential of its own only", () =>
  withSimulator({ behaviour: { credentials: "separate" } }, async ({ ask }) => {
    const form = "grant_type=client_credentials&client_id=cryobridge&client_secret=simulator-secret";
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const issued = await ask("/oauth/token", { method: "POST", body: form, headers, token: null });
    const token = issued.json.access_token;
    const external = "/api/v1/external/procedures";
    expect((await ask("/api/subjects", { token })).status).toBe(200);
    expect((await ask(external, { token })).status).toBe(401);
    expect((await ask("/api/subjects")).status).toBe(401);
    expect((await ask(external)).status).toBe(200);
  }));

test("two clients can't have the same id or API token", async () => {
  const twice = [own(1, 12, "one"), { ...own(2, 21, "one") }];
  await expect(createSimulator({ organizations: twice })).rejects.toThrow("share an id or an API token");
});
