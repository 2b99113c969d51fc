import fc from "fast-check";
import { test as base, describe, expect } from "vitest";
import type { Problem } from "../../../src/core/failures.ts";
import type { Outcome } from "../../../src/core/outcome.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { machineHas } from "../../support/needs.ts";
import { clientReading, ourReading, pythonReading, type Reading } from "../../support/peer-readings.ts";
import { at } from "../../support/places.ts";
import { type PythonHl7, withPythonHl7 } from "../../support/python-hl7/python-hl7.ts";
import { hl7Profile, hl7Text } from "../mapped.ts";
import { acknowledged, changed, composeHl7, refused, waiting } from "../outcomes.ts";

/** Every delimiter, the escape character, what looks like an escape, letters of several scripts. */
const HARD = "A|B^C&D~E\\F \\T\\ Žluťoučký Ζωή 凍結 😀 #";
/** The same as a lab writes it into a field. */
const HARD_WRITTEN = "A\\F\\B\\S\\C\\T\\D\\R\\E\\E\\F \\E\\T\\E\\ Žluťoučký Ζωή 凍結 😀 #";
const LABELS = [`L1 ${HARD}`, `L2 ${HARD}`];

const PID = `PID|1||${HARD_WRITTEN}^^^NORTH&1.2.3&ISO^MR~X2^^^LAB^PI||Müller \\T\\ Söhne&von^Zoë||19840229|F`;
const orcAndObr = (specimen = "") => [
  `ORC|NW|${HARD_WRITTEN}^NORTHLAB||GRP-7`,
  `OBR|1|${HARD_WRITTEN}^NORTHLAB||CRYO-STORE^${HARD_WRITTEN}^L|||||||||||${specimen}`,
];
const specimenAndContainers = [
  `SPM|1|SP ${HARD_WRITTEN}&LAB||SEM^Semen^L`,
  ...[1, 2].map((n) => `SAC|EXT-${n}^OTHER|ACC-${n}^LAB|L${n} ${HARD_WRITTEN}^LAB|PRIM-1`),
];
const ORDERS: Readonly<Record<string, readonly string[]>> = {
  "ORM^O01": [PID, ...orcAndObr(`SEM&Semen^^${HARD_WRITTEN}`)],
  "OML^O21": [PID, ...orcAndObr(), ...specimenAndContainers],
  "OML^O33": [PID, ...specimenAndContainers, ...orcAndObr()],
  // Each container has orders of its own here, so one is enough.
  "OML^O35": [PID, ...specimenAndContainers.slice(0, 2), ...orcAndObr()],
};
const orderMessage = (type: string, version: string) => hl7Text(type, ORDERS[type] ?? [PID], version);

const PROBLEMS: Problem[] = [
  { code: "MAPPING_DATE_INVALID", place: at("message 1, PID-7"), message: "has only a year" },
  { code: "MAPPING_OPERATION_UNKNOWN", place: at("message 1, OBR[2]-4.1"), message: `holds "${HARD}"` },
];
const ORDER = {
  placerOrderNumber: HARD,
  facilityCode: `NORTH ${HARD}`,
  procedureCode: HARD,
  reason: { code: "REQUEST_REJECTED", text: `First line: ${HARD}\nSecond line` },
  containers: LABELS.map((label) => ({
    label,
    description: HARD,
    containerId: 9001,
    location: {
      storageName: `Tank ${HARD}`,
      canister: `3 ${HARD}`,
      cane: `7 ${HARD}`,
      position: `slot ${HARD}`,
      storedAt: "2026-11-20T13:05:00Z",
    },
  })),
} as const;

/** Which answer an order message gets, in which versions it may come. */
const ANSWERS = [
  ["ORM^O01", "ORR^O02", ["2.3.1", "2.4", "2.5.1", "2.6"]],
  ["OML^O21", "ORL^O22", ["2.4", "2.5.1", "2.6", "2.7"]],
  ["OML^O33", "ORL^O34", ["2.5.1", "2.6", "2.7"]],
  ["OML^O35", "ORL^O36", ["2.5.1", "2.6", "2.7"]],
] as const;
/** Which message reports a result, by the format of the profile. */
const RESULTS = [
  ["oru", "ORU^R01", ["2.3.1", "2.4", "2.5.1", "2.6", "2.7"]],
  ["orm", "ORM^O01", ["2.3.1", "2.4", "2.5.1", "2.6"]],
  ["orm", "OML^O21", ["2.7"]],
  ["ssu", "SSU^U03", ["2.4", "2.5.1", "2.6", "2.7"]],
] as const;
const answers = ANSWERS.flatMap(([asked, type, versions]) =>
  versions.map((version) => ({ asked, type, version })),
);
const results = RESULTS.flatMap(([format, type, versions]) =>
  versions.map((version) => ({ format, type, version })),
);

const test = base.extend<{ python: PythonHl7 }>({
  python: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures this one needs
    async ({}, use) => {
      await withPythonHl7(use);
    },
    { scope: "file" },
  ],
});

/** Has a message read by the others, who must find in it what we do; gives that. */
async function readByAll(text: string, python: PythonHl7): Promise<Reading> {
  const ours = ourReading(text);
  const theirs = await python.read(text);
  expect(theirs.kind === "message" && pythonReading(theirs.segments)).toEqual(ours);
  expect(clientReading(text)).toEqual(ours);
  return ours;
}

async function compose(outcome: Outcome, settings: ProfileDefinition["results"] = {}): Promise<string> {
  return composeHl7(outcome, await hl7Profile({ results: settings }))?.bytes.toString("utf8") ?? "";
}

/** The values at a place, such as `OBX[2]-5` or, of all segments of the name, `OBX-5`. */
const valuesAt = (read: Reading, place: string) =>
  read
    .filter(
      (line) => line.startsWith(`${place}[`) || line.replace(/^(...)\[\d+\]/, "$1").startsWith(`${place}[`),
    )
    .map((line) => line.slice(line.indexOf(": ") + 2));
const typeOf = (read: Reading) => valuesAt(read, "MSH-9").slice(0, 2).join("^");

describe.runIf(machineHas("mllp_send"))("python-hl7 and node-hl7-client read like us", () => {
  test.for(answers)("$type $version, which answers a message that was taken", async (row, { python }) => {
    const { asked, type, version } = row;
    const read = await readByAll(await compose(acknowledged([], orderMessage(asked, version))), python);
    expect([typeOf(read), ...valuesAt(read, "MSA-1")]).toEqual([type, "AA"]);
    expect(valuesAt(read, "PID-3")[0]).toBe(HARD);
    expect(valuesAt(read, "PID-5")).toEqual(["Müller & Söhne", "von", "Zoë"]);
    expect(valuesAt(read, "ORC-2")).toEqual([HARD, "NORTHLAB"]);
    expect(valuesAt(read, "OBR-4")).toEqual(["CRYO-STORE", HARD, "L"]);
  });

  test.for(answers)("$type $version, which answers a message that was refused", async (row, { python }) => {
    const { asked, type, version } = row;
    const read = await readByAll(await compose(refused(PROBLEMS, orderMessage(asked, version))), python);
    expect([typeOf(read), ...valuesAt(read, "MSA-1")]).toEqual([type, "AE"]);
    // The words of the second problem quote the code.
    const words = version < "2.5" ? valuesAt(read, "MSA-3") : valuesAt(read, "ERR[2]-8");
    expect(words).toEqual([expect.stringContaining(HARD)]);
  });

  test.for(answers)("$type $version, which answers a message that waits", async (row, { python }) => {
    const { asked, type, version } = row;
    const read = await readByAll(await compose(waiting(PROBLEMS, orderMessage(asked, version))), python);
    expect([typeOf(read), ...valuesAt(read, "MSA-1")]).toEqual([type, "AA"]);
    expect(valuesAt(read, "NTE-3")).toEqual([expect.stringContaining(HARD)]);
  });

  test.for(answers)(
    "$type $version, which answers a request about an earlier order",
    async (row, { python }) => {
      const { asked, type, version } = row;
      const { message, outcomeId, controlId, occurredAt } = acknowledged([], orderMessage(asked, version));
      const refusal = { code: "CANCEL_TOO_LATE", text: HARD } as const;
      const controlRequests = [{ control: "cancel", placerOrderNumber: HARD, refusal } as const];
      const outcome = {
        message,
        outcomeId,
        controlId,
        occurredAt,
        kind: "control",
        answers: controlRequests,
      } as const;
      const read = await readByAll(await compose(outcome), python);
      expect([typeOf(read), ...valuesAt(read, "ORC-1")]).toEqual([type, "UC"]);
      expect(valuesAt(read, "ORC-2")[0]).toBe(HARD);
      expect(valuesAt(read, "ORC-16")).toEqual(["CANCEL_TOO_LATE", HARD, "L"]);
    },
  );

  test.for(results)("$type $version, which says where the containers are", async (row, { python }) => {
    const { format, type, version } = row;
    const asked = format === "ssu" ? "OML^O33" : version === "2.7" ? "OML^O21" : "ORM^O01";
    const read = await readByAll(
      await compose(changed(ORDER, orderMessage(asked, version)), { format }),
      python,
    );
    expect(typeOf(read)).toBe(type);
    const words = valuesAt(read, "OBX-5");
    if (format === "ssu") {
      expect(valuesAt(read, "SAC[2]-3")[0]).toBe(LABELS[1]);
      expect(valuesAt(read, "SAC[2]-10")).toEqual([`7 ${HARD}`]);
      expect(valuesAt(read, "SAC[2]-15")).toEqual([
        `7 ${HARD}`,
        `slot ${HARD}`,
        `3 ${HARD}`,
        `Tank ${HARD}`,
        `NORTH ${HARD}`,
      ]);
      expect(words).toContain(HARD);
    } else {
      expect(valuesAt(read, "ORC-2")[0]).toBe(HARD);
      expect(words).toEqual(expect.arrayContaining([...LABELS, `Tank ${HARD}`, `slot ${HARD}`]));
      expect(valuesAt(read, "NTE-3")).toEqual([`First line: ${HARD}\\.br\\Second line`]);
    }
  });

  test("a plain acknowledgement of news about a patient", async ({ python }) => {
    const read = await readByAll(
      await compose(refused(PROBLEMS, hl7Text("ADT^A04", [PID], "2.5.1"))),
      python,
    );
    expect([typeOf(read), ...valuesAt(read, "MSA-2")]).toEqual(["ACK^A04", "MSG-1"]);
  });

  test("results that are written with the delimiters of the sender", async ({ python }) => {
    const text = [
      "MSH@*!%?@OTHER@NORTH@CRYO@STORE@20261120@@ORM*O01@C1@P@2.4",
      "PID@1@@M-1@@Pipe|%F%*A%S%B%R%%T%%E%",
      "ORC@NW@LAB-1*OTHER",
      "OBR@1@LAB-1*OTHER@@CRYO-STORE",
    ].join("\r");
    const hard = "@ * ! % ? | ^ ~ \\ & Zoë";
    const reason = { code: "REQUEST_REJECTED", text: hard } as const;
    const order = { placerOrderNumber: "LAB-1", procedureCode: hard, reason };
    const read = await readByAll(await compose(changed(order, text)), python);
    expect(valuesAt(read, "PID-5")).toEqual(["Pipe|@", "A*B!?%"]);
    expect(valuesAt(read, "OBX[2]-5")).toEqual([hard]);
  });

  test("whatever values hold", async ({ python }) => {
    const hard = fc.string({
      unit: fc.constantFrom(
        ..."|^~\\&#.a é凍😀\u0085\u2028\t\n\r\x07",
        "\\F\\",
        "\\X41\\",
        "\\.br\\",
        "\rMSH|",
      ),
      maxLength: 12,
    });
    // A letter at both ends, since node-hl7-client takes white space from the end of a segment.
    const value = hard.map((text) => `x${text}x`);
    await fc.assert(
      fc.asyncProperty(value, value, value, async (label, place, words) => {
        const containers = [{ label, description: "", location: { cane: place, storageName: words } }];
        const reason = { code: "REQUEST_REJECTED", text: words } as const;
        const outcome = changed({ containers, reason, procedureCode: place });
        const read = await readByAll(await compose(outcome), python);
        const asText = (text: string) => text.replace(/\r\n|\r|\n/g, "\\.br\\");
        expect(valuesAt(read, "OBX-5")).toEqual(expect.arrayContaining([label, place, words].map(asText)));
        await readByAll(await compose(outcome, { format: "ssu" }), python);
      }),
      { numRuns: 150 },
    );
  });
});
