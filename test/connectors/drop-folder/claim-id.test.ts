import { expect, test } from "vitest";
import { ClaimIds, claimedAt, isClaimId } from "../../../src/connectors/drop-folder/claim.ts";

test("claim ids sort in the order in which they were made, whatever the clock does", () => {
  const ids = new ClaimIds();
  const times = [1_000, 1_000, 1_000, 999, 1_001, 5, 1_002, ...Array.from({ length: 2_000 }, () => 1_002)];
  const made = times.map((now) => ids.next(now));
  expect([...made].sort()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
  expect(made.every(isClaimId)).toBe(true);
});

test("a claim id tells when it was made", () => {
  const now = Date.UTC(2026, 10, 21, 12, 30, 15, 123);
  expect(claimedAt(new ClaimIds().next(now)).getTime()).toBe(now);
});
