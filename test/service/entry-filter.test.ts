import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { passes, toEntryFilter } from "../../src/service/lists/reads.ts";
import { NO_WORDS, toServiceWords } from "../../src/service/values.ts";

const passed = (entry: Record<string, unknown>, name: string, value: string) =>
  passes(entry, toEntryFilter(name, value), NO_WORDS);

describe("looking at a filter again", () => {
  it.each([
    ["code=S-1", { code: "S-1" }, true],
    ["code=s-1", { code: "S-1" }, false],
    ["id=17", { id: 17 }, true],
    ["id=17", { id: "17" }, true],
    ["lastName_like=OS", { lastName: "Roseneck" }, true],
    ["lastName_like=xy", { lastName: "Roseneck" }, false],
    ["id_from=9", { id: 10 }, true],
    ["id_from=11", { id: 10 }, false],
    ["id_to=10", { id: 10 }, true],
    ["createdAt_from=2026-11-21", { createdAt: "2026-11-21T00:00:00Z" }, true],
    ["createdAt_from=2026-11-21T10:00:00Z", { createdAt: "2026-11-21T10:30:00+01:00" }, false],
    ["createdAt_to=2026-11-21", { createdAt: "2026-11-21T23:59:00Z" }, true],
    ["createdAt_to=2026-11-21", { createdAt: "2026-11-22T00:00:00Z" }, false],
    ["status=in progress", { status: "IN_PROGRESS" }, true],
    ["type=STORE", { type: "storage" }, true],
    ["type=STORE", { type: "transfer" }, false],
    ["facilityId=12", { facility: { id: 12, name: "North" } }, true],
    ["facilityId=12", { facility: { id: 13 } }, false],
    ["subjectCode=S-1", { subject: { id: 4, code: "S-1" } }, true],
    ["subject.code=S-1", { subject: { code: "S-2" } }, false],
    ["sampleContainerIds=5", { sampleContainerIds: [4, 5] }, true],
    ["sampleContainerIds=6", { sampleContainerIds: [4, 5] }, false],
    ["procedureId=null", { procedureId: null }, true],
    ["completedAt_from=2026-01-01", { completedAt: null }, false],
    ["code=S-1", { id: 1 }, undefined],
    ["subject.code=S-1", { subject: "S-1" }, undefined],
    ["toString=x", { id: 1 }, undefined],
  ])("finds of %s in %j: %j", (filter, entry, expected) => {
    const [name = "", value = ""] = filter.split(/=(.*)/s);
    expect(passed(entry, name, value)).toBe(expected);
  });

  it("takes a site's own words for a status", () => {
    const words = toServiceWords({ status: { done: "COMPLETED" } });
    expect(passes({ status: "Done" }, toEntryFilter("status", "COMPLETED"), words)).toBe(true);
  });

  it("never fails, whatever an entry holds", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.anything()),
        fc.string(),
        fc.string(),
        (entry, name, value) => {
          for (const form of ["", "_like", "_from", "_to"]) passed(entry, `${name}${form}`, value);
        },
      ),
      { numRuns: 200 },
    );
  });
});
