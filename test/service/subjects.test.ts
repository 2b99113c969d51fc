import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const jane = {
  id: 4,
  facilityId: 12,
  code: "S-4",
  firstName: "Jane",
  lastName: "Roe",
  dateOfBirth: "1980-02-01",
};
const others = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...jane, id: 100 + index, code: `X-${index}` }));

describe("finding a subject", () => {
  it("gives what the service knows, wrapped as personal data", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [...others(3), jane];
      const subject = await client.findSubject(12, phi("S-4"), never);
      expect(subject).toMatchObject({ id: 4, facilityId: 12 });
      expect(subject?.firstName?.reveal()).toBe("Jane");
      expect(subject?.dateOfBirth?.reveal()).toBe("1980-02-01");
      expect(JSON.stringify(subject)).not.toMatch(/Jane|Roe|S-4|1980/);
    }));

  it("takes one call, whether there is one or not", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [...others(3), jane];
      await client.findSubject(12, phi("S-4"), never);
      await client.findSubject(12, phi("S-nobody"), never);
      expect(stub.seen).toHaveLength(2);
    }));

  it("looks through all pages where the service ignores filters", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [...others(90), jane];
      stub.options = { cap: 25, honours: (name) => name === "page" };
      expect(await client.findSubject(12, phi("S-4"), never)).toMatchObject({ id: 4 });
      expect(await client.findSubject(12, phi("S-5"), never)).toBeUndefined();
    }));

  it.each([
    ["of another facility", { ...jane, facilityId: 13 }],
    ["whose code differs in case", { ...jane, code: "s-4" }],
    ["whose code only begins like it", { ...jane, code: "S-44" }],
  ])("doesn't take one %s", (_name, row) =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [row];
      stub.options = { honours: (name) => name === "page" };
      expect(await client.findSubject(12, phi("S-4"), never)).toBeUndefined();
    }),
  );

  it("reads the whole object where list entries leave the facility out", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [jane, { ...jane, id: 5, facilityId: 13 }];
      stub.options = {
        honours: (name) => name !== "facilityId",
        entry: ({ id, code }) => ({ id, code }),
      };
      expect(await client.findSubject(12, phi("S-4"), never)).toMatchObject({ id: 4 });
    }));

  it("refuses to choose between two", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [jane, { ...jane, id: 5 }];
      const failure = await failureOf(client.findSubject(12, phi("S-4"), never));
      expect(failure).toMatchObject({ code: "SERVICE_SUBJECT_AMBIGUOUS", class: "permanent" });
      expect(failure.message).toContain("4, 5");
    }));
});

describe("registering a subject", () => {
  it("leaves out what the order doesn't tell", () =>
    withStub(async (stub, client) => {
      const created = await client.registerSubject(12, { code: phi("S-9"), lastName: phi("Roe") }, never);
      expect(created.id).toBe(1);
      expect(JSON.parse(stub.seen[0]!.body)).toEqual({ facilityId: 12, code: "S-9", lastName: "Roe" });
    }));

  it("is ambiguous when the answer is about another subject", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        response.end(JSON.stringify({ id: 1, code: "S-1", facilityId: 12 }));
        return true;
      };
      const failure = await failureOf(client.registerSubject(12, { code: phi("S-9") }, never));
      expect(failure.code).toBe("SERVICE_ANSWER_DIFFERS");
    }));
});
