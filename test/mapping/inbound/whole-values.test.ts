import { describe, expect, test } from "vitest";
import { placeText } from "../../../src/core/place.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { placeWith } from "../../support/places.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

/** What stands in the places of a message that makes one order. */
const VALUES = {
  code: "MRN-1",
  family: "Beispiel",
  given: "Anna",
  born: "19800101",
  facility: "NORTH",
  number: "A-1",
  operation: "CRYO-STORE",
  label: "L-1",
  specimen: "EMB^Embryo^L",
  text: "",
  observation: "",
};
type Place = keyof typeof VALUES;

const FIELDS: Readonly<Partial<Record<Place, string>>> = {
  code: "PID-3[1].1",
  family: "PID-5.1",
  given: "PID-5.2",
  born: "PID-7",
  facility: "MSH-4.1",
  number: "ORC-2.1",
  operation: "OBR-4.1",
  label: "SAC-3.1",
};

async function map(values: Partial<typeof VALUES>, definition: ProfileDefinition = {}, msh2 = "^~\\&") {
  const at = { ...VALUES, ...values };
  const text = hl7Text("OML^O21", [
    `PID|1||${at.code}^^^N&1.2.3&ISO^MR||${at.family}^${at.given}||${at.born}`,
    `ORC|NW|${at.number}`,
    `OBR|1|${at.number}||${at.operation}`,
    `NTE|1||${at.text}`,
    `OBX|1|ST|VOL||${at.observation}`,
    `SPM|1|S1&LAB||${at.specimen}||||||||||${at.text}`,
    `SAC|||${at.label}`,
  ]);
  const message = text.replace("|NORTH|", `|${at.facility}|`).replace("|^~\\&|", `|${msh2}|`);
  return mapOne(await hl7Profile(definition), hl7Message(message));
}

const describedBy = (description: ProfileDefinition["containers"]) => ({ containers: description });
const descriptionOf = async (...of: Parameters<typeof map>) => {
  const { orders, problems } = await map(...of);
  return (
    orders[0]?.containers[0]?.description ??
    problems.map(({ place, message }) => `${placeText(place)} ${message}`)
  );
};

test("the message that the tests below spoil is accepted as it is", async () => {
  const { orders } = await map({});
  expect(orders).toMatchObject([
    { placerOrderNumber: "A-1", containers: [{ label: "L-1", description: "Embryo" }] },
  ]);
});

const CODES = Object.keys(FIELDS) as (keyof typeof FIELDS)[];

describe.each(CODES)("the value of %s", (place) => {
  test.each([
    "\\.br\\",
    "\\.BR\\",
    "\\.sp2\\",
    "\\.in+4\\",
    "\\H\\",
    "\\N\\",
    "\\X0D\\",
    "\\X0D0A\\",
    "\\X000d\\",
    "\\X00d\\",
    "\\Z01\\",
    "\\C2842\\",
  ])("is refused with the formatting %s, wherever it stands", async (mark) => {
    const value = VALUES[place];
    for (const spoilt of [
      `${mark}${value}`,
      `${value}${mark}`,
      `${value.slice(0, 1)}${mark}${value.slice(1)}`,
    ]) {
      const { orders, problems } = await map({ [place]: spoilt });
      expect(orders).toEqual([]);
      expect(problems).toMatchObject([
        { code: "MAPPING_CHARACTER_INVALID", place: placeWith(FIELDS[place] ?? "") },
      ]);
    }
  });

  test("is refused when an & that nobody escaped would cut it", async () => {
    for (const spoilt of [`${VALUES[place]}&Jones`, `${VALUES[place]} & Jones`]) {
      const { orders, problems } = await map({ [place]: spoilt });
      expect(orders).toEqual([]);
      expect(problems).toMatchObject([
        { code: "MAPPING_VALUE_INVALID", message: "has several subcomponents, expected one" },
      ]);
    }
  });

  test("is refused where the sender cut it, by the truncation character that MSH-2 declares, and only there", async () => {
    const { orders, problems } = await map({ [place]: `${VALUES[place]}#` }, {}, "^~\\&#");
    expect(orders).toEqual([]);
    expect(problems).toMatchObject([
      { code: "MAPPING_VALUE_INVALID", message: expect.stringContaining("the sender cut it") },
    ]);
    expect((await map({}, {}, "^~\\&#")).verdict).toBe("accepted");
  });
});

test("a code may end with the truncation character where that is escaped, or MSH-2 declares none", async () => {
  expect((await map({ label: "L-1\\P\\" }, {}, "^~\\&#")).orders[0]?.containers[0]?.label).toBe("L-1#");
  expect((await map({ label: "L-1#" })).orders[0]?.containers[0]?.label).toBe("L-1#");
  expect((await map({ label: "L#1" }, {}, "^~\\&#")).orders[0]?.containers[0]?.label).toBe("L#1");
  expect((await map({ label: "L-1\\P\\" })).problems).toMatchObject([{ code: "MAPPING_CHARACTER_INVALID" }]);
});

test("an escaped & and an escaped backslash are what they stand for", async () => {
  const { orders } = await map({ family: "M\\T\\S", label: "A\\E\\H\\E\\B" });
  expect((await map({ label: "4\\5" })).orders[0]?.containers[0]?.label).toBe("4\\5");
  expect((await map({ label: "\\E\\R\\" })).orders[0]?.containers[0]?.label).toBe("\\R\\");
  expect(orders[0]?.subject.lastName?.reveal()).toBe("M&S");
  expect(orders[0]?.containers[0]?.label).toBe("A\\H\\B");
});

test("a family name with its prefix and own part again is the name, as the standard writes it", async () => {
  for (const family of ["van Dyke&van&Dyke", "Beispiel&von", "Jansen-de Vries&de&Vries&&Jansen"]) {
    const { orders } = await map({ family });
    expect(orders[0]?.subject.lastName?.reveal()).toBe(family.split("&")[0]);
  }
});

test("a code whose component has subcomponents by the standard is the first of them, or the one that is named", async () => {
  const { orders } = await map({}, { facility: { from: "PID-3.4", table: { N: "SOUTH" } } });
  expect(orders[0]?.facilityCode).toBe("SOUTH");
  const { orders: named } = await map({ label: "L-1&X" }, describedBy({ label: "SAC-3.1.1" }));
  expect(named[0]?.containers[0]?.label).toBe("L-1");
});

describe("free text", () => {
  const texts = ["before & after", "one^two^three", "first~second", "a&b^c~d", "&led", "^led", "~led"];

  test.each(texts)("keeps all of %j", async (text) => {
    const of = (description: string) => describedBy({ description });
    expect(await descriptionOf({ text }, of("NTE-3"))).toBe(text);
    expect(await descriptionOf({ text }, of("SPM-14"))).toBe(text);
    expect(await descriptionOf({ observation: text }, of("OBX[3.1=VOL]-5"))).toBe(text);
  });

  test("keeps an & in the text of a code, and is refused where a ~ would cut it", async () => {
    expect(await descriptionOf({ specimen: "EMB^Embryo & medium^L" })).toBe("Embryo & medium");
    expect(await descriptionOf({ specimen: "EMB^Embryo ~5 days^L" })).toEqual([
      "message 1, SPM-4 repeats, expected one value",
    ]);
  });

  test("has blanks for formatting", async () => {
    const text = "two\\.br\\straws\\.sp\\of \\H\\one\\N\\ \\T\\ all";
    const of = { description: { from: "NTE-3", as: "collapse" } } as const;
    expect(await descriptionOf({ text }, describedBy(of))).toBe("two straws of one & all");
    expect(await descriptionOf({ specimen: "EMB^Embryo\\.br\\day 5^L" })).toBe("Embryo day 5");
  });

  test("is marked where the sender cut it", async () => {
    const of = describedBy({ description: "NTE-3" });
    expect(await descriptionOf({ text: "two stra#" }, of, "^~\\&#")).toBe("two stra… (cut by the sender)");
    expect(await descriptionOf({ text: "two stra\\P\\" }, of, "^~\\&#")).toBe("two stra#");
    expect(await descriptionOf({ text: "two stra#" }, of)).toBe("two stra#");
    expect(await descriptionOf({ specimen: "EMB^Emb#^L" }, {}, "^~\\&#")).toBe("Emb… (cut by the sender)");
  });
});

test("labels in one field may still be parted by the line end that is escaped there", async () => {
  const containers = (split: string) => ({
    each: "NTE[3^=L]",
    label: { from: "NTE-3", split, as: "trim" as const },
    description: "OBR-13",
  });
  for (const [split, text] of [
    ["lines", "L-1\\X0D\\L-2"],
    ["\\.br\\", "L-1\\.br\\L-2"],
  ] as const) {
    const profile = await hl7Profile({ containers: containers(split) } as ProfileDefinition);
    const message = hl7Text("ORM^O01", [
      "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101",
      "ORC|NW|A-1",
      "OBR|1|A-1||CRYO-STORE",
      `NTE|1||${text}`,
    ]);
    const { orders } = mapOne(profile, hl7Message(message));
    expect(orders[0]?.containers.map(({ label }) => label)).toEqual(["L-1", "L-2"]);
  }
});
