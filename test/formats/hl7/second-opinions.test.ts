import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Hl7Message as MedplumMessage } from "@medplum/core";
import fc from "fast-check";
import { Message as ClientMessage } from "node-hl7-client";
import { describe, expect, it } from "vitest";
import { buildMessage } from "../../../src/formats/hl7/encode.ts";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { leavesOf } from "../../../src/formats/hl7/tree.ts";
import { viewHl7 } from "../../../src/mapping/profile/module.ts";
import { ourReading } from "../../support/peer-readings.ts";
import { readStandard, type StandardMessage, standardReading } from "../../support/standard-lab.ts";

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
    const message = readStandard(text);
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

const CONFIG = join(import.meta.dirname, "../../../config");
/** All HL7 messages of the samples and of the profiles' tests, byte by byte as Latin-1: engines differ in character sets. */
const SAMPLES = ["samples/hl7", "samples/waiting/hl7", "samples/broken/hl7", "profile-tests"].flatMap(
  (folder) =>
    readdirSync(join(CONFIG, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".hl7"))
      .map((name) => [name, readFileSync(join(CONFIG, folder, name), "latin1")] as const),
);
/** What we refuse as a whole is no text for others to read. */
const READABLE = SAMPLES.flatMap(([name, text]) => {
  const { parts } = splitHl7File(Buffer.from(text, "latin1"));
  return parts.length === 0 ? [] : [[name, text, parts.map(({ raw }) => raw.toString("latin1"))] as const];
});

describe("hl7-standard and this engine", () => {
  it.each(READABLE)("read the same in %s", (_name, text, parts) => {
    const theirs = readStandard(text);
    const messages: readonly StandardMessage[] = theirs.isBatch()
      ? theirs.container
      : parts.map(readStandard);
    expect(messages.map(standardReading)).toEqual(parts.map(ourReading));
  });

  it.each(READABLE)("give a module the same values of %s", (_name, _text, parts) => {
    for (const text of parts) {
      const [ours, theirs] = [Hl7Message.parse(text), readStandard(text)];
      const view = viewHl7(ours);
      for (const segment of ours.segments) {
        for (const { field, repetition, component = 1, subcomponent = 1 } of leavesOf(segment, ours)) {
          const at = [segment.ordinal - 1, repetition - 1, subcomponent - 1] as const;
          const path = `${segment.name}.${field}.${component}`;
          // Where they differ is said below.
          const isBare = !/[~^]/.test(segment.field(field));
          if (path === "MSH.1.1" || (subcomponent > 1 && isBare)) continue;
          const value = theirs.get(path, ...at);
          // Theirs as it stands in the message; a module gets it decoded.
          if (typeof value !== "string" || !value.includes("\\"))
            expect([path, ...at, view.get(path, ...at)]).toEqual([path, ...at, value]);
        }
      }
    }
  });

  it("differ in a field of subcomponents alone, which are no repetitions (HL7 2.5, chapter 2.5.5)", () => {
    const text = "MSH|^~\\&|LIMS\rZA1|a&b\r";
    expect(readStandard(text).get("ZA1.1.1", 0, 1)).toBe("b");
    const view = viewHl7(Hl7Message.parse(text));
    expect([view.get("ZA1.1.1", 0, 1), view.get("ZA1.1.1", 0, 0, 1)]).toEqual([null, "b"]);
  });

  it("differ in MSH-1, which is the field separator itself (HL7 2.5, chapter 2.15.9.1)", () => {
    const text = "MSH|^~\\&|LIMS\r";
    expect(readStandard(text).get("MSH.1")).toBeNull();
    expect(viewHl7(Hl7Message.parse(text)).get("MSH.1")).toBe("|");
  });

  it("differ in delimiters, which MSH-1 and MSH-2 say (HL7 2.5, chapter 2.5.4)", () => {
    const text = "MSH|$~\\&|LIMS$7\rZA1|a$b\r";
    expect(readStandard(text).get("ZA1.1.2")).toBeNull();
    expect(viewHl7(Hl7Message.parse(text)).get("ZA1.1.2")).toBe("b");
  });
});
