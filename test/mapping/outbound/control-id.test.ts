import { describe, expect, test } from "vitest";
import { refusalCode } from "../../../src/mapping/outbound/codes.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne, problemsOf } from "../mapped.ts";

const ORDER = [
  "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101",
  "ORC|NW|A-1",
  "OBR|1|A-1||CRYO-STORE",
  "SPM|1|S1||EMB",
];

async function mapWith(controlId: string, definition: ProfileDefinition = {}, type = "OML^O21") {
  const text = hl7Text(type, type.startsWith("ADT") ? ORDER.slice(0, 1) : ORDER);
  return mapOne(await hl7Profile(definition), hl7Message(text.replace("|MSG-1|", `|${controlId}|`)));
}

describe("a message without a control id", () => {
  test.each(["", " ", '""', "^X"])("such as %j in MSH-10 is refused with AE", async (controlId) => {
    for (const type of ["OML^O21", "ADT^A04"]) {
      const { verdict, problems } = await mapWith(controlId, {}, type);
      expect(verdict).toBe("refused");
      expect(problems).toMatchObject([
        {
          code: "MAPPING_VALUE_MISSING",
          place: "message 1, MSH-10",
          message: "is empty; a control id is expected",
          hint: expect.stringContaining("`controlId: optional` in profile test"),
        },
      ]);
      expect(refusalCode(problems)).toBe("AE");
    }
  });

  test("is refused also when its type is ignored, since an answer to it names nothing", async () => {
    const definition = { ignore: ["ADT^*"] };
    expect((await mapWith("", definition, "ADT^A08")).verdict).toBe("refused");
    expect((await mapWith("M-1", definition, "ADT^A08")).verdict).toBe("ignored");
  });

  test.each(["", " ", '""'])(
    "such as %j is taken by a profile with controlId: optional",
    async (controlId) => {
      const { verdict, messageControlId } = await mapWith(controlId, { controlId: "optional" });
      expect(verdict).toBe("accepted");
      expect(messageControlId).toBeUndefined();
    },
  );
});

test("controlId is a setting of HL7 profiles alone", async () => {
  expect(await problemsOf({ extends: "builtin/csv-orders", controlId: "optional" })).toEqual([
    "controlId: is for HL7 profiles",
  ]);
});
