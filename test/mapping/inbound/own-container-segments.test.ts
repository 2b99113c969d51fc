import { describe, expect, test } from "vitest";
import { type ProfileDefinition, profileSchema } from "../../../src/mapping/profile/schema.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne, problemsOf } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const ORDER = ["ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE"];
const ZVL = { each: "ZVL", label: "ZVL-2.1", description: "ZVL-3" };

async function map(containers: ProfileDefinition["containers"], ...segments: string[]) {
  return mapOne(await hl7Profile({ containers }), hl7Message(hl7Text("ORM^O01", [PID, ...segments])));
}
const labelsOf = ({ orders }: Awaited<ReturnType<typeof map>>) =>
  orders.map(({ containers }) => containers.map(({ label, description }) => `${label}: ${description}`));

describe("containers in segments of the sender's own", () => {
  test("are read below their OBR, each with its values", async () => {
    const more = ["ORC|NW|A-2", "OBR|1|A-2||CRYO-STORE", "ZVL|1|V-3|Egg"];
    expect(labelsOf(await map(ZVL, ...ORDER, "ZVL|1|V-1|Sperm", "NTE|1", "ZVL|2|V-2", ...more))).toEqual([
      ["V-1: Sperm", "V-2: "],
      ["V-3: Egg"],
    ]);
  });

  test("are known by a condition among others of the name", async () => {
    const nte = { each: "NTE[4.1=VIAL]", label: "NTE-3", description: { value: "Vial" } };
    expect(
      labelsOf(await map(nte, "NTE|1||a patient's note", ...ORDER, "NTE|1||urgent", "NTE|2||V-1|VIAL")),
    ).toEqual([["V-1: Vial"]]);
  });

  describe("known by how a field begins", () => {
    const NTE: ProfileDefinition["containers"] = {
      each: "NTE[3^=LABEL=]",
      label: { from: "NTE-3", as: [{ regex: { match: "^LABEL=(.+)$", replace: "$1" } }] },
      description: { value: "Vial" },
    };

    test("are containers, and comments among them are none", async () => {
      const { problems, orders } = await map(
        NTE,
        "NTE|1||a patient's note",
        "ORC|NW|A-1",
        "NTE|1||an order's note",
        "OBR|1|A-1||CRYO-STORE",
        "NTE|1||LABEL=AB-1001",
        "NTE|2||handle with care, the LABEL= is smudged",
        "NTE|3||LABEL=AB-1002",
      );
      expect(problems).toEqual([]);
      expect(orders.map(({ containers }) => containers)).toMatchObject([
        [{ label: "AB-1001" }, { label: "AB-1002" }],
      ]);
    });

    test("refuse the message behind PID, and where nothing follows the beginning", async () => {
      const behindPid = await map(NTE, "NTE|1||LABEL=AB-1001", ...ORDER, "NTE|1||LABEL=AB-1002");
      expect(behindPid.orders).toEqual([]);
      expect(behindPid.problems).toContainEqual(
        expect.objectContaining({ code: "MAPPING_CONTAINER_UNEXPECTED", place: "message 1, NTE" }),
      );
      const cut = await map(NTE, ...ORDER, "NTE|1||LABEL=", "NTE|2||LABEL=AB-1002");
      expect(cut.orders).toEqual([]);
      expect(cut.problems).toMatchObject([{ place: "message 1, NTE-3" }]);
    });

    test("refuse an order with a label in another repetition, which would be left out", async () => {
      const { problems, orders } = await map(
        NTE,
        ...ORDER,
        "NTE|1||LABEL=AB-1001",
        "NTE|2||urgent~LABEL=AB-1002",
      );
      expect(orders).toEqual([]);
      expect(problems).toMatchObject([{ place: "message 1, NTE[2]-3 and NTE[2]-3[2]" }]);
    });

    test("refuse an order that has comments only", async () => {
      const { problems, orders } = await map(NTE, ...ORDER, "NTE|1||urgent");
      expect(orders).toEqual([]);
      expect(problems).toHaveLength(1);
    });
  });

  test("of an unknown condition are a mistake of the profile, which names those that there are", async () => {
    for (const each of ["NTE[3~LABEL]", "NTE[3^LABEL]"]) {
      expect(await problemsOf({ extends: "builtin/hl7-orders", containers: { each } })).toEqual([
        expect.stringContaining("expected =, != or ^= and a value"),
      ]);
    }
  });

  test("without a label are refused by their place", async () => {
    expect((await map(ZVL, ...ORDER, "ZVL|1|V-1", "ZVL|2||Egg")).problems).toMatchObject([
      { code: "MAPPING_NO_CONTAINER", place: "message 1, ZVL[2]-2.1" },
    ]);
  });

  test.each([
    ["before the orders", ["ZVL|1|V-0", ...ORDER, "ZVL|2|V-1"]],
    ["before their OBR", ["ORC|NW|A-1", "ZVL|1|V-0", "OBR|1|A-1||CRYO-STORE", "ZVL|2|V-1"]],
    ["beside a specimen", [...ORDER, "ZVL|1|V-0", "SPM|1|S-1", "SAC|||V-1"]],
  ])("refuse the message where they stand %s", async (_, segments) => {
    const { problems, orders } = await map(
      { ...ZVL, each: ["SAC", "ZVL"], label: ["SAC-3.1", "ZVL-2.1"] },
      ...segments,
    );
    expect(orders).toEqual([]);
    expect(problems).toContainEqual(
      expect.objectContaining({ code: "MAPPING_CONTAINER_UNEXPECTED", place: "message 1, ZVL" }),
    );
  });

  test("that are none of an order are a mistake of the profile", async () => {
    for (const each of ["PID", "ORC", "zvl", "ZV"]) {
      expect(profileSchema.safeParse({ containers: { each } }).success).toBe(false);
    }
    expect(await problemsOf({ extends: "builtin/hl7-orders", containers: { each: "ZVL[2]" } })).toHaveLength(
      1,
    );
  });
});

describe("a label in a field of several parts", () => {
  const of = (label: unknown) =>
    ({ each: "OBX[3.1=VIAL]", label, description: "OBR-13" }) as ProfileDefinition["containers"];
  const vial = (value: string) => `OBX|1|ST|VIAL||${value}`;

  test.each([
    ["OBX-5", "AB-1^AB-2", "several components", "OBX-5.1"],
    ["OBX-5", "AB-1^^AB-2", "several components", "OBX-5.1"],
    ["OBX-5", "^AB-2", undefined, ""],
    ["OBX-5", "AB-1&AB-2", "several subcomponents", "OBX-5.1.1"],
    ["OBX-5.1", "AB-1&AB-2", "several subcomponents", "OBX-5.1.1"],
    [{ from: "OBX-5", split: "repetitions" }, "AB-1~AB-2^AB-3", "several components", "OBX-5.1"],
  ])(
    "is not cut: %j of %s is refused, and a path that does is named",
    async (label, value, several, path) => {
      const { orders, problems } = await map(of(label), ...ORDER, vial(value));
      expect(orders).toEqual([]);
      if (several === undefined) expect(problems).toMatchObject([{ code: "MAPPING_NO_CONTAINER" }]);
      else
        expect(problems).toMatchObject([
          {
            code: "MAPPING_VALUE_INVALID",
            message: `has ${several}, expected one`,
            hint: expect.stringContaining(`such as \`${path}\`.`),
          },
        ]);
    },
  );

  test.each([
    ["OBX-5.1", "AB-1^AB-2"],
    ["OBX-5.1.1", "AB-1&LAB^AB-2"],
    ["OBX-5", "AB-1^^"],
    ["OBX-5", "AB-1"],
  ])("is taken where the path names the part, or the others are empty: %s of %s", async (label, value) => {
    expect(labelsOf(await map(of(label), ...ORDER, vial(value)))).toEqual([["AB-1: "]]);
  });

  test("is read with an escaped delimiter as it stands", async () => {
    expect(labelsOf(await map(of("OBX-5"), ...ORDER, vial("AB\\S\\1")))).toEqual([["AB^1: "]]);
  });

  test("behind a mark in NTE is refused like any other", async () => {
    const nte = {
      each: "NTE[3^=LABEL=]",
      label: { from: "NTE-3", as: [{ regex: { match: "^LABEL=(.+)$", replace: "$1" } }] },
    };
    const { problems } = await map(nte, ...ORDER, "NTE|1||LABEL=AB-1^AB-2");
    expect(problems).toMatchObject([{ place: "message 1, NTE-3", code: "MAPPING_VALUE_INVALID" }]);
  });

  test("is the whole of what a profile joins", async () => {
    const joined = of({ from: [{ join: ["OBX-5.1", "OBX-5.2"], with: "-" }] });
    expect(labelsOf(await map(joined, ...ORDER, vial("AB^1")))).toEqual([["AB-1: "]]);
  });

  test.each([
    ["AB", "", ["", "7", "G1"], ["AB: /7/G1"]],
    ["AB", "", ["2", "", "G1"], ["AB: 2//G1"]],
    ["AB", "", ["2"], ["AB: 2//"]],
    ["AB", "", [], ["AB: "]],
    ["AB^^1", "", ["2", "7", "G1"], ["AB--1: 2/7/G1"]],
    ["AB^1", "", ["2", '""', "G1"], ["AB-1: 2//G1"]],
  ])("keeps the place of parts that are empty: %j", async (label, _, parts, expected) => {
    const profile = {
      each: "ZEM",
      label: { from: { join: ["ZEM-1.1", "ZEM-1.2", "ZEM-1.3"], with: "-" } },
      description: { from: { join: ["ZEM-2", "ZEM-3", "ZEM-4"], with: "/" } },
    };
    const zem = ["ZEM", label, ...parts].join("|");
    expect(labelsOf(await map(profile, ...ORDER, zem))).toEqual([expected]);
  });
});

test("a label of a sender without subcomponents is whole", async () => {
  const text = hl7Text("ORM^O01", [PID, ...ORDER, "OBX|1|ST|VIAL||AB&1"]).replace("^~\\&", "^~\\");
  const profile = await hl7Profile({
    containers: { each: "OBX[3.1=VIAL]", label: "OBX-5", description: "OBR-13" },
  });
  expect(labelsOf(mapOne(profile, hl7Message(text)))).toEqual([["AB&1: "]]);
});
