import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { ORDER_STATES } from "../../../src/core/order-state.ts";
import { phi } from "../../../src/core/phi.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import type { Profile } from "../../../src/mapping/profile/profile.ts";
import { at } from "../../support/places.ts";
import { csvMessage, csvProfile, hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";
import { acknowledged, changed, composeHl7, outcomeOrder, refused } from "../outcomes.ts";

let hl7: Profile;
let csv: Profile;
beforeAll(async () => {
  hl7 = await hl7Profile({
    results: { send: ["acknowledged", "refused", ...ORDER_STATES.slice(3)] as never },
  });
  csv = await csvProfile();
});

/** Texts with everything that could end a field, a segment or a frame. */
const anyText = fc.string({
  unit: fc.constantFrom(..."a|^~\\&\r\n\v\x1c\0#é\"'", "\\F\\", '""', "SAC|", "\rPID|"),
});
const anyValue = fc.oneof(anyText, fc.string({ unit: "binary" }));
const anySegment = fc
  .tuple(
    fc.constantFrom("PID", "ORC", "OBR", "SPM", "SAC", "OBX", "PV1", "DSC", "ZZZ"),
    fc.array(anyText, { maxLength: 20 }),
  )
  .map(([name, fields]) => [name, ...fields].join("|"));

describe("whatever comes in", () => {
  test("mapping an HL7 text never throws, and refuses with a reason or accepts with an order", () => {
    const type = fc.constantFrom("ORM^O01", "OML^O21", "OML^O33", "ADT^A04", "ORM");
    const message = fc.tuple(type, fc.array(anySegment, { maxLength: 12 })).map(([t, s]) => hl7Text(t, s));
    fc.assert(
      fc.property(fc.oneof(message, anyValue), (text) => {
        const mapped = mapOne(hl7, hl7Message(text));
        expect(mapped.verdict === "accepted" ? mapped.orders.length : mapped.problems.length).toBeGreaterThan(
          0,
        );
        expect(mapped.problems.map(({ code }) => code)).not.toContain("UNCLASSIFIED");
      }),
      { numRuns: 500 },
    );
  });

  test("mapping rows never throws", () => {
    const columns = [
      "order_number",
      "operation",
      "facility",
      "subject_code",
      "date_of_birth",
      "container_label",
      "x",
    ];
    const row = fc.dictionary(
      fc.constantFrom(...columns),
      fc.oneof(anyValue, fc.constantFrom("STORE", "NORTH")),
    );
    fc.assert(
      fc.property(fc.array(row, { maxLength: 4 }), (rows) => {
        const { problems } = mapOne(csv, csvMessage(rows));
        expect(problems.map(({ code }) => code)).not.toContain("UNCLASSIFIED");
      }),
      { numRuns: 300 },
    );
  });
});

describe("whatever the lab and the service write", () => {
  /** Names of segments that a message is made of, as another reader finds them. */
  const namesOf = (bytes: Buffer | undefined) =>
    Hl7Message.parse(bytes?.toString("utf8") ?? "").segments.map(({ name }) => name);

  test("a result has the segments that it was given, and no other", () => {
    const property = fc.property(
      anyValue,
      anyValue,
      fc.constantFrom(...ORDER_STATES.slice(3)),
      (a, b, state) => {
        const location = { storageName: a, canister: b, cane: a, position: b, storedAt: b };
        const order = {
          state,
          placerOrderNumber: a,
          subjectCode: phi(b),
          procedureCode: a,
          containers: [{ label: b, description: a, location }],
          reason: { code: "REQUEST_REJECTED" as const, text: a },
        };
        const bytes = composeHl7(changed(order, hl7Text("ORM^O01", ["PID|1||A"])), hl7)?.bytes;
        const names = namesOf(bytes);
        expect(names.slice(0, 5)).toEqual(["MSH", "PID", "ORC", "OBR", "NTE"]);
        expect(new Set(names.slice(5))).toEqual(new Set(["OBX"]));
        expect(bytes?.some((byte) => byte < 0x20 && byte !== 0x0d && byte !== 0x09)).toBe(false);
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  test("what is echoed of a message keeps the answer's structure", () => {
    const body = fc.array(anySegment, { maxLength: 8 });
    fc.assert(
      fc.property(body, (segments) => {
        const text = hl7Text("OML^O21", segments);
        for (const outcome of [
          acknowledged([outcomeOrder()], text),
          refused([{ code: "MAPPING_NO_PATIENT", place: at("PID"), message: "x" }], text),
          changed({}, text),
        ]) {
          const bytes = composeHl7(outcome, hl7)?.bytes;
          expect(namesOf(bytes)[0]).toBe("MSH");
          expect(bytes?.some((byte) => [0, 0x0b, 0x1c].includes(byte))).toBe(false);
        }
      }),
      { numRuns: 300 },
    );
  });
});
