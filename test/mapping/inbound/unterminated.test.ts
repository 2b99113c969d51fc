import { describe, expect, test } from "vitest";
import { createMapper } from "../../../src/mapping/inbound/mapper.ts";
import { refusalCode } from "../../../src/mapping/outbound/codes.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { facilityIdByCode, hl7Message, hl7Profile, hl7Text } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const ORM = ["ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE|||||||||||SEM^^L-1"];
const OML = ["ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE", "SPM|1|S1||EMB", "SAC|||N2-CUT-LABEL"];

const MESSAGES: readonly (readonly [last: string, type: string, segments: readonly string[]])[] = [
  ["SAC", "OML^O21", [PID, ...OML]],
  ["SAC[2]", "OML^O21", [PID, ...OML, "SAC|||N2-B"]],
  ["SPM", "OML^O21", [PID, ...OML.slice(0, 3)]],
  ["OBX", "ORM^O01", [PID, ...ORM, "OBX|1|ST|CONTAINER||GL30-B-LONG"]],
  ["OBX", "ORM^O01", [PID, ...ORM, "OBX|1|ST|CONTAI"]],
  ["OBR", "ORM^O01", [PID, ...ORM]],
  ["ORC", "ORM^O01", [PID, "ORC|CA|A-1"]],
  ["PID", "ADT^A04", [PID]],
  ["PV1", "ADT^A04", [PID, "PV1|1|O|FERT^^^NORTH"]],
  ["MRG", "ADT^A40", [PID, "MRG|MRN-2^^^N^MR"]],
];

async function mapWith(
  text: string,
  unterminated?: "refuse" | "accept",
  definition: ProfileDefinition = {},
  module?: unknown,
) {
  const profile = await hl7Profile(definition, module);
  return createMapper(profile, { facilityIdByCode, unterminated }).map(hl7Message(text));
}

describe("a message whose last segment is not ended", () => {
  test.each(MESSAGES)(
    "with %s as the last one is refused with AE, wherever it was cut",
    async (last, type, segments) => {
      const whole = hl7Text(type, segments);
      const from = whole.length - (segments.at(-1)?.length ?? 0) - 1;
      expect((await mapWith(whole)).problems.filter(({ code }) => code === "HL7_UNTERMINATED")).toEqual([]);
      for (let end = whole.length - 1; end >= from + 4; end--) {
        for (const unterminated of ["refuse", "accept"] as const) {
          const { verdict, orders, controlRequests, problems } = await mapWith(
            whole.slice(0, end),
            unterminated,
          );
          expect([verdict, orders, controlRequests]).toEqual(["refused", [], undefined]);
          expect(problems).toMatchObject([{ code: "HL7_UNTERMINATED", place: `message 1, ${last}` }]);
          expect(refusalCode(problems)).toBe("AE");
        }
      }
    },
  );

  test("is refused with words, and the setting for a sender that never ends it is left to its hint", async () => {
    const { problems } = await mapWith(hl7Text("ORM^O01", [PID, ...ORM]).slice(0, -1));
    expect(problems[0]?.message).toBe(
      "the message ends inside this segment, it may be cut; expected a carriage return after it",
    );
  });

  test("is taken with unterminated: accept where no value of an order is read from that segment", async () => {
    const text = hl7Text("ORM^O01", [PID, ...ORM, "NTE|1||with car"]).slice(0, -1);
    expect((await mapWith(text, "accept")).verdict).toBe("accepted");
    expect(await mapWith(text)).toMatchObject({
      verdict: "refused",
      problems: [{ code: "HL7_UNTERMINATED", place: "message 1, NTE" }],
    });
  });

  test("is refused with a hint that names the whole cure where a value is read from that segment", async () => {
    const text = hl7Text("ORM^O01", [PID, ...ORM]).slice(0, -1);
    const [problem] = (await mapWith(text)).problems;
    expect(problem?.hint).toMatch(/`unterminated: accept` alone would not help.*put another segment last/);
  });

  test("is refused where the profile reads a value from that segment, or has a module that may", async () => {
    const text = hl7Text("ORM^O01", [PID, ...ORM, "ZCR|1|V-1"]).slice(0, -1);
    expect((await mapWith(text, "accept")).verdict).toBe("accepted");
    const subject = { code: { from: { join: ["PID-3.1", "ZCR-2"], with: "-" } } };
    expect((await mapWith(text, "accept", { subject })).problems).toMatchObject([
      { code: "HL7_UNTERMINATED", place: "message 1, ZCR" },
    ]);
    const order = (given: unknown) => given;
    expect((await mapWith(text, "accept", { module: "./m.ts" }, { order })).verdict).toBe("refused");
  });

  test.each(MESSAGES)(
    "with %s as the last one is taken as it would be with its end, where a frame shows that it is whole",
    async (_, type, segments) => {
      const text = hl7Text(type, segments);
      const order = (given: unknown) => given;
      for (const [definition, module] of [[{}], [{ module: "./m.ts" }, { order }]] as const) {
        const profile = await hl7Profile(definition, module);
        const framed = { facilityIdByCode, unterminated: "accept", isFramed: true } as const;
        const whole = createMapper(profile, framed).map(hl7Message(text));
        expect(createMapper(profile, framed).map(hl7Message(text.slice(0, -1)))).toEqual(whole);
        const { problems } = createMapper(profile, { ...framed, unterminated: "refuse" }).map(
          hl7Message(text.slice(0, -1)),
        );
        expect(problems.map(({ code, hint }) => [code, hint])).toEqual([["HL7_UNTERMINATED", undefined]]);
      }
    },
  );

  test("is refused when its type is ignored, too, but not when it acknowledges one of ours", async () => {
    const update = hl7Text("ADT^A08", [PID]).slice(0, -1);
    expect((await mapWith(update, "refuse", { ignore: ["ADT^*"] })).verdict).toBe("refused");
    expect((await mapWith(hl7Text("ACK^O33", ["MSA|AA|CA1"]).slice(0, -1))).verdict).toBe("ignored");
  });

  test.each(["\r", "\n", "\r\n", "\r\r", "\n\n"])("is none where it is ended with %j", async (end) => {
    const text = hl7Text("ORM^O01", [PID, ...ORM]).slice(0, -1) + end;
    expect((await mapWith(text)).verdict).toBe("accepted");
  });
});

test("a message that was cut, with another one put right after it, is refused and gives no label", async () => {
  const next = hl7Text("ORM^O01", [PID, ...ORM]);
  const { verdict, orders, problems } = await mapWith(hl7Text("OML^O21", [PID, ...OML]).slice(0, -4) + next);
  expect([verdict, orders]).toEqual(["refused", []]);
  expect(problems).toMatchObject([
    {
      code: "HL7_SECOND_HEADER",
      message: "line 6 of the message: MSH inside a segment that was cut before it",
    },
  ]);
});
