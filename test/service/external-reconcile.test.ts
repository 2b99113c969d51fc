import { describe, expect, it } from "vitest";
import { onExternal, procedure, withExternal } from "./external-stub.ts";
import { findLost, type LostRequest, REF, retrieval, store } from "./lost-calls.ts";
import { type Row, send } from "./stub-service.ts";
import { failureOf, never } from "./with-client.ts";

const stored = (id: number, given: Row = {}, ref: string | null = REF): Row =>
  procedure(id, {
    sampleContainers: ["V-1", "V-2"].map((name, at) => ({
      id: id * 10 + at,
      name,
      description: ref === null ? "a" : `a [ref ${ref}]`,
    })),
    ...given,
  });
const retrieved = (id: number, ids: readonly number[], given: Row = {}): Row =>
  procedure(id, { type: "RETRIEVAL", sampleContainers: ids.map((each) => ({ id: each })), ...given });

/** What a look for the lost creation finds among these procedures. */
function found(
  lost: LostRequest,
  procedures: Row[],
  expected: { matches: number[]; candidates: number[]; marked?: number[]; traces?: number[] },
  containers: Row[] = [],
): Promise<void> {
  return withExternal({ procedures, containers }, async (_stub, client) => {
    expect(await findLost(client, "external", lost, never)).toEqual({ traces: [], ...expected });
  });
}

describe("a lost storage on the external surface", () => {
  it("is found by its token among look-alikes of the same subject", () =>
    found(store(), [stored(1, {}, "AAAA-AAAAAAAAAA"), stored(2), stored(3, { subjectCode: "S-5" })], {
      matches: [2],
      candidates: [],
    }));

  it.each(["PENDING", "CREATED", "IN_PROGRESS", "COMPLETED", "CANCELLED", "FAILED", "ON_HOLD"])(
    "is found in status %s",
    (status) => found(store(), [stored(5, { status })], { matches: [5], candidates: [] }),
  );

  it("is found although the service's clock is far off, since the token proves it", () =>
    found(store(), [stored(5, { createdAt: "2026-11-20T02:00:00Z" })], { matches: [5], candidates: [] }));

  it("isn't taken for absent when an entry has no id that can be read", () =>
    withExternal({ procedures: [stored(5, { id: "PR-5" })] }, async (_stub, client) => {
      const failure = await failureOf(findLost(client, "external", store(), never));
      expect(failure).toMatchObject({ code: "SERVICE_SHAPE_UNKNOWN", class: "transient" });
    }));

  it("is found twice when the service has it twice", () =>
    found(store(), [stored(5), stored(6)], { matches: [5, 6], candidates: [] }));

  it("is not found when it isn't there", () =>
    found(store(), [stored(1, { subjectCode: "S-5" }), retrieved(2, [7])], { matches: [], candidates: [] }));

  it("isn't taken from those that other orders own", () =>
    found(store({ knownIds: new Set([5]) }), [stored(5)], { matches: [], candidates: [] }));

  it("is only possible where a new one has its labels but not its token", () =>
    found(store(), [stored(5, {}, null)], { matches: [], candidates: [5] }));

  it("is certain where only the list of containers shows its token", () =>
    found(store(), [stored(5, {}, null)], { matches: [5], candidates: [] }, [
      { id: 50, name: "V-1", subjectCode: "S-4", description: `a [ref ${REF}]` },
    ]));

  it("is for a person to tell where its mark stands beside other labels, or none", async () => {
    const ofLabels = (labels: readonly (string | undefined)[]) => ({
      sampleContainers: labels.map((name, at) => ({ id: 50 + at, name, description: `a [ref ${REF}]` })),
    });
    const expected = { matches: [], candidates: [5], marked: [5] };
    await found(store(), [stored(5, ofLabels(["V-1"]))], expected);
    await found(store(), [stored(5, ofLabels(["V-7", "V-8"]))], expected);
    await found(store(), [stored(5, ofLabels([undefined, undefined]))], expected);
    await found(store(), [stored(5, { sampleContainers: [{ id: 50 }, { id: 51 }] })], expected, [
      { id: 50, name: "V-1", subjectCode: "S-4", description: `a [ref ${REF}]` },
      { id: 51, name: "V-9", subjectCode: "S-4", description: `a [ref ${REF}]` },
    ]);
  });

  it("is certain where the list of containers alone shows its mark and its labels", () =>
    found(
      store(),
      [stored(5, { sampleContainers: [{ id: 50 }, { id: 51 }] })],
      { matches: [5], candidates: [] },
      [
        { id: 50, name: "V-1", subjectCode: "S-4", description: `a [ref ${REF}]` },
        { id: 51, name: "V-2", subjectCode: "S-4", description: "a" },
      ],
    ));

  it("leaves traces where its containers are listed and no procedure is", () =>
    found(store(), [], { matches: [], candidates: [], traces: [50] }, [
      { id: 50, name: "V-1", subjectCode: "S-4", description: `a [ref ${REF}]` },
      { id: 51, name: "V-1", subjectCode: "S-4", description: "a" },
    ]));

  it("takes no trace from a list of containers that can't be trusted", () =>
    withExternal(
      { containers: [{ id: 50, name: "V-1", description: `a [ref ${REF}]` }] },
      async (stub, client) => {
        stub.options = { honours: () => false };
        const findings = await findLost(client, "external", store(), never);
        expect(findings).toEqual({ matches: [], candidates: [], traces: [] });
      },
    ));

  it("is recognised by its exact labels where no token is used", () =>
    withExternal(
      {
        procedures: [
          stored(5, {}, null),
          procedure(6, { sampleContainers: [{ id: 60, name: "V-1" }] }),
          stored(7, { createdAt: "2025-01-01T00:00:00Z" }, null),
        ],
      },
      async (_stub, client) => {
        const findings = await findLost(client, "external", store(), never, "labels");
        expect(findings).toMatchObject({ matches: [5], candidates: [7] });
      },
      { correlation: "labels" },
    ));

  it.each([2, 7, 100])("is found in a long list of which pages hold %i", (cap) =>
    withExternal(
      {
        procedures: [
          ...Array.from({ length: 30 }, (_, n) => stored(100 + n, { subjectCode: "S-9" })),
          stored(5),
        ],
      },
      async (stub, client) => {
        stub.options = { cap };
        const findings = await findLost(client, "external", store(), never);
        expect(findings).toMatchObject({ matches: [5], candidates: [] });
      },
    ),
  );

  it("is only possible where it is listed and can't be read", () =>
    withExternal({ procedures: [stored(5)] }, async (stub, client) => {
      const lead = onExternal(stub);
      stub.intercept = (request, response, body) => {
        if (!request.url?.endsWith("/procedures/5")) return lead(request, response, body);
        send(response, 404, { code: "NOT_FOUND" });
        return true;
      };
      const findings = await findLost(client, "external", store(), never);
      expect(findings).toMatchObject({ matches: [], candidates: [5] });
    }));

  it("isn't looked for in half a list: a later page that fails fails the look", () =>
    withExternal({ procedures: [stored(5)] }, async (stub, client) => {
      const lead = onExternal(stub);
      stub.intercept = (request, response, body) => {
        if (!request.url?.includes("page=2")) return lead(request, response, body);
        send(response, 500, {});
        return true;
      };
      const failure = await failureOf(findLost(client, "external", store(), never));
      expect(failure.code).toBe("SERVICE_UNAVAILABLE");
    }));
});

describe("a lost retrieval on the external surface", () => {
  it("is certain by the exact set of its containers, in any order, and others are ruled out", () =>
    found(retrieval(), [retrieved(4, [7]), retrieved(5, [8, 7]), retrieved(6, [7, 8, 9])], {
      matches: [5],
      candidates: [],
    }));

  it("is only possible where the same containers seem to have been asked for before", () =>
    found(retrieval(), [retrieved(5, [7, 8], { createdAt: "2026-11-20T10:00:00Z" })], {
      matches: [],
      candidates: [5],
    }));

  it("is only possible where the procedure doesn't name its containers", () =>
    found(retrieval(), [procedure(5, { type: "RETRIEVAL", sampleContainers: undefined })], {
      matches: [],
      candidates: [5],
    }));

  it("isn't taken from an earlier attempt of the same order", () =>
    found(retrieval({ knownIds: new Set([5]) }), [retrieved(5, [7, 8], { status: "FAILED" })], {
      matches: [],
      candidates: [],
    }));

  it("is found where entries name no subject, without reading what is older", () =>
    withExternal(
      {
        procedures: [
          retrieved(4, [7, 8], { createdAt: "2026-11-19T10:00:00Z" }),
          retrieved(5, [7, 8]),
          retrieved(6, [7, 8], { subjectCode: "S-5" }),
        ],
      },
      async (stub, client) => {
        const lead = onExternal(stub);
        stub.intercept = (request, response, body) => {
          lead(request, response, body);
          const { entry = (row: Row) => row } = stub.options;
          stub.options = { ...stub.options, entry: (row) => ({ ...entry(row), subject: undefined }) };
          return false;
        };
        const findings = await findLost(client, "external", retrieval(), never);
        expect(findings).toMatchObject({ matches: [5], candidates: [] });
        expect(stub.count("GET /api/v1/external/procedures/4")).toBe(0);
      },
    ));

  it("may be one whose entry names no subject, and has a time that stands for none", () =>
    withExternal(
      {
        procedures: [retrieved(5, [7, 8], { createdAt: "0001-01-01T00:00:00Z" })],
      },
      async (stub, client) => {
        const lead = onExternal(stub);
        stub.intercept = (request, response, body) => {
          lead(request, response, body);
          const { entry = (row: Row) => row } = stub.options;
          stub.options = { ...stub.options, entry: (row) => ({ ...entry(row), subject: undefined }) };
          return false;
        };
        const findings = await findLost(client, "external", retrieval(), never);
        expect(findings).toMatchObject({ matches: [], candidates: [5] });
      },
    ));
});
