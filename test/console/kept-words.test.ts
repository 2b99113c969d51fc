import { expect, test } from "vitest";
import { KeptWords } from "../../src/console/kept-words.ts";
import type { Session } from "../../src/console/session.ts";

const sessionOf = (name: string): Session => ({
  ...{ user: { name, token: name, role: "operator" }, formToken: name, notice: undefined },
});

test("the newest thousand words are kept, each for the session that searched", () => {
  const words = new KeptWords();
  const [anna, ben] = [sessionOf("anna"), sessionOf("ben")];
  const keys = Array.from({ length: 1_001 }, (_, n) => words.keep(`S-${n}`, anna));
  expect(words.find(keys[0] ?? "", anna)).toBeUndefined();
  expect(words.find(keys[1] ?? "", anna)).toBe("S-1");
  expect(words.find(keys[1] ?? "", ben)).toBeUndefined();
  expect(words.find(keys[1] ?? "", undefined)).toBeUndefined();
  expect(words.find("S-1", anna)).toBeUndefined();
  // Where nobody signs in, there is one for all.
  expect(words.find(words.keep("S-9", undefined), undefined)).toBe("S-9");
});

test("a word is kept as far as its input takes it", () => {
  const words = new KeptWords();
  expect(words.find(words.keep("x".repeat(30_000), undefined), undefined)).toHaveLength(200);
});
