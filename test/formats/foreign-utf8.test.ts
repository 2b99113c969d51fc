import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import type { Encoding } from "../../src/formats/encoding.ts";
import { ForeignUtf8Finder, findForeignUtf8 } from "../../src/formats/foreign-utf8.ts";

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
      expect(findForeignUtf8(Buffer.from(`a\r\nb\rc\nname ${name}\r`), encoding)).toEqual({
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
    expect(findForeignUtf8(iconv.encode(`x\r${text}\r`, encoding), encoding)).toBeUndefined();
  });

  test("are found in one line among lines that are right, in a set of single bytes", () => {
    const mixed = Buffer.concat([
      iconv.encode("Jürgen\n", "windows-1252"),
      Buffer.from("Müller\n"),
      iconv.encode("José\n", "windows-1252"),
    ]);
    expect(findForeignUtf8(mixed, "windows-1252")).toEqual({ line: 2, offset: 8 });
    expect(findForeignUtf8(mixed, "gb18030")).toBeUndefined();
  });

  test.each([
    ["ASCII", Buffer.from("plain\rtext\r")],
    ["nothing", Buffer.alloc(0)],
    ["UTF-8 with a byte order mark", Buffer.from("\ufeffMüller\n")],
    ["UTF-16", Buffer.from("\ufeffMüller\n", "utf16le")],
    ["UTF-16 without a mark", Buffer.from("\u8fc2,1\n", "utf16le")],
  ])("are left alone where they are %s", (_, bytes) => {
    for (const encoding of OTHERS) expect(findForeignUtf8(bytes, encoding)).toBeUndefined();
  });

  test("are left alone where they are said to be UTF-8", () => {
    expect(findForeignUtf8(Buffer.from("Müller"), "utf-8")).toBeUndefined();
  });

  test("are found the same in whatever pieces they come", () => {
    const texts = fc.string({ unit: fc.constantFrom("a", "\r", "\n", "ü", "É", "’", "王", "🧊", "\ufeff") });
    const parts = fc.array(
      fc.oneof(
        texts.map((text) => Buffer.from(text)),
        fc.constant(Buffer.from([0xe9])),
      ),
    );
    fc.assert(
      fc.property(
        parts,
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom(...OTHERS),
        (some, size, encoding) => {
          const bytes = Buffer.concat(some);
          const finder = new ForeignUtf8Finder(encoding);
          for (let at = 0; at < bytes.length; at += size) finder.push(bytes.subarray(at, at + size));
          expect(finder.end()).toEqual(findForeignUtf8(bytes, encoding));
        },
      ),
    );
  });
});
