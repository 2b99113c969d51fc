import { describe, expect, it } from "vitest";
import { decodeBytes, type Encoding } from "../../src/formats/encoding.ts";

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
  ["iso-8859-9", [0xfd], "ı"],
  ["cp866", [0x80], "А"],
  ["utf-8", [0xef, 0xbb, 0xbf, 0xc2, 0x85], "\ufeff\u0085"],
])("%s %j is read as %j", (encoding, bytes, text) => {
  expect(decodeBytes(Buffer.from(bytes), encoding)).toEqual({ ok: true, text });
});
