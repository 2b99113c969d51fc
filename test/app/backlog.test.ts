import { expect, test } from "vitest";
import { estimateBacklog } from "../../src/app/call-use.ts";
import { ORDER_STATES, type OrderState } from "../../src/core/order-state.ts";

const NONE = Object.fromEntries(ORDER_STATES.map((state) => [state, 0])) as Record<OrderState, number>;
const USE = {
  submitting: { calls: 288, orders: 96 },
  locating: { calls: 196, orders: 96 },
  otherPerMinute: 6,
};
const LIMIT = {
  quota: { calls: 60, windowMs: 60_000, source: "set" },
  ...{ mostPerMinute: 59, sharedBy: 1, busyForMs: 0 },
} as const;
const minute = (calls: number, refused = 0) => ({ calls, refused, byPurpose: new Map() });

const estimate = (
  states: Partial<Record<OrderState, number>>,
  { use = USE, limit = {}, lastMinute = minute(0) } = {},
) => estimateBacklog({ byState: { ...NONE, ...states } }, use, { limit: { ...LIMIT, ...limit }, lastMinute });

test("a backlog is the calls that orders take as measured, over the rate that is left for them", () => {
  expect(estimate({ received: 80, submitting: 20, submitted: 50 })).toEqual({
    ...{ orders: 100, callsPerOrder: 5, calls: 600, seconds: Math.round((600 / 53) * 60) },
  });
});

test("there is none while no order waits to be sent", () => {
  expect(estimate({ submitted: 10, parked: 3 })).toBeUndefined();
});

test("before any order was measured, it takes as many calls as orders usually do", () => {
  const none = { calls: 0, orders: 0 };
  const use = { submitting: none, locating: none, otherPerMinute: 0 };
  expect(estimate({ received: 10 }, { use })).toMatchObject({ callsPerOrder: 4, calls: 40 });
});

test("a service that is slower than its limit is counted with what it took in a whole minute of work", () => {
  const states = { received: 100 };
  const slow = { limit: { busyForMs: 60_000, sharedBy: 2 }, lastMinute: minute(15) };
  expect(estimate(states, slow)?.seconds).toBe(Math.round((500 / (30 - 12)) * 60));
  const refusing = { limit: { busyForMs: 60_000 }, lastMinute: minute(15, 3) };
  expect(estimate(states, refusing)).toEqual(estimate(states));
});

test("what is for no single order never takes all of the rate", () => {
  const use = { ...USE, otherPerMinute: 100 };
  expect(estimate({ received: 100 }, { use })?.seconds).toBe(Math.round((500 / (59 * 0.2)) * 60));
});
