import { expect, test } from "vitest";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const PRIOR_PID = "PID|2||MRN-9^^^N^MR||Fremd^Fritz||19700101";
const NEW = ["ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE"];
const NEXT = ["ORC|NW|A-2", "OBR|2|A-2||CRYO-STORE"];
const SPECIMEN = ["SPM|1|S1||EMB^Embryo", "SAC|||L-1"];
const SPECIMEN_2 = ["SPM|2|S2||SEM^Semen", "SAC|||L-2"];
const ORDER = [...NEW, ...SPECIMEN];
/** Everything of it would be read if it were an order, or belonged to one. */
const RESULT = [
  "ORC|PR|A-1",
  "OBR|1|OLD||CRYO-RETRIEVE|||||||||||SEM^^L-9||||||||||F",
  "OBX|1|ST|CONTAINER||L-8^old",
];
const PATIENT = [PRIOR_PID, "PD1|1", "PV1|1|O|X^^^SOUTH", "AL1|1||X"];

async function map(type: string, segments: readonly string[], definition: ProfileDefinition = {}) {
  const profile = await hl7Profile({ accept: ["OML^O21", "OML^O33", "OML^O35", "ORM^O01"], ...definition });
  return mapOne(profile, hl7Message(hl7Text(type, segments)));
}

const ORM = [...NEW, "OBX|1|ST|CONTAINER||L-1^Embryo"];

test.each<[string, string, string[], string[]]>([
  ["behind its order", "OML^O21", [PID, ...ORDER], [PID, ...ORDER, ...RESULT]],
  ["with its patient", "OML^O21", [PID, ...ORDER], [PID, ...ORDER, ...PATIENT, ...RESULT]],
  [
    "with a note to its patient",
    "OML^O21",
    [PID, ...ORDER],
    [PID, ...ORDER, PRIOR_PID, "NTE|1||x", ...RESULT],
  ],
  ["with a visit alone", "OML^O21", [PID, ...ORDER], [PID, ...ORDER, "PV1|1|O|X^^^SOUTH", ...RESULT]],
  ["with several OBRs", "OML^O21", [PID, ...ORDER], [PID, ...ORDER, ...RESULT, ...RESULT.slice(1)]],
  [
    "before its order",
    "OML^O21",
    [PID, "PV1|1|O|X^^^NORTH", ...ORDER],
    [PID, "PV1|1|O|X^^^NORTH", ...RESULT, ...ORDER],
  ],
  [
    "of several patients",
    "OML^O21",
    [PID, ...ORDER],
    [PID, ...ORDER, ...PATIENT, ...RESULT, ...PATIENT, ...RESULT, ...RESULT],
  ],
  [
    "between two orders",
    "OML^O21",
    [PID, ...ORDER, ...NEXT, ...SPECIMEN_2],
    [PID, ...ORDER, ...PATIENT, ...RESULT, ...NEXT, ...SPECIMEN_2],
  ],
  ["in ORM", "ORM^O01", [PID, ...ORM], [PID, ...ORM, ...PATIENT, ...RESULT]],
  [
    "below a specimen, with another one behind it",
    "OML^O33",
    [PID, ...SPECIMEN, ...NEW, ...SPECIMEN_2, ...NEXT],
    [PID, ...SPECIMEN, ...NEW, ...PATIENT, ...RESULT, ...SPECIMEN_2, ...NEXT],
  ],
  [
    "below a container, with another one behind it",
    "OML^O35",
    [PID, ...SPECIMEN, ...NEW, "SAC|||L-2", ...NEXT],
    [PID, ...SPECIMEN, ...NEW, ...RESULT, "SAC|||L-2", ...NEXT],
  ],
])("a prior result %s changes nothing of what is ordered", async (_, type, without, within) => {
  for (const definition of [{}, { orders: { sameNumber: "refuse" } }] as const) {
    const expected = await map(type, without, definition);
    expect(expected.verdict).toBe("accepted");
    const { orders, problems } = await map(type, within, definition);
    expect(problems).toEqual([]);
    const plain = (each: (typeof orders)[number]) => [
      ...[each.operation, each.placerOrderNumber, each.facilityCode, each.containers],
      Object.values(each.subject).map((value) => value?.reveal()),
    ];
    expect(orders.map(plain)).toEqual(expected.orders.map(plain));
  }
});

test("a second patient is refused where the order below is none of prior results", async () => {
  for (const segments of [
    [PID, ...ORDER, PRIOR_PID, ...NEXT, ...SPECIMEN_2],
    [PID, ...ORDER, PRIOR_PID, "OBR|1|OLD||CRYO-STORE", ...RESULT],
    [PID, ...ORDER, ...RESULT, PRIOR_PID, ...NEXT, ...SPECIMEN_2],
    [PID, ...ORDER, ...PATIENT, ...RESULT, PRIOR_PID],
  ]) {
    const { orders, problems } = await map("OML^O21", segments);
    expect(orders).toEqual([]);
    expect(problems).toMatchObject([{ code: "MAPPING_SECOND_PATIENT" }]);
  }
});

test("a message with prior results alone orders nothing, and is refused", async () => {
  const { problems } = await map("OML^O21", [PID, ...RESULT]);
  expect(problems).toMatchObject([{ code: "MAPPING_NO_ORDER" }]);
});

test.each<[string, string[]]>([
  ["specimens", [PID, ...ORDER, ...RESULT, ...SPECIMEN_2]],
  ["a container", [PID, ...ORDER, ...RESULT, "SAC|||L-2"]],
  ["an OBR", [PID, ...NEW, ...SPECIMEN, ...RESULT, "OBR|2|A-2||CRYO-STORE"]],
  ["an OBR, with the prior patient", [PID, ...ORDER, ...PATIENT, ...RESULT, "OBR|2|A-2||CRYO-STORE"]],
])(
  "%s behind a prior result, which may be the order's, is not left out without a word",
  async (_, segments) => {
    for (const definition of [{}, { orders: { each: "OBR" } }] as const) {
      const { orders, problems } = await map("OML^O21", segments, definition);
      expect(orders).toEqual([]);
      expect(problems).toMatchObject([{ code: "HL7_STRUCTURE" }]);
    }
  },
);
