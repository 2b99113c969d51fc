import { createRequire } from "node:module";
import { Hl7Message as MedplumMessage } from "@medplum/core";
import fc from "fast-check";
import { Message as ClientMessage } from "node-hl7-client";
import { describe, expect, it } from "vitest";
import { buildMessage } from "../../../src/formats/hl7/encode.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";

interface StandardMessage {
  transform(): void;
  get(path: string): unknown;
}
const StandardMessage = createRequire(import.meta.url)("hl7-standard") as new (
  text: string,
  options?: { readonly lineEndings: string },
) => StandardMessage;

/** How another engine reads the first repetition of a field of the first segment of a name; empty when there is nothing. */
type Reader = (text: string) => (segment: string, field: number, component: number) => unknown;

const READERS: Readonly<Record<string, Reader>> = {
  "@medplum/core": (text) => {
    const message = MedplumMessage.parse(text);
    return (segment, field, component) => message.getSegment(segment)?.getComponent(field, component) ?? "";
  },
  "node-hl7-client": (text) => {
    const message = new ClientMessage({ text });
    return (segment, field, component) => message.get(`${segment}.${field}.${component}`).toString();
  },
  "hl7-standard": (text) => {
    const message = new StandardMessage(text, { lineEndings: "\r" });
    message.transform();
    return (segment, field, component) => message.get(`${segment}.${field}.${component}`) ?? "";
  },
};

const MSH = [
  "MSH",
  "LIMS",
  "NORTH",
  "CRYO",
  "BANK",
  "20261121",
  undefined,
  ["ORU", "R01"],
  "C1",
  "P",
  "2.5",
] as const;
/** What all of them agree on: the usual delimiters, CR, no escapes, two components at least, no subcomponents. */
const plain = fc.stringMatching(/^[A-Za-z0-9.:-][A-Za-z0-9 .:-]{0,7}$/).map((text) => text.trim());
const fields = fc.array(fc.array(plain, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 });

/** They are right on plain messages; where each of them is not is said in docs/decisions/0001. */
describe.each(Object.entries(READERS))("%s as a second opinion", (_name, reader) => {
  it("finds the same components of a message that this engine built", () => {
    fc.assert(
      fc.property(fields, (values) => {
        const text = buildMessage([MSH, ["ZA1", ...values], ["NTE", 1]]);
        const theirs = reader(text);
        const ours = Hl7Message.parse(text);
        values.forEach((components, f) => {
          components.forEach((_value, c) => {
            expect(ours.get(`ZA1-${f + 1}.${c + 1}`)).toBe(theirs("ZA1", f + 1, c + 1));
          });
        });
      }),
      { numRuns: 50 },
    );
  });

  it("counts the fields of MSH alike", () => {
    const text = buildMessage([MSH]);
    const theirs = reader(`${text}PID|1\r`);
    const header = Hl7Message.parse(text).segments[0];
    for (const [field, component] of [
      [3, 1],
      [4, 1],
      [9, 1],
      [9, 2],
      [10, 1],
      [12, 1],
    ] as const) {
      expect(header?.get(field, 1, component)).toBe(theirs("MSH", field, component));
    }
  });
});
