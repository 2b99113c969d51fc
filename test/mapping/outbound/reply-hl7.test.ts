import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { Problem } from "../../../src/core/failures.ts";
import type { Outcome } from "../../../src/core/outcome.ts";
import { phi } from "../../../src/core/phi.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { encodeFrame } from "../../../src/formats/hl7/mllp.ts";
import type { MessageAnswer } from "../../../src/mapping/outbound/answer-hl7.ts";
import type { ReplySettings } from "../../../src/mapping/outbound/compose-hl7.ts";
import { builtinProfiles } from "../../../src/mapping/profile/builtin.ts";
import { compileProfile } from "../../../src/mapping/profile/compile-profile.ts";
import { at } from "../../support/places.ts";
import { hl7Profile, hl7Text } from "../mapped.ts";
import {
  acknowledged,
  createReplier,
  ORIGINAL,
  type Received,
  refused,
  segmentsOf,
  waiting,
} from "../outcomes.ts";

/** Pieces of headers as hostile or broken senders write them. */
const PIECES = [
  ...["|", "^", "~", "\\", "&", "\r", "\n", "\0", "\x0b", "\x1c", "\x7f", "é", "\ud800", "\ufffd", '""'],
  ...["A", "2.5", "AL", "NE", "ACK", "MSH|^~\\&|", "PID|", "ORC|", "\\X00\\", "\\X1C0B\\", "\\F\\"],
];
const header = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 60 })
  .map((pieces) => `MSH|^~\\&|${pieces.join("")}`);
/** With a type, so that it is answered to its sender: few others have as many fields. */
const typed = fc
  .array(fc.array(fc.constantFrom(...PIECES), { maxLength: 3 }), { minLength: 6, maxLength: 20 })
  .map((fields) => fields.map((pieces) => pieces.join("")))
  .map((fields) => `MSH|^~\\&|${fields.toSpliced(6, 1, "ORM^O01").join("|")}`);
const anything = fc.oneof(header, typed, fc.string({ unit: "binary" }));

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
          : {
              ...common,
              kind,
              problems: [{ code: "HL7_NO_MSH", place: at("message 1"), message: "no MSH" }],
            };
      for (const reply of createReplier(message, profile, { form, applicationAck }).compose(answer, "CL1")) {
        encodeFrame(reply);
        const read = Hl7Message.parse(reply.toString("utf8"));
        expect(read.header.messageControlId).toMatch(/^C[AL]1$/);
      }
    }),
    { numRuns: 2_000 },
  );
});

describe("what is sent over the connection", () => {
  const PROBLEMS: Problem[] = [
    { code: "MAPPING_DATE_INVALID", place: at("message 1, PID-7"), message: "has only a year" },
  ];

  /** The segments of each reply to a message with these acknowledgement types. */
  async function replies(
    outcome: Outcome,
    {
      accept = "",
      application = "",
      ...settings
    }: Partial<Record<"accept" | "application", string>> & Partial<ReplySettings> = {},
  ): Promise<string[][]> {
    const { text, ...received }: Received = outcome.message;
    const header = `|2.5.1|||${accept}|${application}`;
    const message = { ...received, text: phi(text?.reveal().replace("|2.5.1", header) ?? "") };
    const replier = createReplier(message, await hl7Profile(), {
      form: "plain",
      applicationAck: "connection",
      ...settings,
    });
    const answer = { ...outcome, message } as MessageAnswer;
    return replier.compose(answer, "CL1").map((bytes) => bytes.toString("utf8").split("\r").slice(0, -1));
  }

  it("has the reasons in the last answer only, since an accept acknowledgement takes the message", async () => {
    const [accept, application] = await replies(refused(PROBLEMS), { accept: "AL", application: "AL" });
    expect(accept?.slice(1)).toEqual(["MSA|CA|MSG-1"]);
    expect(application?.[1]).toBe("MSA|AE|MSG-1|message 1, PID-7: has only a year");
    expect(application?.[2]).toMatch(/^ERR\|\|PID\^1\^7/);
  });

  it("has them in the accept acknowledgement where no other follows", async () => {
    const [commit] = await replies(refused(PROBLEMS), { accept: "AL", application: "NE" });
    expect(commit?.[1]).toBe("MSA|CE|MSG-1|message 1, PID-7: has only a year");
    const [reply] = await replies(waiting(PROBLEMS), { accept: "AL", application: "NE" });
    expect(reply?.[1]).toMatch(/^MSA\|CA\|MSG-1\|On hold/);
  });

  it("asks for no answer to an application acknowledgement, and says nothing of it in original mode", async () => {
    const [, application] = await replies(acknowledged(), { accept: "AL", application: "AL" });
    expect(application?.[0]?.split("|").slice(14, 16)).toEqual(["NE", "NE"]);
    const [original] = await replies(acknowledged());
    expect(original?.[0]?.split("|").slice(14, 16)).toEqual(["", ""]);
  });

  it("is nothing where an acknowledgement came, in whatever mode and however it was judged", async () => {
    const text = hl7Text("ACK^O33^ACK", ["MSA|CA|CA000001"]);
    const unknown: Problem[] = [
      { code: "MAPPING_MESSAGE_TYPE_UNSUPPORTED", place: at("message 1, MSH-9"), message: "ACK" },
    ];
    for (const [accept, application] of [
      ["", ""],
      ["AL", "AL"],
      ["NE", "AL"],
    ] as const) {
      for (const applicationAck of ["connection", "results"] as const) {
        const ways = { accept, application, applicationAck };
        expect(await replies(refused(unknown, text), ways)).toEqual([]);
        expect(await replies(acknowledged([], text), ways)).toEqual([]);
      }
    }
    expect(segmentsOf(refused(unknown, text), await hl7Profile())).toBeUndefined();
  });

  it("is an answer nevertheless where an order came with a stray MSA", async () => {
    const text = hl7Text("ORM^O01", ["MSA|AA|1", "PID|1||S-1", "ORC|NW|1"]);
    expect((await replies(acknowledged([], text)))[0]?.[1]).toBe("MSA|AA|MSG-1");
  });
});

it("an application acknowledgement among the results is itself to be acknowledged when it is accepted", async () => {
  const text = ORIGINAL.replace("|2.5.1", "|2.5.1|||AL|AL");
  const [sent] = segmentsOf(acknowledged([], text), await hl7Profile()) ?? [];
  expect(sent?.split("|").slice(14, 16)).toEqual(["AL", "NE"]);
});
