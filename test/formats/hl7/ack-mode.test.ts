import { describe, expect, it } from "vitest";
import { type AckedOutcome, planAcks } from "../../../src/formats/hl7/ack.ts";

const CONDITIONS = [undefined, "AL", "NE", "ER", "SU"] as const;

/**
 * MSH-15, MSH-16, then what is sent for a message that is taken, for one with wrong content, for one of a foreign type:
 * `at once/later`, a dash for nothing.
 */
const MATRIX: readonly (readonly [string, string, string, string, string])[] = [
  ["", "", "AA/-", "AE/-", "AR/-"],
  ["", "AL", "-/AA", "-/AE", "-/AR"],
  ["", "NE", "-/-", "-/-", "-/-"],
  ["", "ER", "-/-", "-/AE", "-/AR"],
  ["", "SU", "-/AA", "-/-", "-/-"],
  ["AL", "", "CA/-", "CE/-", "CR/-"],
  ["AL", "AL", "CA/AA", "CA/AE", "CR/-"],
  ["AL", "NE", "CA/-", "CE/-", "CR/-"],
  ["AL", "ER", "CA/-", "CA/AE", "CR/-"],
  ["AL", "SU", "CA/AA", "CE/-", "CR/-"],
  ["NE", "", "-/-", "-/-", "-/-"],
  ["NE", "AL", "-/AA", "-/AE", "-/AR"],
  ["NE", "NE", "-/-", "-/-", "-/-"],
  ["NE", "ER", "-/-", "-/AE", "-/AR"],
  ["NE", "SU", "-/AA", "-/-", "-/-"],
  ["ER", "", "-/-", "CE/-", "CR/-"],
  ["ER", "AL", "-/AA", "-/AE", "CR/-"],
  ["ER", "NE", "-/-", "CE/-", "CR/-"],
  ["ER", "ER", "-/-", "-/AE", "CR/-"],
  ["ER", "SU", "-/AA", "CE/-", "CR/-"],
  ["SU", "", "CA/-", "-/-", "-/-"],
  ["SU", "AL", "CA/AA", "CA/AE", "-/AR"],
  ["SU", "NE", "CA/-", "-/-", "-/-"],
  ["SU", "ER", "CA/-", "CA/AE", "-/AR"],
  ["SU", "SU", "CA/AA", "-/-", "-/-"],
];

function told(accept: string, application: string, outcome: AckedOutcome): string {
  const plan = planAcks(
    { acceptAckType: accept || undefined, applicationAckType: application || undefined },
    outcome,
  );
  return `${plan.immediate ?? "-"}/${plan.deferred ?? "-"}`;
}

describe("the acknowledgements of a message", () => {
  it.each(MATRIX)(
    "with MSH-15 %j and MSH-16 %j are %s, %s for wrong content, %s for a foreign type",
    (accept, application, taken, content, foreign) => {
      expect([
        told(accept, application, "taken"),
        told(accept, application, "content"),
        told(accept, application, "foreign"),
      ]).toEqual([taken, content, foreign]);
    },
  );

  it("are told for every combination of table 0155", () => {
    const rows = MATRIX.map(([accept, application]) => `${accept}/${application}`);
    const all = CONDITIONS.flatMap((accept) =>
      CONDITIONS.map((application) => `${accept ?? ""}/${application ?? ""}`),
    );
    expect(new Set(rows)).toEqual(new Set(all));
  });

  it("are sent to a sender that names a condition nobody knows", () => {
    expect(told("XX", "XX", "taken")).toBe("CA/AA");
  });
});
