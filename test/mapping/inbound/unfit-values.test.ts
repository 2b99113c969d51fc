import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MappedMessage } from "../../../src/core/mapped-message.ts";
import { Phi } from "../../../src/core/phi.ts";
import { placeText } from "../../../src/core/place.ts";
import type { ModuleOrder } from "../../../src/mapping/profile/module.ts";
import { csvMessage, csvProfile, hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

/** A message with a value put into each place that something is read from. */
interface Places {
  readonly controlId?: string;
  readonly facility?: string;
  readonly code?: string;
  readonly family?: string;
  readonly given?: string;
  readonly number?: string;
  readonly label?: string;
  readonly description?: string;
}

function textWith(places: Places): string {
  const {
    controlId = "MSG-1",
    facility = "NORTH",
    code = "MRN-1",
    family = "Beispiel",
    given = "Anna",
  } = places;
  const { number = "A-1", label = "L-1", description = "SEM" } = places;
  return hl7Text("ORM^O01", [
    `PID|1||${code}^^^N^MR||${family}^${given}||19800101`,
    "PV1|1|O|",
    `ORC|NW|${number}`,
    `OBR|1|${number}||CRYO-STORE|||||||||||${description}^^${label}`,
  ])
    .replace("|NORTH|", `|${facility}|`)
    .replace("|MSG-1|", `|${controlId}|`);
}

const profile = await hl7Profile({ containers: { description: { from: "OBR-15.1", as: "trim" } } });
const map = (places: Places) => mapOne(profile, hl7Message(textWith(places)));
const codesOf = ({ problems }: MappedMessage) =>
  problems.map(({ code, place }) => `${code} ${placeText(place)}`);

test("the message that the tests below spoil is accepted as it is", () => {
  expect(map({})).toMatchObject({
    verdict: "accepted",
    orders: [{ placerOrderNumber: "A-1", containers: [{ label: "L-1", description: "SEM" }] }],
  });
});

describe("a value that no ledger can keep", () => {
  test.each([
    ["controlId", "MSH-10"],
    ["facility", "MSH-4.1"],
    ["code", "PID-3[1].1"],
    ["family", "PID-5.1"],
    ["given", "PID-5.2"],
    ["number", "ORC-2.1"],
    ["label", "OBR-15.3"],
    ["description", "OBR-15.1"],
  ] as const)("is refused when %s holds an escaped NUL, which %s is named for", (place, field) => {
    const mapped = map({ [place]: "X\\X00\\Y" });
    expect(codesOf(mapped)).toEqual([`MAPPING_CHARACTER_INVALID message 1, ${field}`]);
    expect(mapped.problems[0]?.message).not.toMatch(/X.?Y/);
  });

  test.each(["\\X1B\\", "\\X0D\\", "\\X09\\", "\u0085"])(
    "is refused when a code holds the control character %j",
    (control) => {
      for (const place of ["controlId", "code", "number", "label"] as const) {
        expect(codesOf(map({ [place]: `X${control}Y` }))).toEqual([
          expect.stringContaining("MAPPING_CHARACTER_INVALID"),
        ]);
      }
    },
  );

  test("may hold line ends where it is no code", () => {
    const { orders } = map({ description: "two\\X0D0A\\straws" });
    expect(orders[0]?.containers[0]?.description).toBe("two\r\nstraws");
  });

  test.each([
    ["controlId", 201, "MSH-10"],
    ["code", 201, "PID-3[1].1"],
    ["family", 201, "PID-5.1"],
    ["number", 201, "ORC-2.1"],
    ["label", 201, "OBR-15.3"],
    ["description", 2001, "OBR-15.1"],
  ] as const)("is refused when %s has %d characters", (place, length, field) => {
    expect(codesOf(map({ [place]: "x".repeat(length) }))).toEqual([
      `MAPPING_VALUE_TOO_LONG message 1, ${field}`,
    ]);
    const word = "😀";
    expect(map({ [place]: word.repeat(length - 1) }).verdict).toBe("accepted");
  });

  test("is reported as too long, not as unknown, when it is a facility", () => {
    expect(codesOf(map({ facility: "N".repeat(201) }))).toEqual([
      "MAPPING_VALUE_TOO_LONG message 1, MSH-4.1",
    ]);
  });

  test("is not handed on with the header of a message that is refused or ignored", async () => {
    const spoilt = map({ controlId: "X\\X00\\" });
    expect(spoilt).toMatchObject({ messageControlId: undefined, messageType: "ORM^O01" });
    const ignoring = await hl7Profile({ ignore: ["ADT^*"] });
    const text = hl7Text(`ADT^A\\X00\\`, []).replace("|MSG-1|", `|${"x".repeat(3000)}|`);
    const ignored = mapOne(ignoring, hl7Message(text));
    expect(ignored.verdict).toBe("ignored");
    expect(ignored).toMatchObject({ messageControlId: undefined, messageType: "ADT" });
  });

  test("is refused when a site's module sets it", async () => {
    const order = (given: ModuleOrder) => {
      given.subject.lastName = "Bei\0spiel";
      given.containers = [{ label: "V-\ud800", description: "x".repeat(2001) }];
    };
    const mapped = mapOne(await hl7Profile({ module: "./our-lab.ts" }, { order }), hl7Message(textWith({})));
    expect(codesOf(mapped)).toEqual([
      "MAPPING_CHARACTER_INVALID message 1, module ./our-lab.ts",
      "MAPPING_CHARACTER_INVALID message 1, module ./our-lab.ts",
      "MAPPING_VALUE_TOO_LONG message 1, module ./our-lab.ts",
    ]);
  });

  test("leaves a module's own words of refusal fit to be kept", async () => {
    const order = () => {
      throw new Error("no\0 such \ud800 project");
    };
    const mapped = mapOne(await hl7Profile({ module: "./our-lab.ts" }, { order }), hl7Message(textWith({})));
    expect(mapped.problems[0]?.message).toBe("no  such \ufffd project");
  });

  test("is refused in the rows of a CSV order, whose number is then not handed on", async () => {
    const row = {
      order_number: "A\u00071",
      operation: "STORE",
      facility: "NORTH",
      subject_code: "S".repeat(201),
      container_label: "V-1",
      first_name: "A",
      last_name: "B\0",
      date_of_birth: "1980-01-01",
    };
    const mapped = mapOne(await csvProfile(), csvMessage([row]));
    expect(codesOf(mapped)).toEqual([
      "MAPPING_CHARACTER_INVALID line 2, column order_number",
      "MAPPING_VALUE_TOO_LONG line 2, column subject_code",
      "MAPPING_CHARACTER_INVALID line 2, column last_name",
    ]);
    expect(mapped.placerOrderNumber).toBeUndefined();
  });
});

describe("whatever stands in a message", () => {
  const anyValue = fc.string({
    unit: fc.constantFrom("a", "B", "\\X00\\", "\\X1B\\", "\\X0D\\", "\0", "\u009b", "\ud800", "😀", "é"),
    maxLength: 60,
  });

  test("what is mapped of it, or said about it, is well-formed and holds no NUL", () => {
    const places = ["controlId", "facility", "code", "family", "given", "number", "label", "description"];
    const spoilt = fc.record(Object.fromEntries(places.map((place) => [place, anyValue])), {
      requiredKeys: [],
    });
    fc.assert(
      fc.property(spoilt, fc.constantFrom("ORM^O01", "ADT^A04", "Z\\X00\\Z^😀"), (values, type) => {
        const text = textWith(values as Places).replace("ORM^O01", type);
        const mapped = mapOne(profile, hl7Message(text));
        const { orders, problems, messageControlId, messageType } = mapped;
        const texts = textsIn([orders, problems, messageControlId, messageType]);
        expect(texts.filter((each) => !each.isWellFormed() || each.includes("\0"))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (value instanceof Phi) return textsIn(value.reveal());
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)]);
}
