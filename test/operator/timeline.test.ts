import { describe, expect, it } from "vitest";
import type { OrderEvent } from "../../src/ledger/operator/views.ts";
import { describeEvent, describeStep, stagesOf, stepsOf } from "../../src/operator/timeline.ts";

describe("an entry of the timeline in words", () => {
  it.each([
    ["received", { place: "line 2" }, "came in as line 2"],
    ["submitted", { requestId: 1001 }, "submitted; the service made request 1001"],
    ["submitted", { procedureId: 2002 }, "submitted; the service made procedure 2002"],
    ["adopted", { procedureId: 2002 }, "the lost call had made procedure 2002; it is this order's"],
    [
      "again",
      { code: "SERVICE_BUSY", text: "asked to wait", attempt: 2, nextInMs: 30_000 },
      "try 2 failed: asked to wait (SERVICE_BUSY); the next follows in 30s",
    ],
    [
      "rejected",
      { code: "REQUEST_REJECTED", text: "staff rejected it" },
      "rejected: staff rejected it (REQUEST_REJECTED)",
    ],
    ["discarded", { actor: "kim", reason: "sent twice" }, "discarded by kim: sent twice"],
    [
      "resolved",
      { requestId: 1001, actor: "kim", reason: "staff found it" },
      "linked to request 1001 by kim: staff found it",
    ],
    [
      "control_asked",
      { control: "hold", by: "connector lims", messageId: "m3" },
      "to be put on hold, says connector lims by m3",
    ],
    [
      "control_refused",
      { control: "change", code: "CONTROL_TOO_LATE", text: "it was completed" },
      "not changed: it was completed (CONTROL_TOO_LATE)",
    ],
    [
      "released",
      { actor: "kim", reason: "the ward rang" },
      "not on hold any more, says kim: the ward rang; the order goes on",
    ],
    ["result_sent", { deliveryId: "d3", file: "P-1_X.hl7" }, "sent to the lab in P-1_X.hl7 (d3)"],
    [
      "check_failed",
      { text: "the list differed", code: "SERVICE_LIST_UNSTABLE" },
      "the service could not be searched for the lost call: the list differed (SERVICE_LIST_UNSTABLE); it is searched again",
    ],
    ["result_sent", { deliveryId: "d3" }, "sent to the lab over MLLP (d3)"],
  ])("%s", (kind, detail, words) => {
    expect(describeEvent({ kind, detail })).toBe(words);
  });

  it("shows an entry of a kind that it doesn't know as it stands", () => {
    expect(describeEvent({ kind: "teleported", detail: { to: "Mars" } })).toBe('teleported {"to":"Mars"}');
    expect(describeEvent({ kind: "constructor", detail: {} })).toBe("constructor");
  });
});

const START = Date.parse("2026-11-23T08:00:00Z");

/** An entry so many seconds after the start. */
function entry(seconds: number, kind: string, toState?: OrderEvent["toState"]): OrderEvent {
  return { at: new Date(START + seconds * 1_000), kind, toState, detail: {} };
}

describe("the timeline of an order", () => {
  it("has one step for entries that say the same one after the other", () => {
    const events = [entry(0, "held"), entry(1, "waits"), entry(5, "waits"), entry(6, "held")];
    const steps = stepsOf(events);
    expect(steps.map(({ times }) => times)).toEqual([1, 2, 1]);
    expect(steps.map(describeStep)[1]).toMatch(/^waits for something else \(2 times, last at .*05\)$/);
  });

  it("has the states with how long each lasted, the last one until now unless it is an end", () => {
    const events = [
      entry(0, "received", "received"),
      entry(3, "waits"),
      entry(4, "retried", "received"),
      entry(10, "submitted", "submitted"),
    ];
    const submitted = [
      { state: "received", ms: 10_000 },
      { state: "submitted", ms: 20_000 },
    ];
    expect(stagesOf(events, START + 30_000)).toEqual(submitted);
    expect(stagesOf([...events, entry(30, "completed", "completed")], START + 90_000)).toEqual([
      ...submitted,
      { state: "completed", ms: 0 },
    ]);
  });
});
