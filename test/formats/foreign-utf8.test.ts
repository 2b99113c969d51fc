import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import type { Encoding } from "../../src/formats/encoding.ts";
import { findUtf8 } from "../../src/formats/misguess.ts";

const OTHERS = [
  "windows-1252",
  "windows-1250",
  "iso-8859-1",
  "iso-8859-2",
  "iso-8859-15",
  "gb18030",
  "shift_jis",
] as const;

describe("bytes that are said to be of another encoding", () => {
  test.each(OTHERS)("and are UTF-8 are found, with line and offset, where %s is said", (encoding) => {
    for (const name of ["Müller", "Łukasz", "É", "王", "O’Brien", "🧊"]) {
      expect(findUtf8(Buffer.from(`a\r\nb\rc\nname ${name}\r`), encoding).foreign).toEqual({
        line: 4,
        offset: 12 + [...name].findIndex((character) => character > "\x7f"),
      });
    }
  });

  test.each<[Encoding, string]>([
    ["windows-1252", "Müller"],
    ["windows-1252", "René Ångström, 5 µl, −196 °C"],
    ["windows-1250", "Łukasz Żółć"],
    ["windows-1251", "Иван Ёлкин"],
    ["iso-8859-1", "JOSÉ MUÑOZ"],
    ["iso-8859-2", "Półtorak, Šťastný"],
    ["iso-8859-7", "Νίκη"],
    ["gb18030", "王小明"],
    ["shift_jis", "山田"],
    ["euc-kr", "김철수"],
  ])("and are indeed %s are left alone: %s", (encoding, text) => {
    expect(findUtf8(iconv.encode(`x\r${text}\r`, encoding), encoding).foreign).toBeUndefined();
  });

  test("are found in one line among lines that are right, in a set of single bytes", () => {
    const mixed = Buffer.concat([
      iconv.encode("Jürgen\n", "windows-1252"),
      Buffer.from("Müller\n"),
      iconv.encode("José\n", "windows-1252"),
    ]);
    expect(findUtf8(mixed, "windows-1252").foreign).toEqual({ line: 2, offset: 8 });
    expect(findUtf8(mixed, "gb18030").foreign).toBeUndefined();
  });

  test.each([
    ["ASCII", Buffer.from("plain\rtext\r")],
    ["nothing", Buffer.alloc(0)],
    ["UTF-8 with a byte order mark", Buffer.from("\ufeffMüller\n")],
    ["UTF-16", Buffer.from("\ufeffMüller\n", "utf16le")],
    ["UTF-16 without a mark", Buffer.from("\u8fc2,1\n", "utf16le")],
  ])("are left alone where they are %s", (_, bytes) => {
    for (const encoding of OTHERS) expect(findUtf8(bytes, encoding).foreign).toBeUndefined();
  });

  test("are left alone where they are said to be UTF-8", () => {
    expect(findUtf8(Buffer.from("Müller"), "utf-8").foreign).toBeUndefined();
  });
});
