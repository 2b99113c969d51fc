import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeText, STANDARD_DELIMITERS, unescapeText } from "../../../src/formats/hl7/delimiters.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { anyDelimiters } from "./any-delimiters.ts";

const decode = (text: string, encoding?: "utf-8" | "iso-8859-1") =>
  unescapeText(text, STANDARD_DELIMITERS, encoding);

describe("decoding escapes", () => {
  it.each([
    ["\\F\\", "|"],
    ["\\S\\", "^"],
    ["\\T\\", "&"],
    ["\\R\\", "~"],
    ["\\E\\", "\\"],
    ["a\\T\\b\\F\\c", "a&b|c"],
    ["\\E\\F\\E\\", "\\F\\"],
    ["\\X41\\\\X4a\\", "AJ"],
    ["\\X0D0A\\", "\r\n"],
  ])("reads %s as %j", (text, value) => {
    expect(decode(text)).toBe(value);
  });

  it.each([
    ["line\\.br\\break"],
    ["\\H\\bold\\N\\"],
    ["\\.sp+2\\"],
    ["\\C2842\\"],
    ["\\Z17\\"],
    ["\\Q\\"],
    ["\\P\\"],
    ["\\X4\\"],
    ["\\XGG\\"],
    ["\\X\\"],
    ["ends with \\"],
    ["C:\\dir"],
    ["\\\\"],
  ])("keeps %s as it stands", (text) => {
    expect(decode(text)).toBe(text);
  });

  it("reads hexadecimal bytes in the message's character set", () => {
    expect(decode("M\\XC3BC\\ller", "utf-8")).toBe("Müller");
    expect(decode("M\\XFC\\ller", "iso-8859-1")).toBe("Müller");
  });

  it("keeps hexadecimal bytes that the character set does not have", () => {
    expect(decode("M\\XFC\\ller", "utf-8")).toBe("M\\XFC\\ller");
  });

  it("takes the character set from MSH-18 when the caller names none", () => {
    const message = Hl7Message.parse("MSH|^~\\&|||||||||||||||| 8859/1 \rNTE|1||\\XFC\\");
    expect(message.get("NTE-3")).toBe("ü");
    const named = Hl7Message.parse(message.toString(), { encoding: "utf-8" });
    expect(named.get("NTE-3")).toBe("\\XFC\\");
  });
});

describe("encoding values", () => {
  it("writes a line break as a formatting escape", () => {
    expect(escapeText("a\r\nb\rc\nd", STANDARD_DELIMITERS)).toBe("a\\.br\\b\\.br\\c\\.br\\d");
  });

  it("writes a line break in hexadecimal where the dot is a delimiter", () => {
    expect(escapeText("a\r\nb", { ...STANDARD_DELIMITERS, subcomponent: "." })).toBe("a\\X0D\\b");
  });

  it("writes MLLP's bytes and other control characters in hexadecimal", () => {
    expect(escapeText("\u000b\u001c\t\u007f", STANDARD_DELIMITERS)).toBe("\\X0B\\\\X1C\\\t\\X7F\\");
  });

  it("leaves NUL out, which no message can carry", () => {
    expect(escapeText("a\0b\0", STANDARD_DELIMITERS)).toBe("ab");
  });

  it("is undone by decoding, for any value and any delimiters", () => {
    const value = fc.string({ unit: "binary" }).map((text) => text.replace(/[\0\r\n]/g, ""));
    fc.assert(
      fc.property(value, anyDelimiters, (text, delimiters) => {
        expect(unescapeText(escapeText(text, delimiters), delimiters)).toBe(text);
      }),
    );
  });

  it("leaves no delimiter and no control character but tab in the text", () => {
    const value = fc.string({ unit: "binary" }).map((text) => text.replace(/\0/g, ""));
    fc.assert(
      fc.property(value, anyDelimiters, (text, delimiters) => {
        const { field, component, repetition, subcomponent, truncation } = delimiters;
        const written = [...escapeText(text, delimiters)];
        const isForbidden = (character: string) =>
          [field, component, repetition, subcomponent, truncation].includes(character) ||
          (character < " " && character !== "\t");
        expect(written.filter(isForbidden)).toEqual([]);
      }),
    );
  });
});
