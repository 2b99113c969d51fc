import { expect, test } from "vitest";
import { createMapper } from "../../../src/mapping/inbound/mapper.ts";
import {
  csvMessage,
  csvProfile,
  facilityIdByCode,
  hl7Message,
  hl7Profile,
  hl7Text,
  mapOne,
} from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";

const hl7Of = (count: number, control = "NW") =>
  hl7Message(
    hl7Text("OML^O21", [
      PID,
      `ORC|${control}|A-1`,
      "OBR|1|A-1||CRYO-STORE",
      "SPM|1|S1||EMB",
      ...Array.from({ length: count }, (_, n) => `SAC|||V-${n}`),
    ]),
  );

const csvOf = (count: number) =>
  csvMessage(
    Array.from({ length: count }, (_, n) => ({
      order_number: "A-1",
      operation: "STORE",
      facility: "NORTH",
      subject_code: "MRN-1",
      container_label: `V-${n}`,
    })),
  );

test("an order may have 500 labels, and one with more is refused with words and their number", async () => {
  expect(mapOne(await hl7Profile(), hl7Of(500)).orders[0]?.containers).toHaveLength(500);
  expect(mapOne(await csvProfile(), csvOf(500)).orders[0]?.containers).toHaveLength(500);
  for (const [mapped, place] of [
    [mapOne(await hl7Profile(), hl7Of(501)), "message 1, ORC"],
    [mapOne(await csvProfile(), csvOf(501)), "column container_label"],
  ] as const) {
    expect(mapped.verdict).toBe("refused");
    expect(mapped.orders).toEqual([]);
    expect(mapped.problems).toEqual([
      {
        code: "MAPPING_TOO_MANY_LABELS",
        place,
        message: "the order has 501 labels, expected at most 500",
        expected: ["500"],
      },
    ]);
  }
});

test("a change of an order may not bring more labels either", async () => {
  expect(mapOne(await hl7Profile(), hl7Of(501, "XO")).problems).toMatchObject([
    { code: "MAPPING_TOO_MANY_LABELS" },
  ]);
});

test("a registration whose rows name too many is refused too", async () => {
  const rows = Array.from({ length: 501 }, (_, n) => ({
    order_number: "",
    operation: "REGISTER",
    facility: "NORTH",
    subject_code: "MRN-1",
    first_name: "Anna",
    last_name: "Beispiel",
    date_of_birth: "1980-01-01",
    container_label: `V-${n}`,
  }));
  expect(mapOne(await csvProfile(), csvMessage(rows)).problems).toMatchObject([
    { code: "MAPPING_TOO_MANY_LABELS" },
  ]);
});

test("the site may set another number", async () => {
  const mapper = createMapper(await hl7Profile(), { facilityIdByCode, labelsPerOrder: 2 });
  expect(mapper.map(hl7Of(2)).verdict).toBe("accepted");
  expect(mapper.map(hl7Of(3)).problems).toMatchObject([{ code: "MAPPING_TOO_MANY_LABELS" }]);
});
