import { expect, test } from "vitest";
import type { OrderCall } from "../../src/ledger/orders/calls.ts";
import { describeCall } from "../../src/operator/calls.ts";

const NOON = new Date(2026, 10, 21, 12);

/** A call to cancel that is still to leave. */
const call = (given: Partial<OrderCall> = {}): OrderCall => ({
  ...{ id: 1, kind: "cancel", isPresumed: false, isPlanned: true, surface: "request", serviceId: 17 },
  ...{
    mark: "7K3M-ZQ0VX9TB4D",
    subjectId: undefined,
    since: NOON,
    knownIds: [],
    at: NOON,
    leftBy: undefined,
  },
  ...{ ageMs: 0, answer: undefined, failure: undefined, checks: 0, failedChecks: 0, goneMs: undefined },
  ...{ lookAt: NOON, isApproved: false, outcome: undefined, endedAt: undefined },
  ...given,
});

test.each<[string, Partial<OrderCall>, RegExp]>([
  ["is still to leave", {}, /^cancels request 17; leaves at 2026-11-21 12:00/],
  ["never left", { outcome: "not_sent", lookAt: undefined }, /^cancels request 17; it never left$/],
  [
    "may have left",
    { isPlanned: false },
    /^cancels request 17; no answer; the service is searched for it, next/,
  ],
  ["worked", { isPlanned: false, outcome: "made" }, /^cancels request 17; it is cancelled$/],
])("a call to cancel that %s is described as that", (_what, given, words) => {
  expect(describeCall(call(given))).toMatch(words);
});
