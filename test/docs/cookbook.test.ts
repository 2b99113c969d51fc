import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { compileProfile } from "../../src/mapping/profile/compile-profile.ts";
import { importFrom } from "../../src/mapping/profile/module.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { listBlocks, readDocument } from "./markdown.ts";

const blocks = listBlocks(readDocument("docs/guide/mapping-cookbook.md"));
const recipes = blocks.filter(({ language, text }) => language === "yaml" && /^extends: /m.test(text));
const folder = mkdtempSync(join(tmpdir(), "cryobridge-cookbook-"));
afterAll(() => rmSync(folder, { recursive: true }));

// A module stands in a block of its own, whose first line names its file.
for (const { language, text } of blocks) {
  const name = /^\/\/ (\w[\w-]*\.ts)\n/.exec(text)?.[1];
  if (language === "ts" && name) writeFileSync(join(folder, name), text);
}

describe("the mapping cookbook", () => {
  test("has recipes", () => {
    expect(recipes.length).toBeGreaterThan(8);
  });

  test.each(recipes)("compiles the recipe on line $line", async ({ text }) => {
    const definition = profileSchema.parse(parse(text));
    const compiled = await compileProfile("recipe", definition, { loadModule: importFrom(folder) });
    expect(compiled).toMatchObject({ ok: true });
  });

  test("shows whole profiles only: every block of YAML extends another one", () => {
    const others = blocks.filter(({ language, text }) => language === "yaml" && !/^extends: /m.test(text));
    expect(others.map(({ line }) => `line ${line}`)).toEqual([]);
  });
});
