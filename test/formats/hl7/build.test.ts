import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { STANDARD_DELIMITERS } from "../../../src/formats/hl7/delimiters.ts";
import { buildMessage, type Field, Repeated, type SegmentSpec } from "../../../src/formats/hl7/encode.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { anyDelimiters } from "./any-delimiters.ts";
import { failureOf } from "./failure-of.ts";

const MSH: SegmentSpec = [
  "MSH",
  "CRYO",
  "BANK",
  "LIMS",
  "NORTH",
  "20261121",
  undefined,
  ["ORU", "R01"],
  "C1",
  "P",
  "2.5",
];

describe("building a message", () => {
  it("writes fields, components, subcomponents and repetitions, and CR after each segment", () => {
    const text = buildMessage([
      MSH,
      [
        "PID",
        1,
        undefined,
        new Repeated(["A17", undefined, undefined, "CLINIC", "MR"], "998"),
        undefined,
        [["Larsen", "van"], "Mia"],
      ],
      ["NTE"],
    ]);
    expect(text).toBe(
      "MSH|^~\\&|CRYO|BANK|LIMS|NORTH|20261121||ORU^R01|C1|P|2.5\r" +
        "PID|1||A17^^^CLINIC^MR~998||Larsen&van^Mia\r" +
        "NTE\r",
    );
  });

  it("leaves out empty parts at the end of anything", () => {
    expect(
      buildMessage([MSH, ["PID", "", ["", undefined], new Repeated(["", ""], ""), ["a", ["", ""]], ""]]),
    ).toMatch(/\rPID\|\|\|\|a\r$/);
  });

  it("declares the delimiters that it uses", () => {
    const delimiters = {
      field: "#",
      component: "*",
      repetition: "!",
      escape: "?",
      subcomponent: "%",
      truncation: "=",
    };
    const text = buildMessage(
      [
        ["MSH", "CRYO"],
        ["NTE", undefined, undefined, ["a*b=", "c?d"]],
      ],
      { delimiters },
    );
    expect(text).toBe("MSH#*!?%=#CRYO\rNTE###a?S?b?P?*c?E?d\r");
    expect(Hl7Message.parse(text).delimiters).toEqual(delimiters);
  });

  it.each([
    ["no segment", []],
    ["another segment first", [["PID", 1]]],
    ["a second MSH", [MSH, MSH]],
    ["a lower-case name", [MSH, ["pid"]]],
    ["a name that would inject a field", [MSH, ["NTE|1"]]],
    ["a name that would inject a segment", [MSH, ["N\rZ"]]],
    ["a number that is none", [MSH, ["NTE", Number.NaN]]],
    [
      "one that is none in a part",
      [MSH, ["NTE", 1, new Repeated("a", ["b", [1, Number.POSITIVE_INFINITY]])]],
    ],
  ] as [string, SegmentSpec[]][])("refuses %s", (_, segments) => {
    expect(() => buildMessage(segments)).toThrow(RangeError);
  });

  it("refuses delimiters that no reader could use", () => {
    const delimiters = { ...STANDARD_DELIMITERS, component: "|" };
    expect(failureOf(() => buildMessage([MSH], { delimiters }))?.code).toBe("HL7_DELIMITERS");
  });
});

/** Values without the line breaks, which are written as formatting and stay so. */
const anyValue = fc
  .oneof(
    fc.string({ unit: "binary", maxLength: 12 }),
    fc.stringMatching(/^[|^~\\&#\r\nXFSTREP.0-9A-F]{0,12}$/),
    fc.constantFrom("\\.br\\", "\\F\\", "ends with \\", "\r\nPID|1", "\u001c\r", '""'),
  )
  .map((text) => text.replace(/\0/g, ""));
const withoutBreaks = (value: string) => value.replace(/[\r\n]/g, "");
const anyComponent = fc.oneof(anyValue, fc.array(anyValue, { minLength: 1, maxLength: 3 }));
const anyRepetition = fc.oneof(anyValue, fc.array(anyComponent, { minLength: 1, maxLength: 4 }));
const anyField: fc.Arbitrary<Field> = fc.oneof(
  anyRepetition,
  fc.array(anyRepetition, { minLength: 1, maxLength: 3 }).map((fields) => new Repeated(...fields)),
);
const anySegment = fc
  .tuple(fc.constantFrom("PID", "OBX", "ZA1", "NTE"), fc.array(anyField, { maxLength: 6 }))
  .map(([name, fields]): SegmentSpec => [name, ...fields]);

describe("whatever values a message is built from", () => {
  it("has as many segments as were given, with their names, under any delimiters", () => {
    fc.assert(
      fc.property(fc.array(anySegment, { maxLength: 5 }), anyDelimiters, (segments, delimiters) => {
        const message = Hl7Message.parse(buildMessage([MSH, ...segments], { delimiters }));
        expect(message.segments.map((segment) => segment.name)).toEqual([
          "MSH",
          ...segments.map(([name]) => name),
        ]);
      }),
    );
  });

  it("gives each value back where it was put, under any delimiters", () => {
    const values = fc.array(
      fc.array(
        fc.array(fc.array(anyValue.map(withoutBreaks), { minLength: 1, maxLength: 3 }), {
          minLength: 1,
          maxLength: 3,
        }),
        { minLength: 1, maxLength: 3 },
      ),
      { minLength: 1, maxLength: 4 },
    );
    fc.assert(
      fc.property(values, anyDelimiters, (fields, delimiters) => {
        const segment: SegmentSpec = ["ZA1", ...fields.map((repetitions) => new Repeated(...repetitions))];
        const read = Hl7Message.parse(buildMessage([MSH, segment], { delimiters }), {
          encoding: "utf-8",
        }).first("ZA1")!;
        for (const [f, repetitions] of fields.entries()) {
          for (const [r, components] of repetitions.entries()) {
            for (const [c, subcomponents] of components.entries()) {
              for (const [s, value] of subcomponents.entries()) {
                expect(read.get(f + 1, r + 1, c + 1, s + 1)).toBe(value === "" ? undefined : value);
              }
            }
          }
        }
      }),
    );
  });

  it("is written the same again when its own values are read and built once more", () => {
    fc.assert(
      fc.property(fc.array(anyValue.map(withoutBreaks), { minLength: 1, maxLength: 6 }), (values) => {
        const once = buildMessage([MSH, ["ZA1", ...values]]);
        const read = Hl7Message.parse(once).first("ZA1")!;
        expect(buildMessage([MSH, ["ZA1", ...values.map((_, i) => read.get(i + 1))]])).toBe(once);
      }),
    );
  });
});
