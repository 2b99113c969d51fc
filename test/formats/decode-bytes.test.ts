import { describe, expect, it } from "vitest";
import { decodeBytes, type Encoding, encodeText } from "../../src/formats/encoding.ts";

describe("what doesn't fit is found at the first byte of the first such character", () => {
  it.each<[Encoding, number[], number]>([
    ["us-ascii", [0x41, 0x80, 0x80], 1],
    ["utf-8", [0x41, 0xe2, 0x82, 0x41], 1],
    ["utf-8", [0x41, 0xf0, 0x9f, 0x91], 1],
    ["utf-16le", [0x41, 0x00, 0x00], 2],
    ["utf-16le", [0x41, 0x00, 0x00, 0xd8, 0x41, 0x00], 2],
    // Half a character, and half a unit at the end: the first is meant.
    ["utf-16be", [0x00, 0x41, 0xdc, 0x00, 0x00], 2],
    ["windows-1252", [0x41, 0x81], 1],
    ["windows-1254", [0xe9, 0x9e, 0x81], 1],
    ["iso-8859-1", [0xe9, 0x80], 1],
    ["iso-8859-9", [0xe9, 0x9f], 1],
    // 0xA5 is no letter, 0x80 a control character: whichever comes first.
    ["iso-8859-3", [0xe9, 0xa5, 0x80], 1],
    ["iso-8859-3", [0xe9, 0x80, 0xa5], 1],
    ["gb18030", [0x41, 0x81, 0x30, 0x81], 1],
    ["euc-kr", [0x41, 0xb0, 0xa1, 0xc9, 0x20], 3],
  ])("%s %j", (encoding, bytes, offset) => {
    expect(decodeBytes(Buffer.from(bytes), encoding)).toEqual({ ok: false, offset });
  });
});

it.each<[Encoding, number[], string]>([
  ["windows-1256", [0x81], "پ"],
  ["windows-1252", [0xff, 0x42, 0x80, 0x92, 0x9f], "ÿB€’Ÿ"],
  ["windows-1253", [0xff - 1, 0xa2, 0x80], "ώΆ€"],
  ["iso-8859-9", [0xfd], "ı"],
  ["cp866", [0x80], "А"],
  ["utf-8", [0xef, 0xbb, 0xbf, 0xc2, 0x85], "\ufeff\u0085"],
])("%s %j is read as %j", (encoding, bytes, text) => {
  expect(decodeBytes(Buffer.from(bytes), encoding)).toEqual({ ok: true, text });
});

it.each<[Encoding, string, number[]]>([
  ["utf-8", "aé😀", [0xff]],
  ["utf-8", "aé😀", [0xf0, 0x9f]],
  ["utf-16le", "aé😀", [0x00, 0xdc]],
  ["gb18030", "aé中", [0xff]],
  ["shift_jis", "ab中", [0xfd]],
  ["windows-1252", "aé€", [0x81]],
  ["iso-8859-1", "aé", [0x80]],
])("a bad byte is found in %s wherever %j has filled the pieces before it", (encoding, filler, bad) => {
  const written = encodeText(filler, encoding);
  if (!written.ok) throw new Error("the filler can't be written");
  for (const before of [65_530, 65_536, 65_541, 140_000]) {
    const good = Buffer.concat(
      Array.from({ length: Math.ceil(before / written.bytes.length) }, () => written.bytes),
    );
    const bytes = Buffer.concat([good, Buffer.from(bad), written.bytes]);
    expect(decodeBytes(bytes, encoding)).toEqual({ ok: false, offset: good.length });
    expect(decodeBytes(good, encoding)).toMatchObject({ ok: true });
  }
});
