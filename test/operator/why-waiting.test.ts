import { describe, expect, it } from "vitest";
import { FAILURES } from "../../src/core/failures.ts";
import { ORDER_STATES, TERMINAL_STATES } from "../../src/core/order-state.ts";
import { phi } from "../../src/core/phi.ts";
import type { OrderCall } from "../../src/ledger/orders/calls.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { type Surroundings, whyWaiting } from "../../src/operator/why-waiting.ts";

const NOW = Date.parse("2026-11-21T10:00:00Z");
const PAUSED = { queue: "submit", since: new Date(NOW), actor: "kim", reason: "they move" };
const inMs = (ms: number) => new Date(NOW + ms);

function order(own: Partial<LedgerOrder>): LedgerOrder {
  return {
    id: 17,
    messageId: 3,
    connector: "bench",
    operation: "STORE",
    facilityCode: "NORTH",
    facilityId: 12,
    placerOrderNumber: "C-1",
    sharesNumber: false,
    isPruned: false,
    placerAuthority: undefined,
    subject: { code: phi("PAT-4711") },
    containers: [],
    sources: {},
    state: "received",
    failure: undefined,
    mark: "7K3M-ZQ0VX9TB4D",
    attempts: 0,
    nextAt: inMs(-1_000),
    fence: undefined,
    calls: [],
    surface: "request",
    subjectId: undefined,
    requestId: undefined,
    procedureId: undefined,
    procedureCode: undefined,
    remoteStatus: undefined,
    missingSince: undefined,
    locatingSince: undefined,
    heldAt: undefined,
    priorSubjectCode: undefined,
    receivedAt: inMs(-5_000),
    submittedAt: undefined,
    changedAt: inMs(-5_000),
    ...own,
  };
}

function why(own: Partial<LedgerOrder>, around: Partial<Surroundings> = {}): string | undefined {
  return both(own, around)?.full;
}

function both(own: Partial<LedgerOrder>, around: Partial<Surroundings> = {}) {
  return whyWaiting(order(own), { nowMs: NOW, isDaemonThere: true, pausedQueues: [], ...around });
}

const unreachable = { code: "SERVICE_UNREACHABLE", text: "connection refused" } as const;

/** A call that left a minute ago and is looked for in ten seconds. */
const lostCall = (given: Partial<OrderCall> = {}): OrderCall => ({
  ...{ id: 1, kind: "request", isPresumed: false, surface: "request", mark: "7K3M-ZQ0VX9TB4D" },
  ...{ subjectId: undefined, since: inMs(-60_000), knownIds: [], at: inMs(-60_000), leftBy: inMs(-60_000) },
  ...{ ageMs: 60_000, answer: undefined, failure: undefined, checks: 0, failedChecks: 0, goneMs: undefined },
  ...{
    lookAt: inMs(10_000),
    isPlanned: false,
    isApproved: false,
    outcome: undefined,
    serviceId: undefined,
    endedAt: undefined,
  },
  ...given,
});

describe("why is it waiting?", () => {
  it("says that the lab has it on hold, and how it goes on", () => {
    expect(why({ heldAt: inMs(-3_600_000) })).toMatch(
      /put it on hold 1h ago .*`cryobridge orders release o17`/,
    );
  });

  it("tells an order whose request is unknown to the service from one whose locations are looked up", () => {
    const tracked = { state: "submitted", requestId: 7 } as const;
    expect(why({ ...tracked, missingSince: inMs(-3_600_000) })).toContain("has not known its request 7");
    expect(why({ ...tracked, locatingSince: inMs(-3_600_000) })).toContain("It is done at the service");
  });

  it("has nothing to say about an order that has reached its end", () => {
    expect(TERMINAL_STATES.map((state) => why({ state }))).toEqual(TERMINAL_STATES.map(() => undefined));
  });

  it("has one sentence for every other state", () => {
    const open = ORDER_STATES.filter((state) => !(TERMINAL_STATES as readonly string[]).includes(state));
    for (const state of open) expect(why({ state, requestId: 1001 })).toMatch(/^[A-Z].*\.$/);
  });

  it("shows the reason and the hint of a parked order", () => {
    const failure = { code: "SUBJECT_UNKNOWN", text: "the service has no subject with this code" } as const;
    const sentence = why({ state: "parked", failure });
    expect(sentence).toContain(
      "waits for a person: the service has no subject with this code (SUBJECT_UNKNOWN)",
    );
    expect(sentence).toContain("Check subject code");
  });

  it("says that no daemon runs before anything else that could be said", () => {
    expect(why({ failure: unreachable, attempts: 2 }, { isDaemonThere: false })).toContain("No daemon works");
  });

  it("still says what a person has to do with a parked order while no daemon runs", () => {
    const failure = { code: "SUBJECT_UNKNOWN", text: "no such subject" } as const;
    expect(why({ state: "parked", failure }, { isDaemonThere: false })).toContain("no such subject");
  });

  it("says what its last try failed of also when the next one is due", () => {
    expect(why({ failure: unreachable, attempts: 2 })).toBe(
      "Try 2 failed: connection refused (SERVICE_UNREACHABLE); the next one is due now.",
    );
  });

  it("names the paused queue that holds it back, and only that one", () => {
    const pausedQueues = [PAUSED];
    expect(why({}, { pausedQueues })).toContain("paused by kim: they move. `cryobridge queue resume submit`");
    expect(why({ state: "submitted", requestId: 1 }, { pausedQueues })).not.toContain("resume");
  });

  it("shows the failed try and when the next one follows", () => {
    expect(why({ failure: unreachable, attempts: 3, nextAt: inMs(45_000) })).toBe(
      "Try 3 failed: connection refused (SERVICE_UNREACHABLE); the next one follows in 45s.",
    );
  });

  it("says what to change where no try gets through until then", () => {
    const failure = { code: "SERVICE_ID_TOO_LARGE", text: "an id is too large" } as const;
    const hint = FAILURES.SERVICE_ID_TOO_LARGE.hint.replace(" ID ", " o17 ");
    for (const nextAt of [inMs(45_000), inMs(-1)])
      expect(why({ failure, attempts: 3, nextAt })?.endsWith(`. ${hint}`)).toBe(true);
  });

  it("names the earlier order of the lane", () => {
    const laneHolder = { orderId: "o12", state: "submitting", isLater: false } as const;
    expect(why({}, { laneHolder })).toContain("Order o12 of the same subject (submitting) came first");
    expect(why({}, { laneHolder: { ...laneHolder, state: "parked" } })).toContain("lanes.parkedBlocks");
  });

  it("names a later order of the lane that overtook it and has a call under way", () => {
    const laneHolder = { orderId: "o18", state: "submitting", isLater: true } as const;
    const due = { nextAt: inMs(-300_000), changedAt: inMs(-300_000) };
    expect(why(due, { laneHolder })).toMatch(/^Order o18 of the same subject, which came later, was taken/);
  });

  it("names the calls that the service takes while many orders could be sent", () => {
    const due = { nextAt: inMs(-300_000), changedAt: inMs(-300_000) };
    const rush = { dueOrders: 1_200, quota: { calls: 60, windowMs: 60_000 } };
    expect(why(due, { rush })).toBe(
      "It has been due for 5m: 1200 orders are due, and the service takes at most 60 calls a minute for all of them (`cryobridge status` says how long that takes).",
    );
  });

  it("does not blame the service's quota for the few that it would take within moments", () => {
    const due = { nextAt: inMs(-300_000), changedAt: inMs(-300_000) };
    const rush = { dueOrders: 2, quota: { calls: 600, windowMs: 60_000 } };
    expect(why(due, { rush })).toContain("or the queue does not wake them");
  });

  it("says that an earlier order still moves the container when that is what it waits for", () => {
    const mover = { orderId: "o12", operation: "STORE", state: "in_progress", label: "V-1" } as const;
    const retrieval = { operation: "RETRIEVAL", nextAt: inMs(30_000) } as const;
    expect(why(retrieval, { mover: { ...mover, changedAt: inMs(-60_000) } })).toContain(
      "Order o12, which came first and is in progress, still stores its container V-1",
    );
  });

  it("doesn't say so any more once that order has ended", () => {
    const mover = { orderId: "o12", operation: "STORE", state: "completed", label: "V-1" } as const;
    const retrieval = { operation: "RETRIEVAL", nextAt: inMs(30_000) } as const;
    const stored = why(retrieval, { mover: { ...mover, changedAt: inMs(-180_000) } });
    expect(stored).toContain("Order o12 stored its container V-1 3m ago, and the service did not list");
    expect(stored).not.toContain("still");
    expect(why(retrieval)).toBe("It waits for nothing but its next try, which follows in 30s.");
  });

  it("promises nothing to any order while calls don't leave to the service", () => {
    const servicePause = { text: "connection refused (SERVICE_UNREACHABLE)", until: inMs(20_000) };
    const intent = { calls: [lostCall()], failure: unreachable };
    for (const own of [
      {},
      { state: "submitting" },
      { state: "submitting", ...intent },
      { state: "submitted", requestId: 7 },
      { failure: unreachable, attempts: 2 },
    ] as const) {
      const sentence = why(own, { servicePause });
      expect(sentence).toContain("connection refused (SERVICE_UNREACHABLE); the next try follows in 20s.");
      expect(sentence).not.toMatch(/within moments|right now|in reach/);
    }
    expect(why({}, { servicePause: { text: undefined, until: inMs(20_000) } })).toContain(
      "asked for a pause",
    );
  });

  it("puts no next try into the past", () => {
    const past = {
      nextAt: inMs(-720_000),
      state: "submitting",
      failure: unreachable,
    } as const;
    const overdue = { lookAt: inMs(-720_000) };
    const servicePause = { text: "connection refused", until: inMs(-720_000) };
    for (const call of [lostCall(overdue), lostCall({ ...overdue, answer: "refused" })]) {
      const own = { ...past, calls: [call] };
      expect(why(own)).not.toContain("ago");
      expect(why(own, { servicePause })).not.toContain("ago");
    }
  });

  it("distinguishes a moment of waiting for a worker from being kept there", () => {
    expect(why({ nextAt: inMs(-1_000), changedAt: inMs(-1_000) })).toContain("within moments");
    expect(why({ nextAt: inMs(-300_000), changedAt: inMs(-300_000) })).toContain("due for 5m");
  });

  it("says that a lost answer is searched for, how often it was, and when again", () => {
    const sentence = why({
      state: "submitting",
      failure: { code: "SERVICE_NO_ANSWER", text: "timed out" },
      calls: [lostCall({ checks: 2 })],
    });
    expect(sentence).toContain("No sure answer came to the procedure request");
    expect(sentence).toContain("2 times so far; next check in 10s");
    expect(sentence).toContain("`cryobridge orders retry o17 --not-at-service --reason TEXT`");
  });

  it("tells a search that failed from the call that is searched for", () => {
    const failure = { code: "SERVICE_LIST_UNSTABLE", text: "the list differed" } as const;
    expect(why({ state: "submitting", failure, calls: [lostCall({ failedChecks: 1 })] })).toMatch(
      /^No sure answer came to the procedure request, so .* sent again; the last check failed \(the list differed\); next check in 10s\./,
    );
  });

  it("speaks of procedures where the order goes by the external surface", () => {
    const tracked = { surface: "external", requestId: undefined, procedureId: 17 } as const;
    expect(why({ ...tracked, state: "submitted", nextAt: inMs(60_000) })).toBe(
      "The facility's staff have not acted on procedure 17 yet; the service is asked again in 1m.",
    );
    expect(why({ ...tracked, state: "accepted" }, { pausedQueues: [PAUSED] })).not.toContain("resume");
    const lost = { code: "SERVICE_NO_ANSWER", text: "timed out" } as const;
    const intent = { calls: [lostCall()], surface: "external" } as const;
    expect(why({ state: "submitting", ...intent, failure: lost })).toContain(
      "No sure answer came to the creation of the procedure",
    );
  });

  it("distinguishes waiting for staff, for the device, and for its end", () => {
    const tracked = { requestId: 1001, procedureId: 17, nextAt: inMs(60_000) };
    expect(why({ ...tracked, state: "submitted", remoteStatus: "PENDING" })).toBe(
      "The facility's staff have not decided on request 1001 yet (the service says PENDING); the service is asked again in 1m.",
    );
    expect(why({ ...tracked, state: "accepted" })).toContain("procedure 17 waits for the device");
    expect(why({ ...tracked, state: "in_progress" })).toContain("The device runs procedure 17");
  });

  it("says that a poll is overdue", () => {
    expect(why({ state: "submitted", requestId: 1, nextAt: inMs(-600_000) })).toContain("overdue by 10m");
  });
});

describe("what an order waits for, in a list", () => {
  const words = (given: Partial<LedgerOrder>, around: Partial<Surroundings> = {}) =>
    both(given, around)?.brief;
  const servicePause = { text: "connection refused", until: inMs(20_000) };

  it("is what its page says, whatever holds all orders up", () => {
    expect(words({}, { isDaemonThere: false })).toBe("no daemon works on this ledger");
    expect(words({}, { pausedQueues: [PAUSED] })).toBe("the queue submit is paused");
    expect(words({}, { isComparing: true })).toBe("the restored ledger is compared with the service first");
    expect(words({ failure: unreachable }, { servicePause })).toBe(
      "SERVICE_UNREACHABLE: connection refused; calls wait, since the service is in trouble",
    );
    expect(words({ state: "submitted", requestId: 7 }, { servicePause })).toContain("calls wait");
  });

  it("names the order that it waits for, as the page does", () => {
    const laneHolder = { orderId: "o12", state: "submitting", isLater: false } as const;
    expect(words({}, { laneHolder })).toBe("waits for o12 of the same subject");
    const mover = { orderId: "o12", operation: "STORE", state: "in_progress", label: "V-1" } as const;
    expect(words({ nextAt: inMs(30_000) }, { mover: { ...mover, changedAt: inMs(-1) } })).toBe(
      "waits for o12, which stores its container",
    );
    const rush = { dueOrders: 1_200, quota: { calls: 60, windowMs: 60_000 } };
    expect(words({}, { rush })).toBe("waits for its turn: the service takes at most 60 calls a minute");
  });

  it("has something for each state that is no end, and no time, by which equal ones would differ", () => {
    const open = ORDER_STATES.filter((state) => !(TERMINAL_STATES as readonly string[]).includes(state));
    for (const state of open)
      for (const nextAt of [inMs(45_000), inMs(-300_000)])
        expect(words({ state, requestId: 1001, nextAt })).toMatch(/^[a-z][a-z ']+$/);
  });

  it("doesn't name what holds others up where it waits for a person or the lab", () => {
    const failure = { code: "SUBJECT_UNKNOWN", text: "no such subject" } as const;
    expect(words({ state: "parked", failure }, { isDaemonThere: false })).toBe(
      "SUBJECT_UNKNOWN: no such subject",
    );
    expect(words({ heldAt: inMs(-1) }, { servicePause })).toBe("on hold by the lab");
  });

  it("is a search for its call also while its queue is paused", () => {
    const pausedQueues = [PAUSED];
    expect(words({ state: "submitting", calls: [lostCall()] }, { pausedQueues })).toBe(
      "the service is searched for its call",
    );
    expect(why({ state: "submitting", calls: [lostCall()] }, { pausedQueues })).toContain("is searched for");
  });
});
