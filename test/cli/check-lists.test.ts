import { describe, expect, it } from "vitest";
import { type KnownSettings, listFindings } from "../../src/cli/commands/check/probe-words.ts";
import { findingJson } from "../../src/cli/commands/check/report.ts";
import { LISTS } from "../../src/core/service-catalogue.ts";
import type { ListFacts } from "../../src/service/probe/probe.ts";

const SETTINGS: KnownSettings = {
  perPage: 100,
  listEnvelope: "auto",
  listEnvelopes: {},
  filters: "auto",
  unpaged: [],
};

const CONTAINERS: ListFacts = {
  title: "containers",
  endpoint: LISTS.containers.path,
  surface: "request",
  envelope: "array",
  length: 3,
  refused: [],
  cap: { kind: "unknown" },
  filters: new Map([["subjectCode", "honoured"]]),
  ids: "number",
  hasUnreadableIds: false,
  isSubjectMissing: false,
  unknownStatuses: [],
  unknownTypes: [],
};

/** What `check` says of one point, by what a list of containers showed. */
function findingOf(point: string, facts: Partial<ListFacts>, settings: Partial<KnownSettings> = {}) {
  const findings = listFindings([{ ...CONTAINERS, ...facts }], { ...SETTINGS, ...settings });
  const found = findings.find(({ subject }) => subject === `service, ${point}`);
  return found && findingJson(found);
}

describe("check warns of a list", () => {
  it("that may be cut, since it takes no pages and has just as many entries as one, unless it is said to be whole", () => {
    const facts = { refused: ["page"], length: 10 };
    const { result, hint } = findingOf("page size", facts) ?? {};
    expect({ result, hint }).toMatchObject({
      result: "warning",
      hint: expect.stringContaining("service.unpaged"),
    });
    expect(findingOf("page size", { ...facts, length: 11 })).toMatchObject({ result: "ok" });
    expect(findingOf("page size", facts, { unpaged: ["containers"] })).toMatchObject({ result: "ok" });
  });

  it("of the external surface that is a bare array, whatever the lists of the other one are wrapped in", () => {
    const facts = { endpoint: LISTS.externalContainers.path, surface: "external" as const };
    expect(findingOf("list envelope", facts, { listEnvelope: "data" })).toMatchObject({ result: "ok" });
    const named = { externalContainers: "data" };
    expect(findingOf("list envelope", facts, { listEnvelopes: named })).toMatchObject({ result: "failed" });
  });

  it("of containers that does not show whose they are", () => {
    const ignored = new Map([["subjectCode", "ignored"] as const]);
    expect(findingOf("filters", { filters: ignored, isSubjectMissing: true })).toMatchObject({
      result: "warning",
      hint: expect.stringContaining("subjectCode"),
    });
    expect(findingOf("filters", { filters: ignored })).toMatchObject({ result: "ok" });
    expect(findingOf("filters", { isSubjectMissing: true })).toMatchObject({ result: "ok" });
  });
});
