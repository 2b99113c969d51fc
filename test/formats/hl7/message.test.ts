import { describe, expect, it } from "vitest";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { failureOf } from "./failure-of.ts";
import { ORDER, ORDER_LINES } from "./sample.ts";

describe("reading a message", () => {
  it("gives the values of its header", () => {
    expect(Hl7Message.parse(ORDER).header).toMatchObject({
      sendingApplication: "LIMS",
      sendingApplicationParts: ["LIMS", "1.2.3", "ISO"],
      sendingFacility: "NORTH",
      messageControlId: "MSG0001",
      messageCode: "ORM",
      triggerEvent: "O01",
      structure: undefined,
      processingId: "P",
      version: "2.3",
      acceptAckType: "AL",
      applicationAckType: "NE",
      characterSet: "8859/1",
    });
  });

  it.each([
    ["CR", "\r"],
    ["LF", "\n"],
    ["CRLF", "\r\n"],
  ])("finds every segment of a message whose lines end with %s", (_, lineEnd) => {
    const message = Hl7Message.parse(ORDER_LINES.join(lineEnd));
    expect(message.segments.map((segment) => segment.raw)).toEqual(ORDER_LINES);
  });

  it("passes over blank lines and a byte order mark", () => {
    const message = Hl7Message.parse(`\ufeff${ORDER_LINES.join("\r\n\r\n")}\r\n\r\n`);
    expect(message.segments).toHaveLength(ORDER_LINES.length);
  });

  it("keeps segments in their order and counts those of a name", () => {
    const message = Hl7Message.parse(ORDER);
    expect(message.segments.map((segment) => segment.name)).toEqual([
      "MSH",
      "PID",
      "ORC",
      "OBR",
      "OBX",
      "OBX",
      "NTE",
    ]);
    expect(message.all("OBX").map(({ index, ordinal }) => [index, ordinal])).toEqual([
      [4, 1],
      [5, 2],
    ]);
    expect(message.all("SPM")).toEqual([]);
    expect(message.first("SPM")).toBeUndefined();
  });

  it("counts MSH-1 and MSH-2 as the standard does and does not take them apart", () => {
    const msh = Hl7Message.parse(ORDER).segments[0]!;
    expect([msh.field(1), msh.field(2), msh.field(4)]).toEqual(["|", "^~\\&", "NORTH"]);
    expect(msh.get(2)).toBe("^~\\&");
    expect(msh.repetitions(2)).toBe(1);
  });

  it("takes the first part where a level is not given", () => {
    const pid = Hl7Message.parse(ORDER).first("PID")!;
    expect(pid.get(5)).toBe("Larsen");
    expect(pid.get(5, 1, 1, 2)).toBe("van");
    expect(pid.get(3, 2, 5)).toBe("NI");
    expect(pid.repetitions(3)).toBe(2);
    expect(pid.repetitions(4)).toBe(0);
  });

  it("keeps absent and deleted values apart", () => {
    const pid = Hl7Message.parse(`${ORDER_LINES[0]}\rPID|1||""||^|`).first("PID")!;
    expect(pid.get(3)).toBe('""');
    expect([pid.get(4), pid.get(5), pid.get(6), pid.get(99), pid.get(0)]).toEqual(Array(5).fill(undefined));
  });

  it("is byte-identical on output, whatever was read before", () => {
    const text = `${ORDER_LINES.join("\n")}\n\nZXX|||\n`;
    const message = Hl7Message.parse(text);
    message.get("PID-3[5=NI].1");
    message.get("ZXX-40.3.2");
    expect(message.toString()).toBe(text);
    expect(message.first("ZXX")!.raw).toBe("ZXX|||");
  });
});

describe("a text that is no message", () => {
  it.each([
    ["empty text", "", "HL7_NO_MSH"],
    ["blank lines", "\r\n\r\n", "HL7_NO_MSH"],
    ["a message without MSH", "PID|1||A17\r", "HL7_NO_MSH"],
    ["MSH after a space", " MSH|^~\\&|\r", "HL7_NO_MSH"],
    ["MSH alone", "MSH", "HL7_DELIMITERS"],
    ["letters as delimiters", "MSHAAAAA", "HL7_DELIMITERS"],
    ["one character for all delimiters", "MSH|||||", "HL7_DELIMITERS"],
    ["a delimiter twice", "MSH|^~^&|", "HL7_DELIMITERS"],
    ["a space as delimiter", "MSH|^ \\&|", "HL7_DELIMITERS"],
    ["a delimiter outside ASCII", "MSH|^~\\é|", "HL7_DELIMITERS"],
    ["six encoding characters", "MSH|^~\\&#!|", "HL7_DELIMITERS"],
    ["a line without separator", "MSH|^~\\&|\rsome text\r", "HL7_SEGMENT_INVALID"],
    ["a lower-case segment", "MSH|^~\\&|\rpid|1\r", "HL7_SEGMENT_INVALID"],
    ["a segment with other delimiters", "MSH|^~\\&|\rPID^1\r", "HL7_SEGMENT_INVALID"],
    ["a two-letter segment", "MSH|^~\\&|\rPI\r", "HL7_SEGMENT_INVALID"],
    ["a second message", "MSH|^~\\&|\rMSH|^~\\&|\r", "HL7_SECOND_HEADER"],
    ["a batch trailer", "MSH|^~\\&|\rBTS|1\r", "HL7_SECOND_HEADER"],
  ])("refuses %s", (_, text, code) => {
    expect(failureOf(() => Hl7Message.parse(text))?.code).toBe(code);
  });

  it("names the line that is no segment, and none of its words", () => {
    const failure = failureOf(() => Hl7Message.parse(`${ORDER_LINES[0]}\r\n\r\nMia Larsen\r\n`));
    expect(failure?.message).toContain("line 3");
    expect(failure?.message).not.toContain("Mia");
  });
});

describe("delimiters", () => {
  it("are those that the message declares", () => {
    const message = Hl7Message.parse("MSH#*!?%#LIMS#NORTH\rPID#1##A17***CLINIC*MR!B9##Larsen%van*M?S?ia\r");
    expect(message.get("MSH-4")).toBe("NORTH");
    expect(message.get("PID-3[5=MR].1")).toBe("A17");
    expect(message.get("PID-3[2].1")).toBe("B9");
    expect(message.get("PID-5.1.2")).toBe("van");
    expect(message.get("PID-5.2")).toBe("M*ia");
  });

  it("may hold a truncation character, whose escape is then decoded", () => {
    const message = Hl7Message.parse("MSH|^~\\&#|LIMS\rNTE|1||50\\P\\ full\r");
    expect(message.delimiters.truncation).toBe("#");
    expect(message.get("NTE-3")).toBe("50# full");
  });

  it("may leave out the escape and subcomponent characters", () => {
    const message = Hl7Message.parse("MSH|^~|LIMS\rNTE|1||C:\\S\\ & more\r");
    expect(message.get("NTE-3")).toBe("C:\\S\\ & more");
  });
});

// Work that grows with the square of the size would take hours here: the tests' time limit is the assertion.
describe("hostile messages", () => {
  it("refuses a million segments in linear time, and reads as many as are taken", () => {
    const textOf = (count: number) => `${ORDER_LINES[0]}\r${"ZZZ\r".repeat(count)}`;
    expect(failureOf(() => Hl7Message.parse(textOf(1_000_000)))).toMatchObject({
      code: "HL7_STRUCTURE",
      message: "1000001 segments, expected at most 20000; the orders go in several messages",
    });
    const message = Hl7Message.parse(textOf(19_999));
    let emptyCount = 0;
    for (const segment of message.all("ZZZ")) if (segment.get(1) === undefined) emptyCount++;
    expect(emptyCount).toBe(19_999);
  });

  it("selects among a million repetitions in linear time", () => {
    const text = `${ORDER_LINES[0]}\rPID|1||${"A~".repeat(1_000_000)}B^^^^MR`;
    expect(Hl7Message.parse(text).get("PID-3[5=MR].1")).toBe("B");
  });

  it.each([
    ["is there", "|B", "B"],
    ["isn't there", "", undefined],
  ])(
    "goes past a long field once, however often a field after it is asked for that %s",
    (_, after, expected) => {
      const text = `${ORDER_LINES[0]}\rSPM|1|A|||${"x".repeat(8_000_000)}${after}`;
      const specimen = Hl7Message.parse(text).first("SPM")!;
      let misreadCount = 0;
      for (let round = 0; round < 500_000; round++) {
        if (specimen.get(2) !== "A" || specimen.get(6) !== expected) misreadCount++;
      }
      expect(misreadCount).toBe(0);
    },
  );

  it("reads the last of a million components, and a million escapes, in linear time", () => {
    const text = `${ORDER_LINES[0]}\rNTE|1||${"\\T\\".repeat(1_000_000)}|${"^".repeat(999_999)}x`;
    const note = Hl7Message.parse(text).first("NTE")!;
    expect(note.get(3)).toHaveLength(1_000_000);
    expect(note.get(4, 1, 1_000_000)).toBe("x");
  });
});
