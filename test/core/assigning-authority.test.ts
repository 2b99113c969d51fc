import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AssigningAuthority, areOfTwoAuthorities, formatAuthority } from "../../src/core/order.ts";

const LAB: AssigningAuthority = { namespaceId: "LAB" };
const OID = { universalId: "1.2.840.1", universalIdType: "ISO" } as const;

describe("two assigning authorities", () => {
  test.each<[string, AssigningAuthority | undefined, AssigningAuthority | undefined, boolean]>([
    ["are two by their namespace ids", LAB, { namespaceId: "EPIC" }, true],
    ["are one by their namespace id, in whatever case", LAB, { namespaceId: "Lab" }, false],
    ["are one where one is not told", LAB, undefined, false],
    ["are one where each is told in another way", LAB, OID, false],
    ["are two by their universal ids", OID, { ...OID, universalId: "1.2.840.2" }, true],
    [
      "are one by their universal id, whatever it is called",
      { ...LAB, ...OID },
      { namespaceId: "L", ...OID },
      false,
    ],
    [
      "are two by their universal ids, though called alike",
      { ...LAB, ...OID },
      { ...LAB, ...OID, universalId: "9" },
      true,
    ],
    [
      "are told apart by their names where the universal ids are of two kinds",
      { ...LAB, ...OID },
      { namespaceId: "EPIC", universalId: "lab.example.org", universalIdType: "DNS" },
      true,
    ],
    [
      "are one where the universal ids are of two kinds, and no more is told",
      OID,
      { ...OID, universalIdType: "DNS" },
      false,
    ],
  ])("%s", (_words, one, other, areTwo) => {
    expect(areOfTwoAuthorities(one, other)).toBe(areTwo);
    expect(areOfTwoAuthorities(other, one)).toBe(areTwo);
  });

  test("are never two when they are the same, whatever is told", () => {
    const part = fc.option(fc.constantFrom("A", "B", "ISO"), { nil: undefined });
    const authority = fc.record({ namespaceId: part, universalId: part, universalIdType: part });
    fc.assert(fc.property(authority, (each) => !areOfTwoAuthorities(each, { ...each })));
  });
});

test("an authority is written as it stands behind the number", () => {
  expect(formatAuthority(LAB)).toBe("LAB");
  expect(formatAuthority({ ...LAB, ...OID })).toBe("LAB^1.2.840.1^ISO");
  expect(formatAuthority(OID)).toBe("^1.2.840.1^ISO");
});
