import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/outcome.ts";
import { phi } from "../../../src/core/phi.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import type { Hl7Profile } from "../../../src/mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { at } from "../../support/places.ts";
import { hl7Profile, hl7Text, problemsOf } from "../mapped.ts";
import {
  acknowledged,
  changed,
  composeHl7,
  ORIGINAL,
  outcomeOrder,
  refused,
  segmentsOf,
  waiting,
} from "../outcomes.ts";

type Fields = NonNullable<NonNullable<ProfileDefinition["results"]>["fields"]>;
const profileWith = (fields: Fields, more: ProfileDefinition["results"] = {}) =>
  hl7Profile({ results: { ...more, fields } });
const segment = (segments: readonly string[] | undefined, start: string) =>
  (segments ?? []).find((text) => text.startsWith(start));

describe("a field of the profile", () => {
  test("stands in every segment that its path means, and nothing else changes", async () => {
    const before = segmentsOf(changed(), await hl7Profile());
    const after = segmentsOf(
      changed(),
      await profileWith({ "MSH-8": "SECURE", "OBX[3.1=CRYO-STORAGE]-3.1": "LOC-TANK" }),
    );
    expect(after).toEqual(
      before?.map((text) =>
        text.replace("+0000||ORU", "+0000|SECURE|ORU").replace("CRYO-STORAGE^", "LOC-TANK^"),
      ),
    );
  });

  test("may name one part of a field, and parts that were not there", async () => {
    const segments = segmentsOf(
      changed({ state: "rejected", reason: { code: "REQUEST_REJECTED", text: "No room" } }),
      await profileWith({ "ORC-16.1": "REJ", "ORC-16.3": "99LAB", "ORC-21.1.2": "x", "PID-3[2].1": "B" }),
    );
    expect(segment(segments, "ORC")?.split("|").slice(16)).toEqual([
      "REJ^No room^99LAB",
      "",
      "",
      "",
      "",
      "&x",
    ]);
    expect(segment(segments, "PID")?.split("|")[3]).toBe("MRN-4711^^^NORTH^MR~B");
  });

  test("is filled with values of the outcome, of the order and of its own container", async () => {
    const containers = ["STRAW-1", "STRAW-2"].map((label, i) => ({
      label,
      description: "",
      location: { storageName: "Tank A", cane: String(i + 7) },
    }));
    const fields = {
      "OBX[3.1=CRYO-CONTAINER]-5": "{label} in {storage}/{cane} of {orderNumber} ({fillerNumber}, {state})",
    };
    const segments = segmentsOf(changed({ containers }), await profileWith(fields));
    expect(
      segments?.filter((text) => text.includes("CRYO-CONTAINER^")).map((text) => text.split("|")[5]),
    ).toEqual([
      "STRAW-1 in Tank A/7 of LAB-1 (R123, completed)",
      "STRAW-2 in Tank A/8 of LAB-1 (R123, completed)",
    ]);
  });

  test("is filled with the place of its own container in a specimen status update too", async () => {
    const fields = { "SAC-10": "{storage}-{cane}", "OBX[3.1=CRYO-TEXT]-5": "{label}: {this}" };
    const segments = segmentsOf(changed(), await profileWith(fields, { format: "ssu" }));
    expect(segment(segments, "SAC")?.split("|")[10]).toBe("Tank A-7");
    expect(segments?.at(-1)).toContain("|STRAW-1: STRAW-1: Tank A,");
  });

  test("keeps what stands there as it is, components, repetitions and escapes included, where it names it", async () => {
    const text = ORIGINAL.replace("MRN-4711^^^NORTH^MR||Beispiel^Anna", "A^^^N&1&ISO^MR~B||O\\T\\N^Anna");
    const fields = { "PID-3": "{this}", "PID-5.1": "{this}!", "PID-3[1].4": "{this}" };
    const pid = (each: Hl7Profile) => segment(segmentsOf(changed({}, text), each), "PID");
    expect(pid(await profileWith(fields))).toBe("PID|1||A^^^N&1&ISO^MR~B||O\\T\\N!^Anna||19840229|F");
    expect(pid(await profileWith({ "PID-5": "{this}&x" }))?.split("|")[5]).toBe("O\\T\\N^Anna\\T\\x");
  });

  test("is filled with values of the message that is answered, of its own order only", async () => {
    const text = hl7Text("ORM^O01", [
      "PID|1||A",
      ...["LAB-0", "LAB-1"].flatMap((number) => [
        `ORC|NW|${number}||||||||Clerk of ${number}`,
        `OBR|1|${number}||CRYO-STORE`,
      ]),
    ]);
    const profile = await profileWith({ "ORC-10": "{ORC-10}", "ORC-19": "{MSH-10}" });
    const orc = segment(segmentsOf(changed({}, text), profile), "ORC")?.split("|");
    expect([orc?.[10], orc?.[19]]).toEqual(["Clerk of LAB-1", "MSG-1"]);
    // Which of the two orders a field of their common answer is about, nothing says.
    const answer = segmentsOf(acknowledged([], text), profile)?.filter((line) => line.startsWith("ORC"));
    expect(answer?.map((line) => line.split("|")[10])).toEqual(["", ""]);
    expect(answer?.map((line) => line.split("|")[19])).toEqual(["MSG-1", "MSG-1"]);
  });

  test("may be set for single states, and is left alone for the others", async () => {
    const profile = await profileWith({ "ORC-5": { rejected: "ZZ", acknowledged: "AK" } });
    const orc5 = (text: readonly string[] | undefined) => segment(text, "ORC")?.split("|")[5];
    expect(orc5(segmentsOf(changed({ state: "rejected" }), profile))).toBe("ZZ");
    expect(orc5(segmentsOf(acknowledged(), profile))).toBe("AK");
    expect(orc5(segmentsOf(changed({ state: "completed" }), profile))).toBe("CM");
  });

  test("is emptied by an empty text or a value that is not there, and trailing separators go", async () => {
    const profile = await profileWith({ "OBX[3.1=CRYO-STATUS]-14": "", "ORC-9": "{reason}" });
    const segments = segmentsOf(changed(), profile);
    expect(segment(segments, "OBX")).toMatch(/\|F$/);
    expect(segment(segments, "ORC")).toMatch(/\|CM$/);
  });

  test("writes braces that are written twice", async () => {
    const segments = segmentsOf(changed(), await profileWith({ "MSH-8": "{{{state}}}" }));
    expect(segments?.[0]).toContain("|{completed}|");
  });

  test("reaches refusals as well", async () => {
    const problem = { code: "MAPPING_NO_ORDER", place: at("message 1, ORC"), message: "x" } as const;
    const segments = segmentsOf(refused([problem]), await profileWith({ "MSH-8": { refused: "NO" } }));
    expect(segments?.[0]?.split("|")[7]).toBe("NO");
  });

  test("has the reason and its code in refusals, in messages that wait, and in the answer to one request", async () => {
    const profile = await hl7Profile({
      results: {
        fields: { "MSH-8": "{reasonCode}: {reason}" },
        reasons: { MAPPING_NO_ORDER: "kein Auftrag", message: "Nachricht" },
      },
    });
    const problem = { code: "MAPPING_NO_ORDER", place: at("message 1, ORC"), message: "x" } as const;
    const expected = "MAPPING_NO_ORDER: Nachricht 1, ORC: kein Auftrag; Nachricht 1, ORC: kein Auftrag";
    for (const outcome of [refused([problem, problem]), waiting([problem, problem])])
      expect(segmentsOf(outcome, profile)?.[0]?.split("|")[7]).toBe(expected);
    const refusal = { code: "CANCEL_TOO_LATE", text: "it is done" } as const;
    const one = { control: "cancel", placerOrderNumber: "LAB-1", refusal } as const;
    const { message, outcomeId, controlId, occurredAt } = acknowledged();
    const control = (answers: readonly (typeof one)[]): Outcome => ({
      ...{ message, outcomeId, controlId, occurredAt },
      kind: "control",
      answers,
    });
    expect(segmentsOf(control([one]), profile)?.[0]?.split("|")[7]).toBe("CANCEL_TOO_LATE: it is done");
    const two = [one, { ...one, placerOrderNumber: "LAB-2" }] as unknown as (typeof one)[];
    expect(segmentsOf(control(two), profile)?.[0]?.split("|")[7]).toBe(": ");
  });

  test.each([
    ["MSH-10", "x", "MSH-10 can't be changed: receivers read or match messages by it"],
    ["MSA-1", "AA", "MSA can't be changed: receivers read or match messages by it"],
    ["PID-3[5=MR].1", "x", "expected a repetition's number in brackets, such as PID-3[2]"],
    ["PID3", "x", 'path "PID3", character 4: a segment name is followed by - and a field number'],
    ["PID-3", "{", "a single {; expected {name}, or {{ for the brace itself"],
    ["PID-3", "{PID}", "{PID} is not known; expected a path such as {PV1-3.4}, or one of this, state,"],
    [
      "OBX[3.1=CRYO-STORAGE]-3.1",
      "STOR^Storage tank",
      '^ would be sent as a character, not as a separator; write a line for each component: "OBX[3.1=CRYO-STORAGE]-3.1", "OBX[3.1=CRYO-STORAGE]-3.2" and so on',
    ],
    ["PID-3", "{PID-x}", 'path "PID-x", character 5: expected a field number from 1'],
  ])("is refused with its place when it is wrong: %s as %s", async (place, text, trouble) => {
    const problems = await problemsOf({
      extends: "builtin/hl7-orders",
      results: { fields: { [place]: text } },
    });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^results\\.fields\\.${escaped(place)}: ${escaped(trouble)}`));
  });

  test("is added to those of the profile below", async () => {
    const profiles = { site: { extends: "builtin/hl7-orders", results: { fields: { "MSH-8": "A" } } } };
    expect(await problemsOf({ extends: "site", results: { fields: { "MSH-8": "B" } } }, profiles)).toEqual(
      [],
    );
    expect(await problemsOf({ extends: "builtin/csv-orders", results: { fields: {} } })).toEqual([
      "results.fields: is for HL7 profiles",
    ]);
  });
});

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

describe("whatever a field is filled with", () => {
  const anyText = fc.oneof(
    fc.string({ unit: fc.constantFrom(..."a|^~\\&\r\n\v\x1c\0#é\"'", "\\F\\", '""', "\rPID|", "{this}") }),
    fc.string({ unit: "binary" }),
  );

  test.each(["oru", "orm", "ssu"] as const)(
    "a message in format %s keeps its segments, and the value is read back as it was",
    async (format) => {
      const fields = {
        "MSH-8": "{reason}",
        "PID-5.1": "{label}{reason}",
        "OBX[3.1=CRYO-STATUS]-5": "{reason}",
        "SAC-10": "{cane}",
        "NTE-3": "{reason}",
        "EQU-3": "{ORC-3.2}",
        "ORC-12": "{ORC-3.2}",
      };
      const [plain, site] = [
        await hl7Profile({ results: { format } }),
        await profileWith(fields, { format }),
      ];
      const property = fc.property(anyText, anyText, (a, b) => {
        const order = outcomeOrder({
          subjectCode: phi(b),
          reason: { code: "REQUEST_REJECTED", text: a },
          containers: [{ label: b, description: a, location: { cane: a, position: b } }],
        });
        const text = ORIGINAL.replace(
          "ORC|NW|LAB-1^NORTHLAB|",
          `ORC|NW|LAB-1^NORTHLAB|^${b.replace(/[\r\n]/g, "")}`,
        );
        const [before, after] = [plain, site].map((profile) =>
          Hl7Message.parse(composeHl7(changed(order, text), profile)?.bytes.toString("utf8") ?? ""),
        );
        expect(after?.segments.map(({ name }) => name)).toEqual(before?.segments.map(({ name }) => name));
        expect([..."\0\v\x1c"].filter((character) => after?.toString().includes(character))).toEqual([]);
        const expected = a
          .toWellFormed()
          .replaceAll("\0", "")
          .replace(/\r\n|\r|\n/g, "\\.br\\");
        expect(after?.first("MSH")?.get(8) ?? "").toBe(expected);
        expect(after?.header.messageControlId).toBe("CB0000000005");
      });
      fc.assert(property, { numRuns: 200 });
    },
  );
});
