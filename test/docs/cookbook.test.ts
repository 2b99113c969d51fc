import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { compileProfile } from "../../src/mapping/profile/compile-profile.ts";
import { importFrom } from "../../src/mapping/profile/module.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { csvMessage, mapOne } from "../mapping/mapped.ts";
import { listBlocks, ROOT, readDocument } from "./markdown.ts";

const cookbook = readDocument("docs/guide/mapping-cookbook.md");
const blocks = listBlocks(cookbook);
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

  test("shows a module for CSV that does what it says", async () => {
    const recipe = recipes.find(({ text }) => text.includes("list-numbers.ts"));
    const definition = profileSchema.parse(parse(recipe?.text ?? ""));
    const compiled = await compileProfile("recipe", definition, { loadModule: importFrom(folder) });
    if (!compiled.ok) throw new Error("expected a profile");
    const row = { operation: "STORE", facility: "NORTH", subject_code: "S-1", container_label: "V-1" };
    const { orders } = mapOne(compiled.profile, csvMessage([{ ...row, List: "L7", Position: "3" }]));
    expect(orders).toMatchObject([{ placerOrderNumber: "L7-3", containers: [{ label: "V-1" }] }]);
    const { problems } = mapOne(compiled.profile, csvMessage([{ ...row, List: "L7", Position: "" }]));
    expect(problems).toMatchObject([
      { code: "MAPPING_MODULE_REFUSED", message: expect.stringContaining("Position") },
    ]);
  });

  test("says of each example lab what it solves", () => {
    const rows = [...cookbook.text.matchAll(/^\| \[([\w-]+)\]\(\.\.\/\.\.\/config\/labs\/\1\) \| \w/gm)];
    const folders = readdirSync(join(ROOT, "config/labs"), { withFileTypes: true });
    const labs = folders.filter((each) => each.isDirectory()).map(({ name }) => name);
    expect(rows.map(([, name]) => name).toSorted()).toEqual(labs.toSorted());
  });

  test("shows whole profiles only: every block of YAML extends another one", () => {
    const others = blocks.filter(({ language, text }) => language === "yaml" && !/^extends: /m.test(text));
    expect(others.map(({ line }) => `line ${line}`)).toEqual([]);
  });
});
