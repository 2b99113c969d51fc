import { describe, expect, it } from "vitest";
import { listDrifted, listFindings, recordFinding } from "../../src/ledger/service-findings.ts";
import { withLedger } from "../support/with-ledger.ts";

const SERVICE = "https://storage.example.org";
const FINDING = { kind: "envelope", list: "/api/subjects", name: "", value: "array" };

describe("findings about the service", () => {
  it("are kept with what they were before and how often they changed", () =>
    withLedger(async ({ pool }) => {
      await recordFinding(pool, SERVICE, { ...FINDING, before: undefined, isDrift: false });
      expect(await listFindings(pool, SERVICE)).toEqual([FINDING]);
      expect(await listDrifted(pool, SERVICE)).toEqual([]);
      await recordFinding(pool, SERVICE, { ...FINDING, value: "data", before: "array", isDrift: true });
      await recordFinding(pool, SERVICE, { ...FINDING, value: "items", before: "data", isDrift: true });
      expect(await listFindings(pool, SERVICE)).toEqual([{ ...FINDING, value: "items" }]);
      expect(await listDrifted(pool, SERVICE)).toEqual([
        { ...FINDING, value: "items", before: "data", drifts: 2, driftedAt: expect.any(Date) },
      ]);
    }));

  it("are those of one service and not of another", () =>
    withLedger(async ({ pool }) => {
      await recordFinding(pool, SERVICE, { ...FINDING, before: undefined, isDrift: false });
      expect(await listFindings(pool, "https://other.example.org")).toEqual([]);
    }));
});
