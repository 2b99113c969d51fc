import { describe, expect, it } from "vitest";
import type { ServiceClient } from "../../src/service/client.ts";
import type { FilterRemark, ListQuestion } from "../../src/service/lists/reads.ts";
import { type Row, send } from "./stub-service.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const subjects: Row[] = [
  { id: 1, facilityId: 12, code: "S-1", lastName: "Roseneck" },
  { id: 2, facilityId: 13, code: "S-2", lastName: "Amber" },
  { id: 3, facilityId: 12, code: "S-3", lastName: "Grosch" },
];

async function read(client: ServiceClient, question: Partial<ListQuestion>) {
  const ids: unknown[] = [];
  const remarks = new Map<string, FilterRemark>();
  const unchecked = new Set<string>();
  const whole = { list: "subjects", surface: "request", filters: {}, ...question } as const;
  for await (const page of client.readList(whole, never)) {
    ids.push(...page.entries.map(({ id }) => id));
    for (const [name, remark] of page.remarks) remarks.set(name, remark);
    for (const name of page.unchecked) unchecked.add(name);
  }
  return { ids, remarks, unchecked };
}

describe("a list that a person reads", () => {
  it("is filtered here too, and tells which filter the service ignored", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = subjects;
      stub.options = { honours: (name) => name !== "lastName_like" };
      const filters = { facilityId: 12, lastName_like: "ROS" };
      const found = await read(client, { filters });
      expect(found.ids).toEqual([1, 3]);
      expect(found.remarks).toEqual(new Map());
      stub.options = { honours: () => false };
      const again = await read(client, { filters: { facilityId: 12, lastName_like: "rosen" } });
      expect(again.ids).toEqual([1]);
      expect(again.remarks).toEqual(
        new Map([
          ["lastName_like", "ignored"],
          ["facilityId", "ignored"],
        ]),
      );
    }));

  it("tells a filter that the service refuses, and one that the site keeps from being sent", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = subjects;
      stub.intercept = (request, response) => {
        if (!request.url?.includes("facilityId")) return false;
        send(response, 400, { code: "UNKNOWN_PARAMETER" });
        return true;
      };
      const { ids, remarks } = await read(client, { filters: { facilityId: 13 } });
      expect(ids).toEqual([2]);
      expect([...remarks]).toEqual([["facilityId", "refused"]]);
      const here = await read(client, { filters: { lastName: "Amber" }, unsent: ["lastName"] });
      expect(here.ids).toEqual([2]);
      expect([...here.remarks]).toEqual([["lastName", "not sent"]]);
    }));

  it("keeps entries that don't tell the field, and says that it could not look", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = subjects;
      stub.options = { honours: () => false };
      const { ids, unchecked } = await read(client, { filters: { ward: "7" } });
      expect(ids).toEqual([1, 2, 3]);
      expect([...unchecked]).toEqual(["ward"]);
    }));

  it("comes from the external surface where that is asked for", () =>
    withStub(async (stub, client) => {
      stub.intercept = (request, response) => {
        send(response, 200, request.url?.startsWith("/api/v1/external/procedures?") ? [{ id: 8 }] : []);
        return true;
      };
      const { ids } = await read(client, { list: "procedures", surface: "external" });
      expect(ids).toEqual([8]);
      const failure = await failureOf(read(client, { list: "subjects", surface: "external" }));
      expect(failure).toMatchObject({ code: "SERVICE_NOT_FOUND" });
    }));

  it("never names a patient in the failure of a call", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 422, { message: "no subject S-4711 Quersack" });
        return true;
      };
      const failure = await failureOf(
        read(client, { filters: { code: "S-4711", lastName_like: "Quersack" } }),
      );
      expect(failure.message).not.toMatch(/4711|Quersack/);
    }));
});

describe("a record that a person reads", () => {
  it("comes as the service has it, unknown fields and all", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = [{ id: 5, status: "ON_HOLD", tenant: "x" }];
      expect(await client.readRecord("request", "request", 5, never)).toEqual(
        stub.rows["procedure-requests"][0],
      );
      expect(await failureOf(client.readRecord("request", "request", 6, never))).toMatchObject({
        code: "SERVICE_NOT_FOUND",
      });
    }));

  it("is refused when the answer is about another one, and has large numbers to the digit", () =>
    withStub(async (stub, client) => {
      stub.options = { single: (row) => ({ ...row, id: 99 }) };
      stub.rows.procedures = [{ id: 5 }];
      const other = await failureOf(client.readRecord("procedure", "request", 5, never));
      expect(other).toMatchObject({ code: "SERVICE_SHAPE_UNKNOWN" });
      stub.intercept = (_request, response) => {
        send(response, 200, '{"id":5,"requestId":9007199254740993,"volume":1.50}');
        return true;
      };
      expect(await client.readRecord("procedure", "request", 5, never)).toEqual({
        ...{ id: 5, requestId: "9007199254740993", volume: 1.5 },
      });
    }));

  it("is an inventory of any shape", () =>
    withStub(async (stub, client) => {
      for (const shape of [[{ slot: 1 }], { canisters: [] }, []]) {
        stub.intercept = (_request, response) => {
          send(response, 200, shape);
          return true;
        };
        expect(await client.getInventory(3, never)).toEqual(shape);
      }
    }));
});
