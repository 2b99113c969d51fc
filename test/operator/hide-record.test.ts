import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hideRecord, OWNERS } from "../../src/operator/hide-record.ts";

const PATIENT = { code: "PAT-4711", firstName: "Ottilie", lastName: "Quersack", dateOfBirth: "1981-02-03" };
const VALUES = Object.values(PATIENT);

/** Where a service could put a patient's value: under the specification's keys, and under any of its own. */
const key = fc.oneof(
  fc.constantFrom(
    ..."code subjectCode firstName lastName dateOfBirth description error patient owner comment ward notes tags".split(
      " ",
    ),
  ),
  fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !PLAIN_KEYS.has(text)),
);
/** Keys whose texts are shown, since the specification says what they hold. */
const PLAIN_KEYS = new Set(
  (
    "id type status createdAt acceptedAt startedAt completedAt storedAt acceptedBy performedBy canister cane position " +
    "slot storageName sampleContainerId label code name"
  ).split(" "),
);
const leaf = fc.constantFrom(...VALUES, VALUES.join(" "), 3, true, null, "");
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.dictionary(key, tie("tree"), { maxKeys: 4 }),
  ),
}));

describe("what the service sends", () => {
  it("shows no patient's value, wherever the service put it", () => {
    const lists = fc.constantFrom(
      "subjects",
      "requests",
      "containers",
      "storage",
      "inventory",
      "location" as const,
    );
    fc.assert(
      fc.property(lists, fc.dictionary(key, tree), (list, record) => {
        const shown = JSON.stringify(hideRecord(record, OWNERS[list as keyof typeof OWNERS], false));
        // The key itself is the service's word.
        for (const value of VALUES) expect(shown.replaceAll(/"[^"]*":/g, "")).not.toContain(value);
      }),
      { numRuns: 500 },
    );
  });

  it("keeps keys, ids, words, times and places, so that a person can follow an order", () => {
    const procedure = {
      id: 7,
      code: "PR-7",
      type: "STORE",
      status: "COMPLETED",
      facility: { id: 12, name: "North" },
      subject: { id: 4, code: PATIENT.code },
      sampleContainers: [
        {
          id: 9,
          name: "V-1",
          description: "straw",
          location: { storage: { id: 1, name: "Tank" }, canister: "C1", cane: "2" },
          storedAt: "2026-11-21T10:00:00Z",
        },
      ],
      completedAt: "2026-11-21T10:00:00Z",
    };
    expect(hideRecord(procedure, OWNERS.procedures, false)).toEqual({
      ...procedure,
      subject: { id: 4, code: "••••" },
      sampleContainers: [{ ...procedure.sampleContainers[0], description: "••••" }],
    });
  });

  it("keeps a storage solution's inventory readable", () => {
    const inventory = {
      storageId: 1,
      canisters: [
        { name: "C1", canes: [{ cane: "2", containers: [{ id: 9, name: "V-1", subject: PATIENT.code }] }] },
      ],
      used: 17,
    };
    expect(hideRecord(inventory, OWNERS.inventory, false)).toEqual({
      ...inventory,
      canisters: [
        { name: "C1", canes: [{ cane: "2", containers: [{ id: 9, name: "V-1", subject: "••••" }] }] },
      ],
    });
  });

  it("shows no number and no yes or no of a field that the specification doesn't know", () => {
    const record = {
      ...{ id: 4, facilityId: 12, mrn: 4711, nationalId: 8_404_711, age: 44, isDeceased: true, height: 1.71 },
      procedure: { id: 7, requestId: 3, weeks: 12, patientId: 4711 },
      sampleContainerIds: [9, 10, "Ottilie"],
      scores: [1, 2],
    };
    const hidden = "••••";
    for (const owner of [OWNERS.requests, OWNERS.subjects])
      expect(hideRecord(record, owner, false)).toEqual({
        ...{ id: 4, facilityId: 12, mrn: hidden, nationalId: hidden, age: hidden, isDeceased: hidden },
        ...{ height: hidden, scores: [hidden, hidden], sampleContainerIds: [9, 10, hidden] },
        procedure: { id: 7, requestId: 3, weeks: hidden, patientId: hidden },
      });
  });

  it("shows an id and a label where they are what they are called", () => {
    const container = { id: 9, label: "V-1", subject: { id: "Ottilie", label: "Ottilie" } };
    expect(hideRecord({ id: 7, containers: [container] }, OWNERS.inventory, false)).toEqual({
      id: 7,
      containers: [{ ...container, subject: { id: "••••", label: "••••" } }],
    });
  });

  it("has nothing to hide in what is empty", () => {
    const nothing = { request: null, comment: "", body: undefined };
    expect(hideRecord(nothing, "order", false)).toEqual(nothing);
    expect(hideRecord(undefined, "order", false)).toBeUndefined();
  });

  it("is shown as it came to who may see it", () => {
    expect(hideRecord(PATIENT, OWNERS.subject, true)).toBe(PATIENT);
  });
});
