import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearest } from "../../src/config/words.ts";

describe("the nearest known word", () => {
  it.each([
    ["timout", "timeout"],
    ["hl7drop", "hl7-drop"],
    ["TIMEOUT", "timeout"],
    ["tiemout", "timeout"],
  ])("to %s is %s", (word, meant) => {
    expect(nearest(word, ["hl7-drop", "csv-drop", "timeout", "settle"])).toBe(meant);
  });

  it("is none when the word is like nothing known", () => {
    expect(nearest("banana", ["timeout", "settle"])).toBeUndefined();
  });

  it("is the word itself when it is known", () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 });
    fc.assert(fc.property(words, (known) => nearest(known[0] ?? "", known) === known[0]));
  });
});
