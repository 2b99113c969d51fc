import iconv from "iconv-lite";
import { describe, expect, it } from "vitest";
import { decodeHl7, decodeIncoming } from "../../../src/formats/hl7/charset.ts";
import { failureOf } from "./failure-of.ts";

const message = (charset: string, name: string) =>
  `MSH|^~\\&|LIMS|NORTH|||20261121||ADT^A04|M1|P|2.5||||||${charset}\rPID|1||A17||${name}\r`;
const bytesOf = (charset: string, name: string, encoding: string) =>
  iconv.encode(message(charset, name), encoding);

describe("the character set of a message", () => {
  it.each([
    ["", "Mia", "utf-8", "utf-8"],
    ["ASCII", "Mia", "utf-8", "us-ascii"],
    ["ISO IR6", "Mia", "utf-8", "us-ascii"],
    ["UNICODE UTF-8", "Łukasz", "utf-8", "utf-8"],
    ["UTF-8", "Łukasz", "utf-8", "utf-8"],
    ["utf8", "Łukasz", "utf-8", "utf-8"],
    ["UNICODE", "Łukasz", "utf-8", "utf-8"],
    ["ISO IR192", "Łukasz", "utf-8", "utf-8"],
    ["8859/1", "Jürgen", "iso-8859-1", "iso-8859-1"],
    ["ISO8859-1", "Jürgen", "iso-8859-1", "iso-8859-1"],
    ["ISO-8859-1", "Jürgen", "iso-8859-1", "iso-8859-1"],
    ["ISO IR100", "Jürgen", "iso-8859-1", "iso-8859-1"],
    ["8859/2", "Łukasz", "iso-8859-2", "iso-8859-2"],
    ["8859/5", "Иван", "iso-8859-5", "iso-8859-5"],
    ["8859/7", "Νίκη", "iso-8859-7", "iso-8859-7"],
    ["8859/9", "Işık", "iso-8859-9", "iso-8859-9"],
    ["8859/15", "Žofie€", "iso-8859-15", "iso-8859-15"],
    ["WINDOWS-1252", "O’Brien", "windows-1252", "windows-1252"],
    ["CP1250", "Łukasz", "windows-1250", "windows-1250"],
    ["GB 18030-2000", "王小明", "gb18030", "gb18030"],
    ["BIG-5", "王小明", "big5", "big5"],
    ["KS X 1001", "김철수", "euc-kr", "euc-kr"],
    ["SHIFT_JIS", "山田", "shift_jis", "shift_jis"],
    ["8859/1~ISO IR87", "Jürgen", "iso-8859-1", "iso-8859-1"],
  ])("MSH-18 %j: %s is read as %s", (charset, name, written, encoding) => {
    const decoded = decodeHl7(bytesOf(charset, name, written));
    expect(decoded).toEqual({ text: message(charset, name), encoding });
  });

  it("is the site's override before MSH-18", () => {
    const raw = bytesOf("ASCII", "O’Brien", "windows-1252");
    expect(decodeHl7(raw, { override: "windows-1252" }).text).toBe(message("ASCII", "O’Brien"));
  });

  it("is the fallback where MSH-18 is empty, and only there", () => {
    expect(decodeHl7(bytesOf("", "Jürgen", "latin1"), { fallback: "8859/1" }).text).toContain("Jürgen");
    expect(decodeHl7(bytesOf("UTF-8", "Jürgen", "utf8"), { fallback: "8859/1" }).text).toContain("Jürgen");
  });

  it("is what a byte order mark says, whatever else is declared, and the mark is dropped", () => {
    const raw = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytesOf("8859/1", "Jürgen", "utf8")]);
    expect(decodeHl7(raw, { override: "windows-1252" })).toEqual({
      text: message("8859/1", "Jürgen"),
      encoding: "utf-8",
    });
  });

  it.each(["utf-16le", "utf-16be"])("is %s where the header has zero bytes", (encoding) => {
    const text = message("UNICODE UTF-16", "Łukasz 😀");
    expect(decodeHl7(iconv.encode(text, encoding, { addBOM: false }))).toEqual({ text, encoding });
    expect(decodeHl7(iconv.encode(text, encoding, { addBOM: true }))).toEqual({ text, encoding });
  });

  it("is found with other delimiters", () => {
    const text = message("8859/1", "Jürgen").replaceAll("|", "#");
    expect(decodeHl7(Buffer.from(text, "latin1")).text).toBe(text);
  });

  it.each([
    ["a name nobody knows", "KLINGON", {}, "Mia"],
    ["UTF-16 for bytes that are not", "UNICODE UTF-16", {}, "Mia"],
    ["an override nobody knows", "", { override: "KLINGON" }, "Mia"],
    ["character sets switched within the message", "~ISO IR87", {}, "\u001b$B;3\u001b(B"],
  ])("is refused: %s", (_, charset, options, name) => {
    const failure = failureOf(() => decodeHl7(Buffer.from(message(charset, name)), options));
    expect(failure?.code).toBe("HL7_CHARSET_UNKNOWN");
  });
});

describe("bytes that do not fit the character set", () => {
  it.each([
    ["ASCII", "ü", "latin1"],
    ["", "ü", "latin1"],
    ["UTF-8", "ü", "latin1"],
    ["UTF-8", "\xc0\x80", "latin1"],
    ["UTF-8", "\xed\xa0\x80", "latin1"],
    ["UTF-8", "\xf5\x80\x80\x80", "latin1"],
    ["UTF-8", "\xe2\x82", "latin1"],
    ["8859/1", "\x92", "latin1"],
    ["8859/7", "\xff", "latin1"],
    ["WINDOWS-1252", "\x81", "latin1"],
    ["GB 18030-2000", "\xff\xff", "latin1"],
    ["BIG-5", "\x81", "latin1"],
    ["SHIFT_JIS", "\xfd", "latin1"],
    ["KS X 1001", "\xff", "latin1"],
    // A syllable of Windows-949, which KS X 1001 doesn't have; the runtime's decoder makes control characters of it.
    ["KS X 1001", "\x8c\x63", "latin1"],
    ["EUC-JP", "\x80", "latin1"],
    ["BIG-5", "\x80", "latin1"],
  ])("are refused with their offset: %s, %j", (charset, name, written) => {
    const raw = bytesOf(charset, `Anna ${name}`, written);
    const offset = raw.indexOf("Anna ") + "Anna ".length;
    const failure = failureOf(() => decodeHl7(raw));
    expect(failure?.code).toBe("HL7_CHARSET_BYTES");
    expect(failure?.message).toContain(`byte ${offset} `);
  });

  it("are refused in UTF-16: half a character at the end, half a pair", () => {
    const whole = Buffer.from(message("", "Mia"), "utf16le");
    const odd = whole.subarray(0, whole.length - 1);
    expect(failureOf(() => decodeHl7(odd))?.message).toContain(`byte ${odd.length - 1} `);
    const lone = Buffer.from(message("", "\ud83d!"), "utf16le");
    expect(failureOf(() => decodeHl7(lone))?.message).toContain(
      `byte ${lone.indexOf("\ud83d", 0, "utf16le")} `,
    );
  });
});

describe("a message that is to be taken in", () => {
  const asUtf8 = (charset: string, name = "Müller") => bytesOf(charset, name, "utf-8");

  it.each(["8859/1", "8859/15", "8859/2", "WINDOWS-1252", "CP1250", "GB 18030-2000"])(
    "is refused when it is UTF-8 and MSH-18 says %s",
    (charset) => {
      for (const name of ["Müller", "MÜLLER Á", "Łukasz"]) {
        const failure = failureOf(() => decodeIncoming(asUtf8(charset, name)));
        expect(failure?.code).toBe("HL7_CHARSET_UTF8");
        expect(failure?.place).toEqual("line 2");
        expect(failure?.message).toMatch(/^is UTF-8 \(byte \d+ of the message\), and MSH-18 says /);
        expect(failure?.message).not.toContain(name);
      }
    },
  );

  it.each(["", "8859/1", "UNICODE UTF-8"])(
    "is refused when it is UTF-8 and the site says otherwise, whatever MSH-18 says (%j)",
    (charset) => {
      const failure = failureOf(() => decodeIncoming(asUtf8(charset), { override: "windows-1252" }));
      expect(failure?.code).toBe("HL7_CHARSET_UTF8");
      expect(failure?.message).toContain("and what was agreed for this interface says windows-1252");
    },
  );

  it("is refused when one of its segments is UTF-8 and others are not", () => {
    const mixed = Buffer.concat([bytesOf("8859/1", "Jürgen", "iso-8859-1"), Buffer.from("NTE|1||Müller\r")]);
    expect(failureOf(() => decodeIncoming(mixed))?.place).toEqual("line 3");
  });

  it("is read as the site says where that is forced", () => {
    const decoded = decodeIncoming(asUtf8(""), { override: "windows-1252", isForced: true });
    expect(decoded.text).toBe(message("", "MÃ¼ller"));
  });

  it("is read where it is ASCII, UTF-8 by its name, or what is said", () => {
    const options = { override: "windows-1252" };
    expect(decodeIncoming(bytesOf("8859/1", "Mia", "utf-8"), options).text).toBe(message("8859/1", "Mia"));
    expect(decodeIncoming(asUtf8("UNICODE UTF-8")).text).toBe(message("UNICODE UTF-8", "Müller"));
    expect(decodeIncoming(asUtf8("")).text).toBe(message("", "Müller"));
    const latin = bytesOf("8859/1", "Jürgen", "iso-8859-1");
    expect(decodeIncoming(latin).text).toBe(message("8859/1", "Jürgen"));
  });
});
