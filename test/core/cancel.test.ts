import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideCancel } from "../../src/core/cancel.ts";
import { isTerminal, mayMove, ORDER_STATES, TRACKED_STATES } from "../../src/core/order-state.ts";

const facts = fc.record({
  state: fc.constantFrom(...ORDER_STATES),
  isAtService: fc.boolean(),
  hasIntent: fc.boolean(),
});

describe("a wish to cancel", () => {
  test("an order that there is not is refused", () => {
    expect(decideCancel(undefined, true)).toMatchObject({
      kind: "unable",
      refusal: { code: "CANCEL_ORDER_UNKNOWN" },
    });
  });

  test.each([
    ["received", "cancel"],
    ["queued", "cancel"],
    ["submitting", "cancel"],
    ["parked", "cancel"],
  ] as const)("is done here for a %s order of which nothing has left", (state, kind) => {
    expect(decideCancel({ state, isAtService: false, hasIntent: false }, false)).toEqual({ kind });
  });

  test.each(["submitting", "parked"] as const)("waits while a call of a %s order is not settled", (state) => {
    expect(decideCancel({ state, isAtService: false, hasIntent: true }, true)).toEqual({ kind: "wait" });
  });

  test("waits while a person looks into what the service has of a parked order", () => {
    expect(decideCancel({ state: "parked", isAtService: true, hasIntent: false }, true)).toEqual({
      kind: "wait",
    });
  });

  test.each(TRACKED_STATES)(
    "is the service's to grant for a %s order, where its call is configured",
    (state) => {
      const order = { state, isAtService: true, hasIntent: false };
      expect(decideCancel(order, true)).toEqual({ kind: "call" });
      expect(decideCancel(order, false)).toMatchObject({
        kind: "unable",
        refusal: { code: "CANCEL_NOT_OFFERED" },
      });
    },
  );

  test.each(["completed", "rejected", "failed", "discarded"] as const)(
    "comes too late for a %s order",
    (state) => {
      expect(decideCancel({ state, isAtService: true, hasIntent: false }, true)).toMatchObject({
        kind: "unable",
        refusal: { code: "CANCEL_TOO_LATE" },
      });
    },
  );

  test("is granted again for an order that is cancelled already", () => {
    expect(decideCancel({ state: "cancelled", isAtService: true, hasIntent: false }, true)).toEqual({
      kind: "done",
    });
  });

  test("never cancels here what the service may have, whatever state and configuration", () => {
    fc.assert(
      fc.property(facts, fc.boolean(), (order, isOffered) => {
        const { kind } = decideCancel(order, isOffered);
        if (kind !== "cancel") return;
        expect(order).toMatchObject({ isAtService: false, hasIntent: false });
        expect(mayMove(order.state, "cancelled")).toBe(true);
      }),
    );
  });

  test("calls the service only for what it has and where the site says so, never for what a person looks into", () => {
    fc.assert(
      fc.property(facts, fc.boolean(), (order, isOffered) => {
        const { kind } = decideCancel(order, isOffered);
        if (kind !== "call") return;
        expect(isOffered && order.isAtService).toBe(true);
        expect(order.state === "parked" || isTerminal(order.state)).toBe(false);
      }),
    );
  });

  test("is decided for every order at its end, and says done for no other state than cancelled", () => {
    fc.assert(
      fc.property(facts, fc.boolean(), (order, isOffered) => {
        const { kind } = decideCancel(order, isOffered);
        if (isTerminal(order.state)) expect(["done", "unable"]).toContain(kind);
        if (kind === "done") expect(order.state).toBe("cancelled");
      }),
    );
  });
});
