import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OutcomeOrder } from "../../../src/core/outcome.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne, plain, problemsOf } from "../mapped.ts";
import { changed, segmentsOf } from "../outcomes.ts";

const AT_LABEL = "OBX[3.1=CRYO-CONTAINER]-5";
const profileWith = (fields: Record<string, string>, more: ProfileDefinition = {}) =>
  hl7Profile({ ...more, results: { ...more.results, fields } });

/** What the OBX of each container's label says. */
async function valuesIn(
  text: string,
  labels: readonly string[],
  template: string,
  more: ProfileDefinition = {},
): Promise<(string | undefined)[]> {
  const profile = await profileWith({ [AT_LABEL]: template }, more);
  const containers = labels.map((label) => ({ label, description: "" }));
  return (segmentsOf(changed({ containers } as Partial<OutcomeOrder>, text), profile) ?? [])
    .filter((line) => line.includes("CRYO-CONTAINER^"))
    .map((line) => line.split("|")[5]);
}

/** What intake says of such a message. */
async function troublesOf(text: string, fields: Record<string, string>, more: ProfileDefinition = {}) {
  const mapped = mapOne(await profileWith(fields, more), hl7Message(text));
  return (plain(mapped) as { problems: { message: string; place: string }[] }).problems.map(
    ({ place, message }) => `${place} ${message}`,
  );
}

const head = ["PID|1||A^^^N^MR||Beispiel^Anna||19840229|F", "PV1|1|O|CLINIC^7"];
const order = (...segments: string[]) => [
  "ORC|NW|LAB-1",
  "OBR|1|LAB-1||CRYO-STORE^Store^L|||20260301",
  ...segments,
];
const orm = (...segments: string[]) => hl7Text("ORM^O01^ORM_O01", [...head, ...segments]);
const oml = (trigger: string, ...segments: string[]) =>
  hl7Text(`OML^${trigger}^OML_${trigger}`, [...head, ...segments]);
const two = order("SAC|||A1", "ZEM|1|4AA|red", "SAC|||A2", "ZEM|2|4BB|blue");

describe("a path in a container's place", () => {
  test.each([
    ["behind each SAC", orm(...two)],
    [
      "behind each OBR with its SAC",
      orm(...order("SAC|||A1", "ZEM|1||red"), "OBR|2|LAB-1||CRYO-STORE", "SAC|||A2", "ZEM|1||blue"),
    ],
    [
      "between each OBR and its SAC",
      orm(...order("ZEM|1||red", "SAC|||A1"), "OBR|2|LAB-1||CRYO-STORE", "ZEM|1||blue", "SAC|||A2"),
    ],
    [
      "behind each ORC of one number",
      orm(...order("SAC|||A1", "ZEM|1||red"), ...order("SAC|||A2", "ZEM|1||blue")),
    ],
    ["behind each specimen", oml("O21", ...order("SPM|1|A1", "ZEM|1||red", "SPM|2|A2", "ZEM|1||blue"))],
    [
      "behind each specimen before its SAC",
      oml("O21", ...order("SPM|1|S1", "ZEM|1||red", "SAC|||A1", "SPM|2|S2", "ZEM|1||blue", "SAC|||A2")),
    ],
    [
      "behind containers that stand before their order",
      oml("O33", "SPM|1|S1", "SAC|||A1", "ZEM|1||red", "SAC|||A2", "ZEM|1||blue", ...order()),
    ],
    [
      "behind the order of each container",
      oml("O35", "SPM|1|S1", "SAC|||A1", ...order("ZEM|1||red"), "SAC|||A2", ...order("ZEM|1||blue")),
    ],
  ])("is read from that container's own segments: %s", async (_, text) => {
    expect(await valuesIn(text, ["A1", "A2"], "{ZEM-3}")).toEqual(["red", "blue"]);
    expect(await valuesIn(text, ["A2"], "{ZEM[1]-3}/{PV1-3.2}")).toEqual(["blue/7"]);
    const accept = ["ORM^O01", "OML^O21", "OML^O33", "OML^O35"];
    expect(await troublesOf(text, { [AT_LABEL]: "{ZEM-3} {PV1-3.2}" }, { accept })).toEqual([]);
  });

  test("is read from the segment that stands for the container, where that is a Z segment or an OBX", async () => {
    const straws = orm(...order("ZST|A1|red", "ZST|A2|blue"));
    const each = { containers: { each: "ZST", label: "ZST-1" } } as const;
    expect(await valuesIn(straws, ["A1", "A2"], "{ZST-2}", each)).toEqual(["red", "blue"]);
    const vials = orm(...order("OBX|1|ST|VIAL||A1", "NTE|1||red", "OBX|2|ST|VIAL||A2", "NTE|1||blue"));
    const ofVials = { containers: { each: "OBX[3.1=VIAL]", label: "OBX[3.1=VIAL]-5" } } as const;
    expect(await valuesIn(vials, ["A1", "A2"], "{NTE-3}", ofVials)).toEqual(["red", "blue"]);
  });

  test("is read from what all have in common, where no container has such a segment of its own", async () => {
    const text = orm(...order("ZEM|1||red", "SAC|||A1", "SAC|||A2"));
    expect(await valuesIn(text, ["A1", "A2"], "{ZEM-3} {ORC-2} {PID-3.1}")).toEqual([
      "red LAB-1 A",
      "red LAB-1 A",
    ]);
  });

  test.each([
    ["only some containers have one", orm(...order("ZEM|1||red", "SAC|||A1", "ZEM|1||blue", "SAC|||A2"))],
    [
      "a container has several",
      orm(...order("SAC|||A1", "ZEM|1||red", "ZEM|2||blue", "SAC|||A2", "ZEM|1||x")),
    ],
    ["its field repeats", orm(...order("SAC|||A1", "ZEM|1||red~blue", "SAC|||A2", "ZEM|1||x"))],
    [
      "the second of several is empty",
      orm(...order("SAC|||A1", "ZEM|1||red", "ZEM|2||", "SAC|||A2", "ZEM|1||x")),
    ],
  ])("refuses the order, and is never the first, where %s", async (_, text) => {
    const troubles = await troublesOf(text, { [AT_LABEL]: "{ZEM-3}" });
    expect(troubles).toHaveLength(1);
    expect(troubles[0]).toContain("expected one: results.fields has {ZEM-3} in OBX[3.1=CRYO-CONTAINER]-5");
    expect((await valuesIn(text, ["A1"], "{ZEM-3}")).join()).toBe("");
  });

  test("is empty for a container that the message does not name", async () => {
    expect(await valuesIn(orm(...two), ["A3"], "{ZEM-3}")).toEqual([""]);
    const some = orm("NTE|1||of the patient", ...order("SAC|||A1", "NTE|1||red", "SAC|||A2"));
    expect(await valuesIn(some, ["A1", "A2"], "{NTE-3}")).toEqual(["red", ""]);
  });

  test("is the container's own in a specimen status update", async () => {
    const profile = await profileWith(
      { "SAC-10": "{ZEM-3}", "OBX[3.1=CRYO-STATUS]-5": "{ZEM-2}" },
      { results: { format: "ssu" } },
    );
    const containers = ["A1", "A2"].map((label) => ({ label, description: "" }));
    const lines = segmentsOf(changed({ containers }, orm(...two)), profile) ?? [];
    const fieldOf = (start: string, n: number) =>
      lines.filter((line) => line.includes(start)).map((line) => line.split("|")[n]);
    expect(fieldOf("SAC|", 10)).toEqual(["red", "blue"]);
    expect(fieldOf("CRYO-STATUS", 5)).toEqual(["4AA", "4BB"]);
    expect(mapOne(profile, hl7Message(orm(...two))).problems).toEqual([]);
  });

  test("gives each of many containers its own value, wherever the segments stand", async () => {
    const profile = await profileWith({ [AT_LABEL]: "{ZEM-3}" });
    const place = fc.constantFrom("SAC", "OBR", "ORC", "SPM");
    const values = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 12 });
    const property = fc.property(values, place, fc.nat(3), (colours, kind, notes) => {
      const between = Array.from({ length: notes }, (_, n) => `NTE|${n + 1}||same`);
      const head = { SAC: [], SPM: [], OBR: ["OBR|1|LAB-1||CRYO-STORE"], ORC: order() }[kind];
      const bodies = colours.map((colour, n) => [
        ...(n === 0 && kind !== "SAC" && kind !== "SPM" ? [] : head),
        kind === "SPM" ? `SPM|${n + 1}|V-${n}` : `SAC|||V-${n}`,
        ...between,
        `ZEM|1||${colour}`,
      ]);
      const text = oml("O21", ...order(), ...bodies.flat());
      expect(mapOne(profile, hl7Message(text)).problems).toEqual([]);
      const containers = colours.map((_, n) => ({ label: `V-${n}`, description: "" }));
      const lines = segmentsOf(changed({ containers: containers.toReversed() }, text), profile) ?? [];
      const sent = lines.filter((line) => line.includes("CRYO-CONTAINER^")).map((line) => line.split("|")[5]);
      expect(sent).toEqual(colours.toReversed());
    });
    fc.assert(property, { numRuns: 100 });
  });
});

describe("a path in an order's place", () => {
  test("refuses the order where its containers have different values, and takes one that all have", async () => {
    expect(await troublesOf(orm(...two), { "ORC-10": "{ZEM-3}" })).toEqual([
      expect.stringContaining("results.fields has {ZEM-3} in ORC-10"),
    ]);
    const alike = orm(...order("SAC|||A1", "ZEM|1||red", "SAC|||A2", "ZEM|2||red"));
    const profile = await profileWith({ "ORC-10": "{ZEM-3}" });
    expect(mapOne(profile, hl7Message(alike)).problems).toEqual([]);
    const orc = segmentsOf(changed({}, alike), profile)?.find((line) => line.startsWith("ORC"));
    expect(orc?.split("|")[10]).toBe("red");
    const different = segmentsOf(changed({}, orm(...two)), profile)?.find((line) => line.startsWith("ORC"));
    expect(different?.split("|")[10] ?? "").toBe("");
  });

  test("refuses a registration whose message has several different ones", async () => {
    const adt = hl7Text("ADT^A04^ADT_A01", [head[0] ?? "", "NK1|1|Adam", "NK1|2|Bert"]);
    expect(await troublesOf(adt, { "PID-4": "{NK1-2}" })).toEqual([
      expect.stringContaining("results.fields has {NK1-2} in PID-4"),
    ]);
    expect(await troublesOf(adt, { "PID-4": "{NK1[2]-2}" })).toEqual([]);
  });
});

describe("a field that no message that is sent has", () => {
  test.each([
    ["PV1-3", "PV1-3: no message that is sent has PV1; expected MSH, PID, ORC, OBR, NTE, OBX, EQU, SAC, SPM"],
    ["ZEM-3", "ZEM-3: no message that is sent has ZEM"],
    [
      "OBX[3.1=CRYO-COLOUR]-5",
      "OBX[3.1=CRYO-COLOUR]-5: no message that is sent has such an OBX; expected CRYO-STATUS",
    ],
  ])("is refused: %s", async (place, trouble) => {
    const problems = await problemsOf({
      extends: "builtin/hl7-orders",
      results: { fields: { [place]: "x" } },
    });
    expect(problems).toEqual([expect.stringContaining(trouble)]);
  });
});
