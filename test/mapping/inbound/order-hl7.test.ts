import { describe, expect, test } from "vitest";
import { placeText } from "../../../src/core/place.ts";
import { createMapper } from "../../../src/mapping/inbound/mapper.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { facilityIdByCode, hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const OBR = "OBR|1|A-1||CRYO-STORE|||||||||||SEM^^L-1";

async function map(
  type: string,
  segments: readonly string[],
  definition: ProfileDefinition = {},
  version?: string,
) {
  return mapOne(await hl7Profile(definition), hl7Message(hl7Text(type, segments, version)));
}

describe("an HL7 message", () => {
  test("falls back to OBR-2 when ORC-2 is empty", async () => {
    const { orders } = await map("ORM^O01", [PID, "ORC|NW", OBR]);
    expect(orders[0]?.placerOrderNumber).toEqual("A-1");
    expect(orders[0]?.sources.placerOrderNumber).toEqual("OBR-2.1");
  });

  test("may number its lines in OBR-2 where the profile reads ORC-2 alone", async () => {
    const segments = [PID, "ORC|NW|A", "OBR|1|A-1||CRYO-STORE|||||||||||^^L-1"];
    const { orders } = await map("ORM^O01", segments, { placerOrderNumber: "ORC-2.1" });
    expect(orders[0]?.placerOrderNumber).toEqual("A");
  });

  test("is refused in words and not by the pattern that a value does not match, which the operator gets", async () => {
    const regex = { match: "^MRN-(\\d{4})$", replace: "$1" };
    const segments = [PID, "ORC|NW|A-1", OBR];
    const problemOf = async (more: { expected?: string }) => {
      const code = { from: "PID-3.1", as: { regex: { ...regex, ...more } } };
      return (await map("ORM^O01", segments, { subject: { code } })).problems;
    };
    expect(await problemOf({ expected: "MRN- and four digits" })).toEqual([
      {
        code: "MAPPING_VALUE_INVALID",
        place: "message 1, PID-3.1",
        message: "does not have the expected form: MRN- and four digits",
        expected: ["MRN- and four digits"],
        hint: "Correct the value at the place that is named, or the pattern ^MRN-(\\d{4})$ under `as` of subject.code in the profile. A running daemon takes a changed setting over by `cryobridge reload`.",
      },
    ]);
    const [plain] = await problemOf({});
    expect(plain?.message).toBe("does not have the expected form");
  });

  test("chooses a repetition of PID-3 by assigning authority and type", async () => {
    const pid = "PID|1||M-1^^^NORTH^MR~M-2^^^SOUTH^MR||Beispiel^Anna";
    const code = "PID-3[4.1=SOUTH&5=MR].1";
    const { orders } = await map("ORM^O01", [pid, "ORC|NW|A-1", OBR], { subject: { code } });
    expect(orders[0]?.subject.code.reveal()).toBe("M-2");
    expect(orders[0]?.sources["subject.code"]).toEqual("PID-3[2].1");
  });

  test("has a hint with the kinds of its identifiers, and with no number that stands in their place", async () => {
    const hintOf = async (authority: string) => {
      const pid = `PID|1||1^^^${authority}^XX~2^^^NORTH^YY||Beispiel^Anna`;
      const { problems } = await map("ORM^O01", [pid, "ORC|NW|A-1", OBR]);
      return problems.find(({ code }) => code === "MAPPING_SUBJECT_AMBIGUOUS")?.hint;
    };
    expect(await hintOf("LAB")).toContain("4.1=LAB");
    expect(await hintOf("19800101-1234")).not.toContain("1980");
  });

  test("is mapped although a second record number repeats the first", async () => {
    const pid = "PID|1||M-1^^^NORTH^MR~M-1^^^SOUTH^MR||Beispiel^Anna";
    const { verdict } = await map("ORM^O01", [pid, "ORC|NW|A-1", OBR]);
    expect(verdict).toBe("accepted");
  });

  test("never reads another order's segments", async () => {
    const segments = [
      PID,
      "ORC|NW|A-1",
      "OBR|1|A-1|||||||||||||||^^L-1",
      "ORC|NW|A-2",
      OBR.replace("A-1", "A-2"),
    ];
    const { problems } = await map("ORM^O01", segments);
    expect(problems.map(({ place, code }) => `${code} ${placeText(place)}`)).toEqual([
      "MAPPING_VALUE_MISSING message 1, order A-1 (ORC), OBR-4.1",
    ]);
  });

  test("with one number of two assigning authorities is refused, since those are two orders", async () => {
    const order = (namespace: string, label: string) => [
      `ORC|NW|1^${namespace}`,
      `OBR|1|1^${namespace}||CRYO-STORE`,
      `SPM|1|${label}||SEM`,
    ];
    const { problems } = await map("OML^O21", [PID, ...order("EAST", "V1"), ...order("WEST", "V2")]);
    expect(problems).toMatchObject([
      { code: "MAPPING_VALUES_DISAGREE", place: "message 1, ORC-2.2 and ORC[2]-2.2" },
    ]);
    const { orders } = await map("OML^O21", [PID, ...order("EAST", "V1"), ...order("", "V2")]);
    expect(orders.map(({ containers }) => containers.length)).toEqual([2]);
  });

  test("with one number in ever another writing of its authority is refused, and two authorities are not claimed", async () => {
    const orders = (count: number) =>
      Array.from({ length: count }, (_, n) => [
        `ORC|NW|1^LAB^U${n}^T${n}`,
        `OBR|${n + 1}|1||CRYO-STORE`,
        `SPM|1|V${n}||SEM`,
      ]).flat();
    expect((await map("OML^O21", [PID, ...orders(20)])).problems).toEqual([]);
    expect((await map("OML^O21", [PID, ...orders(21)])).problems).toMatchObject([
      {
        code: "MAPPING_VALUES_DISAGREE",
        message: "one order number with its assigning authority in more than 20 writings, expected one",
      },
    ]);
  });

  test.each(["CA", "DC", "RP", "CM", "ER"])(
    "with the status %s of an order that has ended asks for no new one",
    async (status) => {
      for (const control of ["", "NW"]) {
        const { problems } = await map("ORM^O01", [PID, `ORC|${control}|A-1|||${status}`, OBR]);
        expect(problems).toMatchObject([
          { code: "MAPPING_ORDER_CONTROL_UNSUPPORTED", place: "message 1, ORC-5" },
        ]);
      }
    },
  );

  test("may have the status of an order that goes on", async () => {
    expect((await map("ORM^O01", [PID, "ORC|NW|A-1|||IP", OBR])).verdict).toBe("accepted");
  });

  test.each(["F", "C", "X"])(
    "with the status %s of results that were reported is a copy of a report, and orders nothing again",
    async (status) => {
      const reported = `${OBR}${"|".repeat(10)}${status}`;
      for (const orc of [["ORC|NW|A-1"], ["ORC||A-1"], []]) {
        const { verdict, problems } = await map("ORM^O01", [PID, ...orc, reported]);
        expect(verdict).toBe("refused");
        expect(problems).toMatchObject([
          { code: "MAPPING_ORDER_CONTROL_UNSUPPORTED", place: "message 1, OBR-25" },
        ]);
      }
    },
  );

  test("may have results on the way, and change or cancel an order that was reported on", async () => {
    const withStatus = (status: string) => `${OBR}${"|".repeat(10)}${status}`;
    for (const status of ["O", "I", "S", "P"])
      expect((await map("ORM^O01", [PID, "ORC|NW|A-1", withStatus(status)])).verdict).toBe("accepted");
    for (const control of ["XO", "CA"])
      expect((await map("ORM^O01", [PID, `ORC|${control}|A-1`, withStatus("F")])).problems).toEqual([]);
  });

  test.each([
    ["the first name", 'Beispiel^""||19800101', "PID-5.2"],
    ["the birth date", 'Beispiel^Anna||""', "PID-7"],
    ["the birth date, with a blank after it", 'Beispiel^Anna||"" ', "PID-7"],
  ])("that updates a patient is refused when it deletes %s", async (_, fields, place) => {
    const { problems } = await map("ADT^A08", [`PID|1||MRN-1^^^N^MR||${fields}`]);
    expect(problems).toMatchObject([{ code: "MAPPING_VALUE_INVALID", place: `message 1, ${place}` }]);
  });

  test('has no subject code where PID-3 says "" (delete), with or without a blank', async () => {
    for (const deleted of ['""', '"" ']) {
      const { problems } = await map("ORM^O01", [`PID|1||${deleted}||Beispiel^Anna`, "ORC|NW|A-1", OBR]);
      expect(problems).toMatchObject([{ code: "MAPPING_VALUE_MISSING", place: "message 1, PID-3.1" }]);
    }
  });

  test("with a specimen that has no container where the profile counts SACs is refused, not cut short", async () => {
    const segments = [PID, "ORC|NW|A", "OBR|1|||CRYO-STORE", "SPM|1|S-1||SEM", "SAC|||V-1", "SPM|2|S-2||SEM"];
    const { problems } = await map("OML^O21", segments, { containers: { each: "SAC" } });
    expect(problems).toEqual([
      {
        code: "MAPPING_NO_CONTAINER",
        place: "message 1, SPM[2]",
        message: "has no SAC of its own, expected the container's label there",
      },
    ]);
  });

  test("counts containers once where OML^O33 repeats an order below one specimen", async () => {
    const segments = [
      PID,
      "SPM|1|S-1||SEM",
      "SAC|||V-1",
      "ORC|NW|A",
      "OBR|1|||CRYO-STORE",
      "ORC|NW|A",
      "OBR|2|||CRYO-STORE",
    ];
    const { orders } = await map("OML^O33", segments);
    expect(orders.map(({ containers }) => containers.map(({ label }) => label))).toEqual([["V-1"]]);
  });

  test("puts specimens of one order number together in OML^O33", async () => {
    const segments = ["S-1", "S-2"].flatMap((id) => [`SPM|1|${id}||SEM`, "ORC|NW|A", "OBR|1|||CRYO-STORE"]);
    const { orders } = await map("OML^O33", [PID, ...segments]);
    expect(orders.map(({ containers }) => containers.map(({ label }) => label))).toEqual([["S-1", "S-2"]]);
  });

  test("is refused for a code that only the second OBR of an ORC has", async () => {
    const segments = [PID, "ORC|NW|A-1", OBR, "OBR|2|A-1||NOPE|||||||||||^^L-2"];
    const { problems } = await map("ORM^O01", segments);
    expect(problems).toEqual([
      expect.objectContaining({ code: "MAPPING_OPERATION_UNKNOWN", place: "message 1, OBR[2]-4.1" }),
    ]);
  });

  test("that acknowledges one of ours is no mistaken order, but one with a stray MSA is an order", async () => {
    expect(await map("ACK^O33", ["MSA|AA|CA1"])).toMatchObject({ verdict: "ignored", problems: [] });
    expect(await map("ORR^O02", ["MSA|AA|CA1"])).toMatchObject({ verdict: "ignored", problems: [] });
    expect(await map("ACK^O33", [])).toMatchObject({ verdict: "refused" });
    expect(await map("ORM^O01", ["MSA|AA|CA1", PID, "ORC|NW", OBR])).toMatchObject({ verdict: "accepted" });
  });

  test("that can't be taken apart is refused with the segment's place, for ERR", async () => {
    const { problems } = await map("OML^O33", [PID, "SPM|1", "ORC|NW|A", "SAC|||V1"]);
    expect(problems).toMatchObject([{ code: "HL7_STRUCTURE", place: "message 1, SAC" }]);
    const continued = await map("ORM^O01", [PID, "ORC|NW", OBR, "DSC|more|F"]);
    expect(continued.problems).toMatchObject([{ code: "HL7_CONTINUED", place: "message 1, DSC" }]);
  });

  test("of a type that the profile ignores is ignored, whatever else it holds", async () => {
    const mapped = await map("ADT^A08", [], { ignore: ["ADT^*"] }, "9.9");
    expect(mapped).toMatchObject({ verdict: "ignored", orders: [], problems: [] });
  });

  test("that may register is not taken unless it is accepted too", async () => {
    const mapped = await map("ADT^A04", [PID], { accept: ["ORM^O01"] });
    expect(mapped.problems[0]?.code).toBe("MAPPING_MESSAGE_TYPE_UNSUPPORTED");
  });

  test.each(["2.3", "2.3.1", "2.4", "2.5.1", "2.6", "2.7.1", "2.8.2"])(
    "of version %s is taken",
    async (version) => {
      expect((await map("ORM^O01", [PID, "ORC|NW|A-1", OBR], {}, version)).verdict).toBe("accepted");
    },
  );

  test.each(["2.2", "2.1", "2.9", "2.30", "3.0", ""])("of version '%s' is refused", async (version) => {
    const { problems } = await map("ORM^O01", [PID, "ORC|NW|A-1", OBR], {}, version);
    expect(problems.map(({ code }) => code)).toEqual(["MAPPING_VERSION_UNSUPPORTED"]);
  });

  test("for training is refused by a production instance, and the profile's own word goes before the instance's", async () => {
    const profile = await hl7Profile();
    const training = hl7Text("ORM^O01", [PID, "ORC|NW|A-1", OBR]).replace("|MSG-1|P|", "|MSG-1|T|");
    const production = createMapper(profile, { facilityIdByCode, processingId: "P" });
    expect(production.map(hl7Message(training)).problems).toEqual([
      {
        code: "MAPPING_PROCESSING_ID",
        place: "message 1, MSH-11",
        message: 'holds "T", expected P',
        expected: ["P"],
        hint: expect.stringContaining("set `processingId: T`"),
      },
    ]);
    const lenient = createMapper(await hl7Profile({ processingId: "T" }), {
      facilityIdByCode,
      processingId: "P",
    });
    expect(lenient.map(hl7Message(training)).verdict).toBe("accepted");
  });

  test.each([
    ["A", "archive"],
    ["R", "restore from archive"],
    ["I", "initial load"],
  ])("in the processing mode %s (%s) is refused, whatever it orders", async (mode, words) => {
    const profile = await hl7Profile();
    const types: [string, string[]][] = [
      ["ORM^O01", [PID, "ORC|NW|A-1", OBR]],
      ["ORM^O01", [PID, "ORC|CA|A-1", OBR]],
      ["ADT^A28", [PID]],
    ];
    for (const [type, segments] of types) {
      const message = hl7Message(hl7Text(type, segments).replace("|MSG-1|P|", `|MSG-1|P^${mode}|`));
      const mapped = mapOne(profile, message);
      expect([mapped.verdict, mapped.orders, mapped.controlRequests ?? []]).toEqual(["refused", [], []]);
      expect(mapped.problems).toEqual([
        {
          code: "MAPPING_PROCESSING_MODE",
          place: "message 1, MSH-11.2",
          message: `holds "${mode}" (${words}); what was ordered once is not done again`,
          hint: expect.stringContaining(`set \`processingModes: [${mode}]\``),
        },
      ]);
    }
  });

  test("in a processing mode that the profile takes, or that means current processing, is taken", async () => {
    const inMode = (mode: string) =>
      hl7Message(hl7Text("ADT^A28", [PID]).replace("|MSG-1|P|", `|MSG-1|P^${mode}|`));
    const initialLoad = await hl7Profile({ processingModes: ["I"] });
    expect(mapOne(initialLoad, inMode("I")).verdict).toBe("accepted");
    expect(mapOne(initialLoad, inMode("A")).verdict).toBe("refused");
    // T is "current processing", and what no table knows says nothing against it.
    for (const mode of ["T", "", "P"])
      expect(mapOne(await hl7Profile(), inMode(mode)).verdict).toBe("accepted");
  });

  test.each(["SN", "NA", "RO", "PA", "XX"])("with ORC-1 %s is refused and says so", async (control) => {
    const { problems } = await map("ORM^O01", [PID, `ORC|${control}|A-1`, OBR]);
    expect(problems).toEqual([
      expect.objectContaining({ code: "MAPPING_ORDER_CONTROL_UNSUPPORTED", place: "message 1, ORC-1" }),
    ]);
  });

  test("that is no message at all is refused with the reader's own words", async () => {
    const mapped = mapOne(await hl7Profile(), hl7Message("hello"));
    expect(mapped).toMatchObject({
      verdict: "refused",
      problems: [{ code: "HL7_NO_MSH", place: "message 1" }],
    });
    expect(mapped.messageType).toBeUndefined();
  });

  test("gives its control id, type and sender even when it is refused", async () => {
    const { messageControlId, messageType, sender } = await map("SIU^S12", []);
    expect([messageControlId, messageType, sender]).toEqual(["MSG-1", "SIU^S12", "LIMS^NORTH"]);
  });

  test("is refused without any of the patient's values in the words", async () => {
    const pid =
      "PID|1||CanaryCode^^^A^XX~CanaryOther^^^B^YY||CanaryLast^CanaryFirst~CanaryBorn^^^^^^L||18990230";
    const { problems } = await map("ORM^O01", [pid, "ORC|NW|A-1", "OBR|1|A-2||NOPE|||||||||||^^L"]);
    expect(problems.length).toBeGreaterThan(3);
    expect(JSON.stringify(problems)).not.toMatch(/Canary|1899/);
  });
});
