import { describe, expect, it } from "vitest";
import { type AlertMoment, decideAlerts } from "../../src/alerts/watch.ts";
import type { AlertCondition } from "../../src/core/condition.ts";
import type { Alert, AlertChanges } from "../../src/ledger/alerts/alerts.ts";

const NOW = new Date("2026-11-23T12:00:00Z");
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1_000);
const RULES = {
  rules: { serviceUnreachable: { on: true, afterMs: 120_000 }, tasksOpen: { on: true, afterMs: 0 } },
  overAfterMs: 60_000,
};
const MOMENT = { now: NOW, isMaintenance: false, isFirstLook: false };
const DOWN: AlertCondition = {
  kind: "serviceUnreachable",
  about: "",
  level: "act",
  text: "it is down",
  hint: null,
};

const alert = (own: Partial<Alert> = {}): Alert => ({
  ...{ id: 1, kind: "serviceUnreachable", about: "", level: "act", text: "it is down" },
  ...{ hint: undefined, since: ago(300) },
  ...{ startedAt: undefined, announcedAt: undefined, goneSince: undefined, overAt: undefined },
  ...{ acknowledgedAt: undefined, acknowledgedBy: undefined, acknowledgedReason: undefined },
  silencedUntil: undefined,
  ...own,
});

/** What is done, by name; what is empty is left out. */
function decided(open: Alert[], conditions: AlertCondition[], moment: Partial<AlertMoment> = {}) {
  const changes = decideAlerts(open, conditions, RULES, { ...MOMENT, ...moment });
  return Object.fromEntries(
    Object.entries(changes).filter(([, some]) => some.length > 0),
  ) as Partial<AlertChanges>;
}

const STARTED = { startedAt: ago(180), announcedAt: ago(180) };

describe("an alert", () => {
  it("begins with its condition, which is waited for as long as its kind asks", () => {
    expect(decided([], [DOWN])).toEqual({ begun: [DOWN] });
    expect(decided([alert({ since: ago(119) })], [DOWN])).toEqual({});
    expect(decided([alert({ since: ago(120) })], [DOWN])).toEqual({ started: [1], announced: [1] });
  });

  it("says the most urgent of several conditions that it is for, wherever that stands", () => {
    const waiting = { ...DOWN, level: "wait", text: "it is tried again" } as const;
    for (const each of [
      [waiting, DOWN],
      [DOWN, waiting],
    ])
      expect(decided([], each)).toEqual({ begun: [DOWN] });
  });

  it("says what its condition says now, and is as urgent", () => {
    const now = { level: "look", text: "it is down for 2 of 3", hint: "Wait." } as const;
    expect(decided([alert(STARTED)], [{ ...DOWN, ...now }])).toEqual({ restated: [{ id: 1, ...now }] });
  });

  it("is announced once, however long it holds", () => {
    expect(decided([alert(STARTED)], [DOWN])).toEqual({});
  });

  it("is none where its kind is off", () => {
    expect(decided([], [{ ...DOWN, kind: "noTraffic" }])).toEqual({});
  });

  it("is one for conditions of the same kind about the same, and another for another", () => {
    const other = { ...DOWN, about: "x" };
    expect(decided([], [DOWN, { ...DOWN, text: "again" }, other])).toEqual({ begun: [DOWN, other] });
  });

  it("is over once its condition has been gone for a while, and goes on when it comes back before", () => {
    expect(decided([alert(STARTED)], [])).toEqual({ gone: [1] });
    expect(decided([alert({ ...STARTED, goneSince: ago(59) })], [])).toEqual({});
    expect(decided([alert({ ...STARTED, goneSince: ago(59) })], [DOWN])).toEqual({ back: [1] });
    expect(decided([alert({ ...STARTED, goneSince: ago(60) })], [])).toEqual({ over: [1] });
  });

  it("is forgotten when its condition was gone before it had held long enough", () => {
    expect(decided([alert({ goneSince: ago(60) })], [])).toEqual({ forgotten: [1] });
  });

  it("ends without being over when its kind is turned off", () => {
    const off = { kind: "noTraffic" } as const;
    expect(decided([alert({ ...STARTED, ...off })], [{ ...DOWN, ...off }])).toEqual({ dropped: [1] });
    expect(decided([alert(off)], [])).toEqual({ forgotten: [1] });
  });

  it("is not over because nobody looked: after a start its condition has to be gone for a while anew", () => {
    expect(decided([alert({ ...STARTED, goneSince: ago(3_600) })], [], { isFirstLook: true })).toEqual({
      gone: [1],
    });
  });

  it("that is silenced, or starts during maintenance, is announced when it still holds afterwards", () => {
    const quiet = { startedAt: ago(180) };
    expect(decided([alert({ ...quiet, silencedUntil: ago(-60) })], [DOWN])).toEqual({});
    expect(decided([alert(quiet)], [DOWN], { isMaintenance: true })).toEqual({});
    expect(decided([alert()], [DOWN], { isMaintenance: true })).toEqual({ started: [1] });
    expect(decided([alert(quiet)], [DOWN])).toEqual({ announced: [1] });
  });
});
