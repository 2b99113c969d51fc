import { expect, test } from "vitest";
import { condition } from "../../src/core/condition.ts";
import { FAILURES, type FailureCode } from "../../src/core/failures.ts";
import { WHO, whoSeesTo } from "../../src/core/who.ts";

test("somebody sees to every failure, and the lab's IT to one that this release doesn't know", () => {
  for (const code of Object.keys(FAILURES)) expect(Object.keys(WHO)).toContain(whoSeesTo(code));
  expect(whoSeesTo("NEW_OF_A_LATER_RELEASE")).toBe("it");
});

test.each<[FailureCode, keyof typeof WHO]>([
  ["CONTAINER_LABEL_AMBIGUOUS", "facility"],
  ["ORDER_CONTAINER_STORED_ALREADY", "lab"],
  ["SUBMIT_FORGOTTEN_REQUEST", "lab"],
  ["SERVICE_UNAVAILABLE", "service"],
  ["SERVICE_CREDENTIALS_REFUSED", "it"],
  ["LEDGER_UNAVAILABLE", "it"],
])("to %s sees %s", (code, who) => {
  expect(whoSeesTo(code)).toBe(who);
});

test("a condition of a code has the hint of that code, and who sees to it", () => {
  const code = "CONTAINER_LABEL_AMBIGUOUS";
  const found = condition("ordersParked", code, "2 orders are parked", { code });
  expect(found).toMatchObject({
    who: "facility",
    hint: FAILURES.CONTAINER_LABEL_AMBIGUOUS.hint,
    level: "act",
  });
  expect(condition("diskFilling", "data", "the disk is full")).toMatchObject({
    who: "it",
    hint: expect.stringContaining("Free space"),
  });
});
