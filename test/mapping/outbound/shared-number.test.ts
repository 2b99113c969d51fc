import { describe, expect, test } from "vitest";
import { type CsvResultRow, csvResultRows } from "../../../src/mapping/outbound/result-csv.ts";
import { at } from "../../support/places.ts";
import { csvProfile, hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";
import { acknowledged, changed, outcomeOrder, refused, segmentsOf, waiting } from "../outcomes.ts";

const PID = "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F";
const NUMBER = "GL-003";
const TEXT = hl7Text("OML^O21^OML_O21", [
  PID,
  `ORC|NW|X-${NUMBER}^LAB||X-${NUMBER}^GROUP`,
  `OBR|1|X-${NUMBER}^LAB||CRYO-STORE^Cryogenic storage^L|||||||||||||X-${NUMBER}|AAA&${NUMBER}`,
  `SPM|1|X-${NUMBER}&LAB`,
  `SAC|X-${NUMBER}|${NUMBER}|STRAW-1`,
]);
/** The number is read without the lab's prefix, and the site's own fields carry it once more. */
const definition = {
  placerOrderNumber: { from: "ORC-2.1", as: { regex: { match: "^X-(.*)$", replace: "$1" } } },
} as const;
const shared = outcomeOrder({ placerOrderNumber: NUMBER, sharesNumber: true, numberPlace: at("ORC-2.1") });

describe("an order whose number another order has", () => {
  test("is read without the prefix that its message writes", async () => {
    expect(mapOne(await hl7Profile(definition), hl7Message(TEXT)).orders[0]?.placerOrderNumber).toBe(NUMBER);
  });

  test.each(["oru", "orm", "ssu"] as const)(
    "is sent in format %s without it, wherever the message or the site would put it",
    async (format) => {
      const fields = {
        "ORC-2": "{orderNumber}",
        "ORC-20": "no {orderNumber} of {fillerNumber}",
        "OBR-2": "{ORC-2.1}",
        "OBR-20": "{this}{OBR-19.1}",
        "SAC-2": "{orderNumber}",
      };
      const profile = await hl7Profile({ ...definition, results: { format, fields } });
      const segments = segmentsOf(changed(shared, TEXT), profile) ?? [];
      const naming = segments.filter((segment) => /^(ORC|OBR|SAC|SPM|OBX|EQU)\|/.test(segment));
      expect(naming.length).toBeGreaterThan(2);
      for (const segment of naming) expect(segment).not.toContain(NUMBER);
      expect(segments.join("\n")).toMatch(/^OBX\|.*\|CRYO-MESSAGE\^.*\|MSG-1\|/m);
      expect(segments.join("\n")).toContain("STRAW-1");
      if (format !== "ssu") expect(segments.join("\n")).toMatch(/^ORC\|\w\w\|\|R123\^CRYOBRIDGE\|/m);
      const own = segmentsOf(changed({ ...shared, sharesNumber: undefined }, TEXT), profile) ?? [];
      expect(own.join("\n")).toContain(NUMBER);
    },
  );

  test("is reported with the lab's own words for that", async () => {
    const reasons = { ORDER_NUMBER_REUSED: "Nummer doppelt" };
    const notes = async (results: Record<string, unknown>) =>
      segmentsOf(changed(shared, TEXT), await hl7Profile({ ...definition, results }))?.filter((each) =>
        each.startsWith("NTE"),
      );
    expect(await notes({ reasons })).toEqual(["NTE|1|L|Nummer doppelt"]);
    expect(await notes({})).toEqual([
      expect.stringMatching(/^NTE\|1\|L\|Another order has this order's number;/),
    ]);
  });

  test.each(["completed", "discarded", "parked", "received"] as const)(
    "is left out of the answer to its message, also when that comes again while it is %s",
    async (state) => {
      const profile = await hl7Profile(definition);
      for (const isDuplicate of [false, true]) {
        const segments = segmentsOf(acknowledged([{ ...shared, state }], TEXT, isDuplicate), profile) ?? [];
        expect(segments.filter((segment) => /^(ORC|OBR)\|/.test(segment))).toEqual([]);
      }
    },
  );

  test.each([
    ["refused", refused],
    ["waiting", waiting],
  ] as const)("is not echoed by the answer to a message that is %s", async (_kind, outcome) => {
    const problems = [
      { code: "MAPPING_FACILITY_UNKNOWN", place: at("MSH-4"), message: "is unknown" },
      {
        code: "ORDER_NUMBER_REUSED",
        place: at("message 1"),
        message: "another order with this number exists",
      },
    ] as const;
    const profile = await hl7Profile(definition);
    const segments = segmentsOf(outcome(problems, TEXT), profile) ?? [];
    expect(segments.filter((segment) => /^(ORC|OBR|SAC|SPM)\|/.test(segment))).toEqual([]);
    expect(segments.join("\n")).toMatch(/^MSA\|A[AE]\|MSG-1\|.*another order with this number exists/m);
    const others = segmentsOf(outcome(problems.slice(0, 1), TEXT), profile) ?? [];
    expect(others.join("\n")).toMatch(/^ORC\|..\|X-GL-003\^LAB\|/m);
  });

  test("stands in rows of its container and request, with where its number is", async () => {
    const profile = await csvProfile();
    const order = outcomeOrder({ ...shared, numberPlace: at("line 7, column order_number") });
    const rows = csvResultRows(changed(order), profile);
    expect(rows).toMatchObject([
      {
        order_number: "",
        container_label: "STRAW-1",
        status: "completed",
        request_id: "123",
        error: "line 7, column order_number: another order with this number exists",
      } satisfies Partial<CsvResultRow>,
    ]);
  });
});

describe("what an answer would carry as the number of an order", () => {
  const numbersOf = async (text: string, parts = {}) =>
    mapOne(await hl7Profile(parts), hl7Message(text)).echoedNumbers;
  const bad = (orc: string, obr: string) =>
    hl7Text("OML^O21^OML_O21", [PID.replace("19840229", "19849929"), orc, obr]);

  test.each([
    ["ORC-2", "ORC|NW|GL-003^LAB", "OBR|1"],
    ["OBR-2", "ORC|NW", "OBR|1|GL-003^LAB"],
    ["two that disagree", "ORC|NW|GL-003^LAB", "OBR|1|GL-004^LAB"],
    ["one with a character that is not seen", "ORC|NW|GL-003\u200b", "OBR|1"],
    ["ORC-3", "ORC|NW||GL-003", "OBR|1"],
  ])("is known of a refused message: %s", async (_words, orc, obr) => {
    expect(await numbersOf(bad(orc, obr))).toContain("GL-003");
  });

  test("is not the number of an order that a message wants something of", async () => {
    const text = hl7Text("ORM^O01", [PID.replace("19840229", "19849929"), "ORC|XO|GL-003"]);
    expect(await numbersOf(text)).toEqual([]);
  });

  test("is of no account where the message is taken", async () => {
    expect(await numbersOf(TEXT)).toBeUndefined();
  });
});
