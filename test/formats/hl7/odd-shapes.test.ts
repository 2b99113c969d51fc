import { describe, expect, it } from "vitest";
import { decodeHl7 } from "../../../src/formats/hl7/charset.ts";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";
import { orderParts } from "../../../src/formats/hl7/groups.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { failureOf } from "./failure-of.ts";

const HEADER = "MSH|^~\\&|LIMS|NORTH|CRYO|BANK|20261121||ORU^R01|M1|P|2.5.1";
const read = (bytes: Buffer) => {
  const { text, encoding } = decodeHl7(bytes);
  return Hl7Message.parse(text, { encoding });
};

/** Shapes that messages of other projects have; the messages are invented. */
describe("odd messages that are read", () => {
  it("mixes line ends from segment to segment", () => {
    const text = `${HEADER}\nPID|1||A17\rOBX|1|TX|TEMP\r\nNTE|1\n\r`;
    const message = Hl7Message.parse(text);
    expect(message.segments.map(({ name }) => name)).toEqual(["MSH", "PID", "OBX", "NTE"]);
    expect(message.get("PID-3")).toBe("A17");
    expect(message.toString()).toBe(text);
  });

  it("has segments that are nothing but a name, with and without a separator", () => {
    const message = Hl7Message.parse(`${HEADER}\rPV1\rORC|\rZQ1||||\r`);
    expect(message.segments.map(({ raw }) => raw).slice(1)).toEqual(["PV1", "ORC|", "ZQ1||||"]);
    expect([message.get("PV1-2"), message.get("ORC-1"), message.get("ZQ1-3")]).toEqual(
      Array(3).fill(undefined),
    );
  });

  it("ends its header with MSH-2", () => {
    expect(Hl7Message.parse("MSH|^~\\&\rPID|1||A17\r").get("PID-3")).toBe("A17");
  });

  it("names another character where & stands elsewhere", () => {
    const message = Hl7Message.parse("MSH|^~\\}|LIMS\rPID|1||||Larsen}van^M & M\r");
    expect([message.get("PID-5"), message.get("PID-5.1.2"), message.get("PID-5.2")]).toEqual([
      "Larsen",
      "van",
      "M & M",
    ]);
  });

  it("lost the backslash of MSH-2 on its way, and so has no escapes but subcomponents", () => {
    const text = "MSH|^~&|LIMS\rPID|1||A17^^^CLINIC&1.2.3&ISO^MR||Larsen&van^Mia\rNTE|1||C:\\F\\x\r";
    const message = Hl7Message.parse(text);
    expect(message.delimiters).toMatchObject({ escape: "", subcomponent: "&" });
    expect([message.get("PID-3[4=CLINIC].1"), message.get("PID-5"), message.get("PID-5.2")]).toEqual([
      "A17",
      "Larsen",
      "Mia",
    ]);
    expect(message.get("NTE-3")).toBe("C:\\F\\x");
    expect(message.toString()).toBe(text);
  });

  it("uses formatting escapes, one right after the other, which stay as they are", () => {
    const text = "first\\.br\\\\H\\second\\N\\\\.br\\third";
    expect(Hl7Message.parse(`${HEADER}\rOBX|1|FT|NOTE||${text}\r`).get("OBX-5")).toBe(text);
  });

  it("holds base64 of a megabyte in one field", () => {
    const data = Buffer.alloc(786_432, 7).toString("base64");
    const message = Hl7Message.parse(
      `${HEADER}\rOBX|1|ED|PDF||^application^pdf^Base64^${data}\rNTE|1||end\r`,
    );
    expect(message.get("OBX-5.5")).toBe(data);
    expect(message.get("NTE-3")).toBe("end");
  });

  it("has many orders for one patient, each with what belongs to it", () => {
    const orders = Array.from({ length: 30 }, (_, n) => `ORC|NW|P${n}\rOBR|1|P${n}\rOBX|1|TX|A||${n}\r`).join(
      "",
    );
    const text = `${HEADER.replace("ORU^R01", "ORM^O01")}\rPID|1||A17\r${orders}`;
    const groups = orderParts(Hl7Message.parse(text), "ORC").groups;
    expect(groups.map(({ orc, others }) => [orc?.get(2), others[0]?.get(5)])).toEqual(
      Array.from({ length: 30 }, (_, n) => [`P${n}`, `${n}`]),
    );
  });
});

describe("odd messages that are refused, with the place and none of the words", () => {
  it("whose text goes on in a line of its own", () => {
    const failure = failureOf(() =>
      Hl7Message.parse(`${HEADER}\rOBX|1|FT|NOTE||Mia Larsen was\rseen today\r`),
    );
    expect(failure?.code).toBe("HL7_SEGMENT_INVALID");
    expect(failure?.message).toContain("line 3");
    expect(failure?.message).not.toContain("seen");
  });

  it.each([
    ["an escaped backslash in MSH-2", "MSH|^~\\\\&|LIMS\r"],
    ["an empty MSH-2", "MSH||LIMS|NORTH\r"],
    ["one character for all encoding characters", "MSH|&&&&|LIMS\r"],
    ["a comment instead of MSH-2", "MSH|#^~\\@#LIMS#NORTH\r"],
    ["nothing after the separator", "MSH|\r"],
  ])("with %s", (_words, text) => {
    expect(failureOf(() => Hl7Message.parse(text))?.code).toBe("HL7_DELIMITERS");
  });

  it("that declare Latin-1 and are UTF-8 beyond what Latin-1 has", () => {
    const bytes = Buffer.from(`${HEADER}||||||8859/1\rPID|1||||Dvo\u0159\u00e1k\r`);
    const failure = failureOf(() => read(bytes));
    expect(failure?.code).toBe("HL7_CHARSET_BYTES");
    expect(failure?.message).toContain(`byte ${bytes.indexOf(0x99)}`);
  });

  it("that declare nothing and are Latin-1", () => {
    const failure = failureOf(() => read(Buffer.from(`${HEADER}\rPID|1||||M\u00fcller\r`, "latin1")));
    expect(failure?.code).toBe("HL7_CHARSET_BYTES");
  });

  it.each([
    ["HL7_BATCH_COUNT", `BHS|^~\\&\r${HEADER}\r${HEADER}\rBTS|3\r`],
    ["HL7_BATCH_INCOMPLETE", `FHS|^~\\&\rBHS|^~\\&\r${HEADER}\r`],
    ["HL7_FILE_TEXT_OUTSIDE", `exported today\r${HEADER}\r`],
    ["HL7_FILE_BINARY", `${HEADER}\rOBX|1|ED|\0\r`],
  ])("as a file: %s", (code, text) => {
    expect(splitHl7File(Buffer.from(text)).problems.map((problem) => problem.code)).toContain(code);
  });
});
