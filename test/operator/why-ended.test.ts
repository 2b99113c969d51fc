import { expect, test } from "vitest";
import { whyEnded } from "../../src/operator/order-details.ts";

const failure = { code: "PROCEDURE_FAILED", text: "the procedure failed" } as const;

test("an order that failed says why and what to do, in the command line and the console alike", () =>
  expect(whyEnded({ failure }, { why: undefined })).toEqual({
    reason: "the procedure failed (PROCEDURE_FAILED)",
    hint: expect.stringContaining("orders retry ID"),
  }));

test("one that waits says why it waits instead, and one that went well says nothing", () => {
  expect(whyEnded({ failure }, { why: "it is on hold" })).toBeUndefined();
  expect(whyEnded({ failure: undefined }, { why: undefined })).toBeUndefined();
});
