import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/outcome.ts";
import type { Hl7Profile } from "../../../src/mapping/profile/profile.ts";
import { at } from "../../support/places.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";
import { acknowledged, changed, outcomeOrder, refused, segmentsOf, withoutText } from "../outcomes.ts";

const PID = "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F";
const NUMBER = "ACC-77";

/** A segment with a value in one field, and others in between as the parts say. */
function segment(name: string, parts: Readonly<Record<number, string>>): string {
  const fields = Array.from({ length: Math.max(...Object.keys(parts).map(Number)) }, (_, i) => parts[i + 1]);
  return [name, ...fields.map((field) => field ?? "")].join("|");
}

/** An order message with its number at a place such as `ORC-3`, of any control. */
function messageAt(place: string, control: string): string {
  const [name, field] = place.split("-") as [string, string];
  const at = (segmentName: string) => (segmentName === name ? { [Number(field)]: `${NUMBER}^LAB` } : {});
  return hl7Text("ORM^O01^ORM_O01", [
    PID,
    segment("ORC", { 1: control, ...at("ORC") }),
    segment("OBR", { 1: "1", 4: "CRYO-STORE^Cryogenic storage^L", 15: "SEM&Semen^^STRAW-1", ...at("OBR") }),
  ]);
}

const profileAt = (place: string): Promise<Hl7Profile> =>
  hl7Profile({ placerOrderNumber: { from: `${place}.1` } });

const fieldsOf = (segments: readonly string[] | undefined, name: string) =>
  segments?.find((each) => each.startsWith(`${name}|`))?.split("|") ?? [];

const order = (state: "received" | "completed") => outcomeOrder({ state, placerOrderNumber: NUMBER });

function asked(text: string, refusal: boolean): Outcome {
  const { message, outcomeId, controlId, occurredAt } = acknowledged([], text);
  return {
    ...{ message, outcomeId, controlId, occurredAt },
    kind: "control",
    answers: [
      {
        control: "cancel",
        placerOrderNumber: NUMBER,
        order: outcomeOrder({ state: "submitted", placerOrderNumber: NUMBER }),
        refusal: refusal ? { code: "CANCEL_NOT_OFFERED", text: "the order goes on" } : undefined,
      },
    ],
  };
}

const PLACES = ["ORC-3", "OBR-3", "ORC-4", "ORC-8", "ORC-25", "OBR-18", "OBR-19", "OBR-20", "OBR-50"];

describe.each(PLACES)("an order number that the profile reads from %s", (place) => {
  const [name, field] = place.split("-") as [string, string];
  const n = Number(field);

  test("is read there", async () => {
    const [read] = mapOne(await profileAt(place), hl7Message(messageAt(place, "NW"))).orders;
    expect(read?.placerOrderNumber).toBe(NUMBER);
  });

  test.each([
    ["the answer to an order", () => acknowledged([order("received")], messageAt(place, "NW"))],
    [
      "the refusal of a message",
      () =>
        refused(
          [{ code: "MAPPING_DATE_INVALID", place: at("PID-7"), message: "is no date" }],
          messageAt(place, "NW"),
        ),
    ],
    ["a result", () => changed(order("completed"), messageAt(place, "NW"))],
    ["a refused cancellation", () => asked(messageAt(place, "CA"), true)],
    ["a granted cancellation", () => asked(messageAt(place, "CA"), false)],
  ])("comes back in its place in %s, and ORC-2 stays empty", async (_what, outcome) => {
    const segments = segmentsOf(outcome(), await profileAt(place));
    expect(fieldsOf(segments, name)[n]).toBe(`${NUMBER}^LAB`);
    expect(fieldsOf(segments, "ORC")[2] ?? "").toBe("");
    expect(fieldsOf(segments, "OBR")[2] ?? "").toBe("");
    // The filler order number of ORC and OBR is one.
    if (n === 3) expect(fieldsOf(segments, "ORC")[3]).toBe(`${NUMBER}^LAB`);
  });

  test("comes back there by itself once the message is pruned", async () => {
    const segments = segmentsOf(
      withoutText(changed(order("completed"), messageAt(place, "NW"))),
      await profileAt(place),
    );
    expect(fieldsOf(segments, name)[n]).toBe(NUMBER);
    expect(fieldsOf(segments, "ORC")[2]).toBe("");
  });
});

test("a placer order number beside the accession number that names the order comes back as it stood", async () => {
  const text = messageAt("ORC-3", "NW").replace("ORC|NW||", "ORC|NW|P-1^HIS|");
  const segments = segmentsOf(changed(order("completed"), text), await profileAt("ORC-3"));
  expect(fieldsOf(segments, "ORC").slice(2, 4)).toEqual(["P-1^HIS", `${NUMBER}^LAB`]);
  expect(fieldsOf(segments, "OBR").slice(2, 4)).toEqual(["P-1^HIS", `${NUMBER}^LAB`]);
});

test("of several places the number comes back in the one where this message has it", async () => {
  const profile = await hl7Profile({ placerOrderNumber: { from: ["ORC-2.1", "ORC-3.1"] } });
  const inThird = segmentsOf(changed(order("completed"), messageAt("ORC-3", "NW")), profile);
  expect(fieldsOf(inThird, "ORC").slice(2, 4)).toEqual(["", `${NUMBER}^LAB`]);
  const inSecond = segmentsOf(changed(order("completed"), messageAt("ORC-2", "NW")), profile);
  expect(fieldsOf(inSecond, "ORC").slice(2, 4)).toEqual([`${NUMBER}^LAB`, "R123^CRYOBRIDGE"]);
});

test.each(["PID-18", "ORC-16", "OBR-4"])(
  "a number that is read from %s, where no answer can put it, comes back in ORC-2",
  async (place) => {
    const [name, field] = place.split("-") as [string, string];
    const text = messageAt(name === "PID" ? "ORC-40" : place, "NW").replace(
      PID,
      segment("PID", { 1: "1", 3: "MRN-4711^^^NORTH^MR", ...(name === "PID" ? { [field]: NUMBER } : {}) }),
    );
    const segments = segmentsOf(changed(order("completed"), text), await profileAt(place));
    expect(fieldsOf(segments, "ORC")[2]).toBe(NUMBER);
    expect(fieldsOf(segments, "OBR")[2]).toBe(NUMBER);
  },
);
