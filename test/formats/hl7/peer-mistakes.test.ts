import { describe, expect, it } from "vitest";
import { buildMessage } from "../../../src/formats/hl7/encode.ts";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { failureOf } from "./failure-of.ts";

/** Each was seen in an HL7 library of others; what the wire needs is tested with MLLP. */
describe("mistakes of others that are not made here", () => {
  const MSH = "MSH|^~\\&|LIMS|NORTH|CRYO|BANK|20261121||ORM^O01|M1|P|2.5";

  it("other delimiters are not ignored, and the header is not rewritten", () => {
    const text = "MSH!@~\\&!LIMS!NORTH\rPID!1!!A17@@@@MR\r";
    const message = Hl7Message.parse(text);
    expect(message.get("PID-3.5")).toBe("MR");
    expect(message.toString()).toBe(text);
  });

  it("escapes are decoded, and field and component are not swapped", () => {
    expect(Hl7Message.parse(`${MSH}\rNTE|1||a\\F\\b\\S\\c`).get("NTE-3")).toBe("a|b^c");
  });

  it("a field that ends in an escape character is not lost", () => {
    const message = Hl7Message.parse(`${MSH}\rNTE|1||C:\\|next`);
    expect([message.get("NTE-3"), message.get("NTE-4")]).toEqual(["C:\\", "next"]);
  });

  it("a formatted line break stays as it was", () => {
    expect(Hl7Message.parse(`${MSH}\rNTE|1||one\\.br\\two`).get("NTE-3")).toBe("one\\.br\\two");
  });

  it("subcomponents do not come back as repetitions", () => {
    expect(buildMessage([["MSH"], ["NTE", [["A", "B"]]]])).toBe("MSH|^~\\&\rNTE|A&B\r");
  });

  it("reading and writing neither lengthens segments, changes line ends nor regroups", () => {
    const text = `${MSH}\nOBX|1|TX|A\nNTE|1\nOBX|2|TX|B\nNTE|2\n`;
    const once = Hl7Message.parse(text);
    for (const segment of once.segments) segment.get(9, 2, 2);
    expect(Hl7Message.parse(once.toString()).toString()).toBe(text);
  });

  it("a value with a line break adds no segment", () => {
    const message = Hl7Message.parse(buildMessage([["MSH"], ["NTE", "1", "", "x\rPID|1||B9\nORC|CA"]]));
    expect(message.segments).toHaveLength(2);
  });

  it("a decoded carriage return that is written again adds no segment", () => {
    const value = Hl7Message.parse(`${MSH}\rNTE|1||x\\X0D\\PID`).get("NTE-3");
    expect(value).toBe("x\rPID");
    expect(Hl7Message.parse(buildMessage([["MSH"], ["NTE", value]])).segments).toHaveLength(2);
  });

  it.each(["\n", "\r\n"])("lines ended by %j are not read as the header alone", (lineEnd) => {
    expect(Hl7Message.parse(`${MSH}${lineEnd}PID|1${lineEnd}`).segments).toHaveLength(2);
  });

  it("two messages in one text are not merged", () => {
    expect(failureOf(() => Hl7Message.parse(`${MSH}\rPID|1\r${MSH}\rPID|2\r`))?.code).toBe(
      "HL7_SECOND_HEADER",
    );
    expect(splitHl7File(Buffer.from(`${MSH}\rPID|1\r${MSH}\rPID|2\r`)).parts).toHaveLength(2);
  });

  it("a batch is not read as one message, with or without a final line end", () => {
    const batch = `BHS|^~\\&\r${MSH}\r${MSH}\rBTS|2`;
    for (const text of [batch, `${batch}\r`]) expect(splitHl7File(Buffer.from(text)).parts).toHaveLength(2);
  });

  it("a text without MSH is not accepted", () => {
    expect(failureOf(() => Hl7Message.parse("PID|1||A17\r"))?.code).toBe("HL7_NO_MSH");
  });

  it("a line without a separator does not vanish", () => {
    expect(failureOf(() => Hl7Message.parse(`${MSH}\rcontinued\rPID|1`))?.code).toBe("HL7_SEGMENT_INVALID");
  });

  it("reading a field that is not there adds none", () => {
    const message = Hl7Message.parse(`${MSH}\rPID|1\r`);
    message.get("PID-30.4.2");
    message.get("ZZ9-1");
    expect(message.toString()).toBe(`${MSH}\rPID|1\r`);
    expect(message.first("PID")?.raw).toBe("PID|1");
  });

  it("dates are not rewritten", () => {
    expect(Hl7Message.parse(`${MSH}\rPID|||||||1984022923+0100`).get("PID-7")).toBe("1984022923+0100");
  });
});
