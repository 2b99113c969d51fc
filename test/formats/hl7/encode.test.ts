import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeHl7 } from "../../../src/formats/hl7/charset.ts";
import { buildMessage, encodeHl7 } from "../../../src/formats/hl7/encode.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { failureOf } from "./failure-of.ts";

const MSH = "MSH|^~\\&|CRYO|STORE|LIMS|NORTH|20261122||ORU^R01|1|P|2.5||||||8859/1\r";
const written = (segments: string, header = MSH) =>
  decodeHl7(encodeHl7(header + segments, "iso-8859-1")).text.slice(header.length);
const refusal = (segments: string, header = MSH) =>
  failureOf(() => encodeHl7(header + segments, "iso-8859-1"));

describe("a message in a character set that is not UTF-8", () => {
  it("has the bytes of that set", () => {
    expect(encodeHl7(`${MSH}NTE|1|L|Müller\r`, "iso-8859-1").includes(Buffer.from([0x4d, 0xfc, 0x6c]))).toBe(
      true,
    );
  });

  it.each([
    ["a note", "NTE|1|L|ł\r", "NTE|1|L|[U+0142]\r"],
    ["the words of an acknowledgement", "MSA|AE|7|ł\r", "MSA|AE|7|[U+0142]\r"],
    ["the words of an error", "ERR||PID^1|101|E||||ł\r", "ERR||PID^1|101|E||||[U+0142]\r"],
    ["a text observation", "OBX|1|TX|A||ł~é\r", "OBX|1|TX|A||[U+0142]~é\r"],
    ["the words beside a code", "OBR|1|||CODE^ł^L\r", "OBR|1|||CODE^[U+0142]^L\r"],
    ["a reason", `ORC|OC${"|".repeat(15)}CODE^ł\r`, `ORC|OC${"|".repeat(15)}CODE^[U+0142]\r`],
  ])("spells a character that the set does not have in %s", (_, segments, expected) => {
    expect(written(segments)).toBe(expected);
  });

  it.each([
    ["a subject code", "PID|1||S-ł^^^NORTH\r", "PID-3.1"],
    ["a name", "PID|1||1||Łaska\r", "PID-5"],
    ["an order number", "ORC|SC|ł\r", "ORC-2"],
    ["a code beside its words", "OBR|1|||ł^words\r", "OBR-4.1"],
    ["a container label", "OBX|1|ST|CRYO-CONTAINER||ł\r", "OBX-5"],
    ["a place in the storage", "NTE|1\rSAC||||||||||ł\r", "SAC-10"],
    ["the control id that is answered", "MSA|AA|ł\r", "MSA-2"],
    ["a sender", "", "MSH-3"],
  ])("is refused where one would change %s, by place and without the value", (_, segments, place) => {
    const header = segments === "" ? MSH.replace("CRYO", "Łódź") : MSH;
    expect(refusal(segments, header)).toEqual({
      code: "RESULT_NOT_ENCODABLE",
      message: `${place} holds a character that iso-8859-1 does not have`,
    });
  });

  it("names which of several segments it is", () => {
    expect(refusal("OBX|1|ST|A||a\rOBX|2|ST|A||ł\r")?.message).toContain("OBX[2]-5 ");
  });

  it("spells so that delimiters of the message stay delimiters", () => {
    const odd = MSH.replaceAll("|", "[").replace("^~\\&", "^~\\+");
    expect(written("NTE[1[L[ł[x\r", odd)).toBe("NTE[1[L[\\F\\U\\T\\0142][x\r");
    expect(Hl7Message.parse(`${odd}NTE[1[L[\\F\\U\\T\\0142][x\r`).first("NTE")?.get(3)).toBe("[U+0142]");
  });

  it("has as many segments and fields as before, whatever a note holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (note) => {
        fc.pre(!note.includes("\0"));
        const text = buildMessage([
          ["MSH", "A", "B"],
          ["NTE", 1, "L", note, "END"],
        ]);
        const read = Hl7Message.parse(encodeHl7(text, "us-ascii").toString("latin1"));
        expect(read.segments.map(({ name }) => name)).toEqual(["MSH", "NTE"]);
        expect(read.first("NTE")?.get(4)).toBe("END");
      }),
    );
  });
});
