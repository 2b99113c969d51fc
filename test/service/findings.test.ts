import { describe, expect, it } from "vitest";
import { describeChange, type FindingChange } from "../../src/service/findings.ts";
import type { Row } from "./stub-service.ts";
import { logSink, never, withStub } from "./with-client.ts";

const LIST = "/api/procedures";

const procedures = (count: number, more: Row = {}): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, status: "CREATED", ...more }));

async function withFindings(
  test: (parts: {
    readonly stub: Parameters<Parameters<typeof withStub>[0]>[0];
    readonly read: () => Promise<void>;
    readonly drifts: () => string[];
    readonly log: () => string;
  }) => Promise<void>,
  known: Parameters<typeof withStub>[2] = {},
): Promise<void> {
  const changes: FindingChange[] = [];
  const { logger, text } = logSink();
  await withStub(
    (stub, client) =>
      test({
        stub,
        read: async () => {
          const question = { list: "procedures", surface: "request", filters: {} } as const;
          for await (const _ of client.readList(question, never));
        },
        drifts: () => changes.filter(({ isDrift }) => isDrift).map(describeChange),
        log: text,
      }),
    {},
    { logger, onFinding: (change) => changes.push(change), ...known },
  );
}

describe("the running client", () => {
  it("notices another wrapping of lists, tells it once and logs it", () =>
    withFindings(async ({ stub, read, drifts, log }) => {
      stub.rows.procedures = procedures(3);
      await read();
      stub.options = { envelope: (rows) => ({ data: rows }) };
      await read();
      await read();
      expect(drifts()).toEqual([`${LIST} comes as a list under "data"; before: array`]);
      expect(log()).toContain("the service changed its behaviour");
    }));

  it("notices a page cap that appears, shrinks or is lifted, but not its first discovery", () =>
    withFindings(async ({ stub, read, drifts }) => {
      stub.rows.procedures = procedures(150);
      stub.options = { cap: 50 };
      await read();
      expect(drifts()).toEqual([]);
      stub.options = { cap: 20 };
      await read();
      stub.options = { cap: 100 };
      await read();
      expect(drifts()).toEqual([
        `pages of ${LIST} hold at most 20; before: 50`,
        `pages of ${LIST} hold at most 100; before: 20`,
      ]);
    }));

  it("notices ids that are written otherwise, and new fields, but not fields that are missing now", () =>
    withFindings(async ({ stub, read, drifts }) => {
      stub.rows.procedures = procedures(2, { tenant: "a", error: null });
      await read();
      stub.rows.procedures = procedures(2, { error: null });
      await read();
      stub.rows.procedures = [{ id: "1", tenant: "a", ward: "b" }];
      await read();
      expect(drifts()).toEqual([
        `entries of ${LIST} have fields that the specification doesn't know: tenant, ward; before: tenant`,
        `ids of ${LIST} are written as strings; before: number`,
      ]);
    }));

  it("notices a status that the specification doesn't know already the first time", () =>
    withFindings(async ({ stub, read, drifts }) => {
      stub.rows.procedures = [...procedures(1), { id: 9, status: "on hold" }];
      await read();
      expect(drifts()).toEqual([`${LIST} has statuses that the specification doesn't know: ON_HOLD`]);
    }));

  it("keeps what looks like no name out of the findings", () =>
    withFindings(async ({ stub, read, drifts, log }) => {
      stub.rows.procedures = procedures(1);
      await read();
      stub.rows.procedures = [{ id: 1, status: "waits for Ottilie Quersack, 1981", "Quersack, Ottilie": 1 }];
      await read();
      expect(drifts()).toHaveLength(2);
      expect(`${drifts()} ${log()}`).not.toMatch(/quersack/i);
    }));

  it("compares with what an earlier run knew", () =>
    withFindings(
      async ({ stub, read, drifts }) => {
        stub.rows.procedures = procedures(2);
        await read();
        expect(drifts()).toEqual([`${LIST} comes as a bare array; before: items`]);
      },
      { knownFindings: [{ kind: "envelope", list: LIST, name: "", value: "items" }] },
    ));
});
