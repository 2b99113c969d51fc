import fc from "fast-check";
import { expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import { encodeFrame } from "../../src/formats/hl7/mllp.ts";
import type { MessageAnswer } from "../../src/mapping/answer-hl7.ts";
import { builtinProfiles } from "../../src/mapping/builtin.ts";
import { compileProfile } from "../../src/mapping/compile-profile.ts";
import { createReplier } from "../../src/mapping/reply-hl7.ts";

/** Pieces of headers as hostile or broken senders write them. */
const PIECES = [
  ...["|", "^", "~", "\\", "&", "\r", "\n", "\0", "\x0b", "\x1c", "\x7f", "é", "\ud800", "\ufffd", '""'],
  ...["A", "2.5", "AL", "NE", "ACK", "MSH|^~\\&|", "PID|", "ORC|", "\\X00\\", "\\X1C0B\\", "\\F\\"],
];
const header = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 60 })
  .map((pieces) => `MSH|^~\\&|${pieces.join("")}`);
const anything = fc.oneof(header, fc.string({ unit: "binary" }));

test("an answer can be composed, framed and read back whatever was sent", async () => {
  const definition = builtinProfiles["builtin/hl7-orders"];
  const compiled =
    definition && (await compileProfile("builtin/hl7-orders", definition, { loadModule: async () => ({}) }));
  if (!compiled?.ok || compiled.profile.format !== "hl7")
    throw new Error("the built-in profile has mistakes");
  const { profile } = compiled;
  const forms = fc.constantFrom("plain" as const, "order" as const);
  const ways = fc.constantFrom("connection" as const, "results" as const);
  const kinds = fc.constantFrom("acknowledged" as const, "refused" as const, "waiting" as const);
  fc.assert(
    fc.property(anything, forms, ways, kinds, (text, form, applicationAck, kind) => {
      const message = { messageId: "m1", connector: "lims", receivedAt: new Date(0), text: phi(text) };
      const common = { outcomeId: "", controlId: "CA1", occurredAt: new Date(0), message };
      const answer: MessageAnswer =
        kind === "acknowledged"
          ? { ...common, kind, orders: [], isDuplicate: false }
          : { ...common, kind, problems: [{ code: "HL7_NO_MSH", place: "message 1", message: "no MSH" }] };
      for (const reply of createReplier(message, profile, { form, applicationAck }).compose(answer, "CL1")) {
        encodeFrame(reply);
        const read = Hl7Message.parse(reply.toString("utf8"));
        expect(read.header.messageControlId).toMatch(/^C[AL]1$/);
      }
    }),
    { numRuns: 2_000 },
  );
});
