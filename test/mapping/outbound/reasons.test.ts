import { expect, test } from "vitest";
import { phi } from "../../../src/core/phi.ts";
import { createReplier } from "../../../src/mapping/outbound/reply-hl7.ts";
import { composeHl7 } from "../../../src/mapping/outbound/result-hl7.ts";
import { hl7Profile } from "../mapped.ts";
import { changed, ORIGINAL, outcomeOrder, refused } from "../outcomes.ts";

const reasons = { SUBJECT_MISMATCH: "andere Person", MAPPING_CODE_UNKNOWN: "unbekannt: {text}" };
const PARKED = { state: "parked", reason: { code: "SUBJECT_MISMATCH", text: "another name" } } as const;
const PROBLEMS = [{ code: "MAPPING_CODE_UNKNOWN", place: "PV1-3.4", message: 'holds "WEST"' }] as const;

/** Composes with the lab's words, and gives the lines of a segment. */
async function linesOf(outcome: Parameters<typeof composeHl7>[0], name: string) {
  const text = composeHl7(outcome, await hl7Profile({ results: { reasons } }))?.bytes.toString() ?? "";
  return text.split("\r").filter((line) => line.startsWith(name));
}

test("a result has its reason in the lab's words in ORC-16 and NTE, beside the code", async () => {
  expect((await linesOf(changed(PARKED), "NTE"))[0]).toBe("NTE|1|L|andere Person");
  expect((await linesOf(changed(PARKED), "ORC"))[0]).toContain("|SUBJECT_MISMATCH^andere Person^");
});

test("a refusal has its reasons in the lab's words in MSA and ERR", async () => {
  const [err] = await linesOf(refused(PROBLEMS), "ERR");
  expect(err).toContain('unbekannt: holds "WEST"');
});

test("so has an answer over a connection", async () => {
  const profile = await hl7Profile({ results: { reasons } });
  const message = { messageId: "m1", connector: "lims", receivedAt: new Date(0), text: phi(ORIGINAL) };
  const replier = createReplier(message, profile, { form: "plain", applicationAck: "connection" });
  const about = { outcomeId: "1", controlId: "CB1", occurredAt: new Date(0), message };
  const [reply] = replier.compose({ ...about, kind: "refused", problems: PROBLEMS }, "CL1");
  expect(reply?.toString()).toContain('unbekannt: holds "WEST"');
});

test("a reason without a code, as staff write it, stays as it is", async () => {
  const rejected = { state: "rejected", reason: { text: "no room" } } as const;
  expect((await linesOf(changed(rejected), "NTE"))[0]).toBe("NTE|1|L|no room");
});

test("a file of results has the ending that the profile names", async () => {
  const profile = await hl7Profile({ results: { suffix: ".txt" } });
  const outcome = changed(outcomeOrder());
  expect(composeHl7(outcome, profile)?.fileName).toBe("LAB-1_CB0000000005.txt");
  expect(composeHl7(outcome, await hl7Profile())?.fileName).toBe("LAB-1_CB0000000005.hl7");
});
