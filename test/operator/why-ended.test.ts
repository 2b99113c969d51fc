import { expect, test } from "vitest";
import { whyEnded } from "../../src/operator/order-details.ts";

const failure = { code: "PROCEDURE_FAILED", text: "the procedure failed" } as const;

test("an order that failed says why and what to do, in the command line and the console alike", () =>
  expect(whyEnded({ id: 17, failure }, { why: undefined, events: [], tasks: [] })).toEqual({
    reason: "the procedure failed (PROCEDURE_FAILED)",
    hint: expect.stringContaining("orders retry o17"),
  }));

test("an order that was discarded says by whom and why", () => {
  const discarded = { code: "ORDER_DISCARDED", text: "discarded by an operator" } as const;
  const detail = { actor: "kim", reason: "sent twice by the lab" };
  const events = [
    { at: new Date(0), kind: "discarded", fromState: "parked", toState: "discarded", detail },
  ] as const;
  expect(whyEnded({ id: 17, failure: discarded }, { why: undefined, events, tasks: [] })?.hint).toBe(
    "discarded by kim: sent twice by the lab",
  );
});

test("one that waits says why it waits instead, and one that went well says nothing", () => {
  expect(whyEnded({ id: 17, failure }, { why: "it is on hold", events: [], tasks: [] })).toBeUndefined();
  expect(whyEnded({ id: 17, failure: undefined }, { why: undefined, events: [], tasks: [] })).toBeUndefined();
});
