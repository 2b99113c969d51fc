import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBytes, type Encoding, encodeText, isEncodable, spellOut } from "../../src/formats/encoding.ts";
import { machineHas } from "../support/needs.ts";

const ENCODINGS: readonly Encoding[] = [
  ...(["us-ascii", "utf-8", "utf-16le", "utf-16be", "windows-1250", "windows-1251", "windows-1252"] as const),
  ...(["windows-1253", "windows-1254", "windows-1257", "iso-8859-1", "iso-8859-2", "iso-8859-3"] as const),
  ...(["iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-9"] as const),
  ...(["iso-8859-15", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"] as const),
];

/** Letters of many scripts, halves of characters, control characters, what sets disagree about. */
const PIECES = [
  ..."aÄéßŁłźžőčĞşЖжΩλאعÿ¥€“–…日本語漢字かな한글갂👍𠀀\u0085\u009f\u00a0\ufffd?",
  "\ud800",
  "e\u0301",
];
const text = fc.oneof(
  fc.array(fc.constantFrom(...PIECES)).map((pieces) => pieces.join("")),
  fc.string({ unit: "binary" }),
);

describe("encoding", () => {
  it("gives bytes that read back as the same text, or says where the first character stands that can't be written", () => {
    fc.assert(
      fc.property(text, fc.constantFrom(...ENCODINGS), (value, encoding) => {
        const encoded = encodeText(value, encoding);
        if (encoded.ok) {
          expect(decodeBytes(encoded.bytes, encoding)).toEqual({ ok: true, text: value });
          return;
        }
        expect(isEncodable(value.slice(0, encoded.offset), encoding)).toBe(true);
        const [character = ""] = value.slice(encoded.offset);
        expect(isEncodable(character, encoding)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it("never writes a question mark, or any look-alike, for what a set does not have", () => {
    expect(encodeText("Łódź", "iso-8859-1")).toEqual({ ok: false, offset: 0 });
    expect(encodeText("aé€", "iso-8859-1")).toEqual({ ok: false, offset: 2 });
    expect(encodeText("a¥", "shift_jis")).toEqual({ ok: false, offset: 1 });
    // Control characters, which ISO 8859 has bytes for and no text means.
    expect(encodeText("a\u0096", "iso-8859-1")).toEqual({ ok: false, offset: 1 });
    expect(encodeText("\ud800", "utf-8")).toEqual({ ok: false, offset: 0 });
  });
});

describe.runIf(machineHas("iconv"))("another program reads the same", () => {
  it.each([
    ["iso-8859-1", "Müller, Zoë, señor"],
    ["iso-8859-2", "Łódź, Žluťoučký kůň"],
    ["iso-8859-15", "Œuvre, 5 €"],
    ["windows-1252", "“Zoë” – 5 €…"],
    ["windows-1250", "Łódź – Žofie"],
    ["windows-1251", "Жанна Щукина"],
    ["gb18030", "冷冻 样本 é 👍"],
    ["big5", "冷凍 樣本"],
    ["shift_jis", "凍結 サンプル"],
    ["euc-jp", "凍結 サンプル é"],
    ["euc-kr", "냉동 시료"],
    ["utf-16be", "Łódź 👍"],
  ] as const)("%s", (encoding, value) => {
    const encoded = encodeText(value, encoding);
    if (!encoded.ok) throw new Error(`not encodable at ${encoded.offset}`);
    const { stdout, status } = spawnSync("iconv", ["-f", encoding, "-t", "utf-8"], { input: encoded.bytes });
    expect([stdout.toString("utf8"), status]).toEqual([value, 0]);
  });
});

describe("spelling out", () => {
  it("writes the number of each character that the set does not have, and leaves the others", () => {
    expect(spellOut("Łódź – 👍", "iso-8859-1")).toBe("[U+0141]ód[U+017A] [U+2013] [U+1F44D]");
  });

  it("puts a letter together that came in parts, where the set has it so", () => {
    expect(spellOut("Zoe\u0308 \u0142", "iso-8859-1")).toBe("Zoë [U+0142]");
  });

  it("always gives what can be written, and leaves alone what could be", () => {
    fc.assert(
      fc.property(text, fc.constantFrom(...ENCODINGS), (value, encoding) => {
        const spelled = spellOut(value, encoding);
        expect(isEncodable(spelled, encoding)).toBe(true);
        if (isEncodable(value, encoding)) expect(spelled).toBe(value);
      }),
    );
  });
});
