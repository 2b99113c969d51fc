import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MUTANTS } from "./mutants.ts";

const root = join(import.meta.dirname, "../..");

test.each(MUTANTS)("$file: $name: can still be made", ({ file, from, to }) => {
  const pieces = readFileSync(join(root, file), "utf8").split(from);
  expect(pieces).toHaveLength(2);
  expect(to).not.toBe(from);
});

test("each fault has a name of its own", () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
});
