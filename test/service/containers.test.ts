import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { whichContainers } from "../../src/jobs/which-container.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const vials = [
  { id: 1, name: "V-1", subjectCode: "S-4", description: "a" },
  { id: 2, name: "V-2", subjectCode: "S-4" },
  { id: 3, name: "V-1", subjectCode: "S-5" },
];
const withoutSubject = ({ subjectCode: _subjectCode, ...rest }: Record<string, unknown>) => rest;

async function find(client: ServiceClient, labels: readonly string[]) {
  const wanted = labels.map((label, n) => ({ position: n + 1, label }));
  const which = whichContainers(
    wanted,
    await client.listSubjectContainers({ surface: "request", subjectCode: phi("S-4") }, never),
  );
  return [...which.values()].map((each) => (each.kind === "one" ? each.shown.id : each.kind));
}

describe("finding containers by their labels", () => {
  it("tells the id of each label, of that subject only", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [
        ...vials,
        { id: 4, name: "V-2", subject: { code: "S-4" }, subjectCode: "S-4" },
      ];
      expect(await find(client, ["V-1", "V-2", "V-3"])).toEqual([1, "several", "none"]);
    }));

  it.each([
    ["sampleContainerId", { id: 1, sampleContainerId: "V-1" }],
    ["label", { id: 1, label: "V-1" }],
    ["a field of the site's own", { id: 1, barcode: "V-1" }],
  ])("reads labels from %s", (_name, row) =>
    withStub(
      async (stub, client) => {
        stub.rows["sample-containers"] = [{ ...row, subjectCode: "S-4" }];
        expect(await find(client, ["V-1"])).toEqual([1]);
      },
      { containerLabelFields: ["name", "sampleContainerId", "label", "barcode"] },
    ),
  );
});

describe("whose a container is", () => {
  it("is read from the entries where the service ignores the filter", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = vials;
      stub.options = { honours: (name) => name === "page" };
      const found = await client.listSubjectContainers(
        { surface: "request", subjectCode: phi("S-5") },
        never,
      );
      expect(found.map((each) => each.id)).toEqual([3]);
    }));

  it("is believed of entries that name nobody once the filter was seen to work, which is tried once", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = vials;
      stub.options = { entry: withoutSubject };
      expect(
        await client.listSubjectContainers({ surface: "request", subjectCode: phi("S-4") }, never),
      ).toHaveLength(2);
      const first = stub.seen.length;
      await client.listSubjectContainers({ surface: "request", subjectCode: phi("S-4") }, never);
      expect(stub.count("GET /api/sample-containers?subjectCode=cryobridge-probe")).toBe(1);
      expect(stub.seen.length - first).toBeLessThanOrEqual(2);
    }));

  it("can't be told when the entries name nobody and the filter is ignored", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = vials;
      stub.options = { entry: withoutSubject, honours: (name) => name === "page" };
      const failure = await failureOf(find(client, ["V-1"]));
      expect(failure).toMatchObject({ code: "SERVICE_FILTER_IGNORED", class: "permanent" });
    }));

  it("is looked at anew once the service filters, since the hint has the order tried again then", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = vials;
      stub.options = { entry: withoutSubject, honours: (name) => name === "page" };
      await failureOf(find(client, ["V-1"]));
      stub.options = { entry: withoutSubject };
      expect(
        await client.listSubjectContainers({ surface: "request", subjectCode: phi("S-4") }, never),
      ).toHaveLength(2);
    }));
});

describe("the location of a container", () => {
  it.each([
    [
      "of the request surface",
      {
        sampleContainerId: 1,
        storageId: 3,
        storageName: "Tank A",
        position: "C2 / 5 / 1",
        storedAt: "2026-11-21T10:00:00Z",
      },
      { storageId: 3, storageName: "Tank A", position: "C2 / 5 / 1", storedAt: "2026-11-21T10:00:00Z" },
    ],
    [
      "nested as on the other surface",
      {
        location: { storage: { id: 3, name: "Tank A" }, canister: "2", cane: "5" },
        storedAt: "2026-11-21T10:00:00Z",
      },
      { storageId: 3, storageName: "Tank A", canister: "2", cane: "5", storedAt: "2026-11-21T10:00:00Z" },
    ],
    ["wrapped, with ids of digits", { data: { sampleContainerId: "1", storageId: "3" } }, { storageId: 3 }],
  ])("is read %s", (_name, body, expected) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        response.end(JSON.stringify(body));
        return true;
      };
      expect(await client.getLocation(1, never)).toMatchObject(expected);
    }),
  );

  it("isn't taken from an answer about another container", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        response.end(JSON.stringify({ sampleContainerId: 2, storageId: 3 }));
        return true;
      };
      expect((await failureOf(client.getLocation(1, never))).code).toBe("SERVICE_SHAPE_UNKNOWN");
    }));
});
