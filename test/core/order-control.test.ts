import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CONTROLS, type ControlFacts, decideControl, isCancelling } from "../../src/core/order-control.ts";
import { isTerminal, mayMove, ORDER_STATES, TRACKED_STATES } from "../../src/core/order-state.ts";

const decideCancel = (order: ControlFacts | undefined, isOffered: boolean) =>
  decideControl("cancel", order, isOffered);

const facts = fc.record({
  state: fc.constantFrom(...ORDER_STATES),
  isAtService: fc.boolean(),
  isCalled: fc.boolean(),
  mayBeForgotten: fc.boolean(),
});

describe("a request to cancel", () => {
  test("an order that there is not is refused", () => {
    expect(decideCancel(undefined, true)).toMatchObject({
      kind: "unable",
      refusal: { code: "CANCEL_ORDER_UNKNOWN" },
    });
  });

  test.each([["received"], ["submitting"], ["parked"]] as const)(
    "is done here for a %s order of which nothing has left",
    (state) => {
      expect(decideCancel({ state, isAtService: false, isCalled: false }, false)).toEqual({
        kind: "act",
        act: "cancel",
      });
    },
  );

  test.each(["submitting", "parked"] as const)("waits while a call of a %s order is not settled", (state) => {
    expect(decideCancel({ state, isAtService: false, isCalled: true }, true)).toEqual({ kind: "wait" });
  });

  test("waits while a person looks into what the service has of a parked order", () => {
    expect(decideCancel({ state: "parked", isAtService: true, isCalled: false }, true)).toEqual({
      kind: "wait",
    });
  });

  test.each(TRACKED_STATES)(
    "is the service's to grant for a %s order, where its call is configured",
    (state) => {
      const order = { state, isAtService: true, isCalled: false };
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
      expect(decideCancel({ state, isAtService: true, isCalled: false }, true)).toMatchObject({
        kind: "unable",
        refusal: { code: "CANCEL_TOO_LATE" },
      });
    },
  );

  test("is granted again for an order that is cancelled already", () => {
    expect(decideCancel({ state: "cancelled", isAtService: true, isCalled: false }, true)).toEqual({
      kind: "done",
    });
  });

  test("never cancels here what the service may have, whatever state and configuration", () => {
    fc.assert(
      fc.property(facts, fc.boolean(), (order, isOffered) => {
        const { kind } = decideCancel(order, isOffered);
        if (kind !== "act") return;
        expect(order).toMatchObject({ isAtService: false, isCalled: false, mayBeForgotten: false });
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

const anyControl = fc.constantFrom(...CONTROLS);
const anyFacts = fc.record({
  state: fc.constantFrom(...ORDER_STATES),
  isAtService: fc.boolean(),
  isCalled: fc.boolean(),
  mayBeForgotten: fc.boolean(),
  isHeld: fc.boolean(),
  isSame: fc.boolean(),
});
const FREE = { state: "received", isAtService: false, isCalled: false } as const;

describe("a request to hold, release or change", () => {
  test.each([
    ["hold", "hold"],
    ["release", "release"],
    ["change", "change"],
    ["replace", "change"],
    ["discontinue", "cancel"],
  ] as const)("%s is done here for an order that nothing has left of", (control, act) => {
    const facts = { ...FREE, isHeld: control === "release" };
    expect(decideControl(control, facts, false)).toEqual({ kind: "act", act });
  });

  test.each([
    ["hold", { isHeld: true }],
    ["release", { isHeld: false }],
    ["change", { isSame: true }],
    ["replace", { isSame: true }],
  ] as const)("%s is granted for an order that is so already", (control, facts) => {
    expect(decideControl(control, { ...FREE, ...facts }, false)).toEqual({ kind: "done" });
  });

  test.each(["hold", "release", "change", "replace"] as const)(
    "%s is never the service's to grant, whatever call it has for cancelling",
    (control) => {
      const facts = { state: "submitted", isAtService: true, isCalled: false } as const;
      expect(decideControl(control, facts, true)).toMatchObject({
        kind: "unable",
        refusal: { code: "CONTROL_NOT_OFFERED" },
      });
    },
  );

  test.each(["hold", "release", "change", "replace"] as const)(
    "%s comes too late for an ended order",
    (control) => {
      const facts = { state: "cancelled", isAtService: false, isCalled: false } as const;
      expect(decideControl(control, facts, true)).toMatchObject({
        kind: "unable",
        refusal: {
          code: "CONTROL_TOO_LATE",
          text: expect.stringContaining("the order was cancelled before it could be"),
        },
      });
    },
  );
});

describe("any request", () => {
  test("is refused when there is no such order, under a code of its own where it would not cancel", () => {
    fc.assert(
      fc.property(anyControl, (control) => {
        const code = isCancelling(control) ? "CANCEL_ORDER_UNKNOWN" : "CONTROL_ORDER_UNKNOWN";
        expect(decideControl(control, undefined, true)).toMatchObject({ kind: "unable", refusal: { code } });
      }),
    );
  });

  test("does nothing here to an order that the service has or may have, nor to one that has ended", () => {
    fc.assert(
      fc.property(anyControl, anyFacts, fc.boolean(), (control, facts, isOffered) => {
        if (decideControl(control, facts, isOffered).kind !== "act") return;
        expect(facts).toMatchObject({ isAtService: false, isCalled: false });
        expect(facts.mayBeForgotten && control !== "release").toBe(false);
        expect(isTerminal(facts.state)).toBe(false);
      }),
    );
  });

  test("is left open only where it is to cancel, and while nobody knows what a call did", () => {
    fc.assert(
      fc.property(anyControl, anyFacts, fc.boolean(), (control, facts, isOffered) => {
        if (decideControl(control, facts, isOffered).kind !== "wait") return;
        expect(isCancelling(control)).toBe(true);
        expect(
          facts.isCalled || facts.mayBeForgotten || (facts.state === "parked" && facts.isAtService),
        ).toBe(true);
      }),
    );
  });

  test("to change an order is refused while a call is under way, to be sent again", () => {
    for (const control of ["hold", "release", "change", "replace"] as const) {
      for (const state of ["submitting", "parked"] as const) {
        expect(decideControl(control, { state, isAtService: false, isCalled: true }, true)).toMatchObject({
          kind: "unable",
          refusal: { code: "CONTROL_UNDER_WAY", text: expect.stringContaining("send the request again") },
        });
      }
    }
  });

  test("is told that it is granted only when the order is, or becomes, what was requested", () => {
    fc.assert(
      fc.property(anyControl, anyFacts, fc.boolean(), (control, facts, isOffered) => {
        if (decideControl(control, facts, isOffered).kind !== "done" || control === "status") return;
        if (isCancelling(control)) expect(facts.state).toBe("cancelled");
        if (control === "hold") expect(facts.isHeld).toBe(true);
        if (control === "release") expect(facts.isHeld).toBe(false);
        if (control === "change" || control === "replace") expect(facts.isSame).toBe(true);
      }),
    );
  });

  test("that asks how an order stands is answered at once, whatever is under way", () => {
    fc.assert(
      fc.property(anyFacts, fc.boolean(), (facts, isOffered) => {
        expect(decideControl("status", facts, isOffered)).toEqual({ kind: "done" });
      }),
    );
  });
});
