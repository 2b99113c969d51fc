import { describe, expect, it } from "vitest";
import { describeEvent } from "../../src/operator/timeline.ts";

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
  ])("%s", (kind, detail, words) => {
    expect(describeEvent({ kind, detail })).toBe(words);
  });

  it("shows an entry of a kind that it doesn't know as it stands", () => {
    expect(describeEvent({ kind: "teleported", detail: { to: "Mars" } })).toBe('teleported {"to":"Mars"}');
    expect(describeEvent({ kind: "constructor", detail: {} })).toBe("constructor");
  });
});
