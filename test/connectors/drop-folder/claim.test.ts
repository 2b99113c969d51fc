import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ClaimIds, claimedAt, claimName, isClaimId } from "../../../src/connectors/drop-folder/claim.ts";

test("claim ids sort in the order in which they were made, whatever the clock does", () => {
  const ids = new ClaimIds();
  const times = [1_000, 1_000, 1_000, 999, 1_001, 5, 1_002, ...Array.from({ length: 2_000 }, () => 1_002)];
  const made = times.map((now) => ids.next(now));
  expect([...made].sort()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
  expect(made.every(isClaimId)).toBe(true);
});

test("a claim id says when it was made", () => {
  const now = Date.UTC(2026, 10, 21, 12, 30, 15, 123);
  expect(claimedAt(new ClaimIds().next(now)).getTime()).toBe(now);
});

describe("a file name", () => {
  test.each(["orders.csv", "PO-17_0001.hl7", "Aufträge März.csv", "no-extension", "a.b.c"])(
    "that is ordinary stays as it is: %s",
    (name) => expect(claimName(name)).toBe(name),
  );

  test.each([
    "../../etc/passwd",
    "C:\\windows\\x",
    "a\nb.hl7",
    "\u001b[31mred.hl7",
    "gpj.\u202eexe",
    "CON",
    "nul.txt",
    "trailing.",
    "x".repeat(300),
    "",
  ])("that is hostile is made safe: %j", (name) => expect(claimName(name)).not.toBe(name));

  test("once made safe is short, harmless, stays as it is, and differs where the originals differ", () => {
    const name = fc.string({ unit: "binary", maxLength: 300 });
    fc.assert(
      fc.property(name, name, (a, b) => {
        const safe = claimName(a);
        expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(190);
        expect(safe).not.toMatch(/[\p{Cc}/\\]|^\.|^$|\.$/u);
        expect(claimName(safe)).toBe(safe);
        if (a !== b) expect(claimName(b)).not.toBe(safe);
      }),
    );
  });

  test("keeps its extension when it is cut", () => {
    expect(claimName(`${"x".repeat(300)}.hl7`)).toMatch(/~[0-9a-f]{8}\.hl7$/);
  });
});
