import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { LAB_FAILURES, REASON_WORDS } from "../../../src/mapping/profile/results-schema.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { listReasonsLacking } from "../../../src/mapping/profile/wordless.ts";
import { profileOf } from "../mapped.ts";

const CONFIG = new URL("../../../config/", import.meta.url);

async function read(path: string): Promise<ProfileDefinition> {
  return parse(await readFile(new URL(path, CONFIG), "utf8"));
}

test("the German table has words for each reason and each word, and puts in only what there is", async () => {
  const german = await read("profiles/german-words.yaml");
  const { reasons = {} } = german.results ?? {};
  expect(Object.keys(reasons).sort()).toEqual([...LAB_FAILURES, ...REASON_WORDS].sort());
  for (const format of ["builtin/hl7-orders", "builtin/csv-orders"] as const)
    expect((await profileOf({ ...german, extends: format })).results.reasons).toEqual(reasons);
});

test.each(["labs/german-csv/profiles/labor.yaml", "profiles/lab-b.yaml"])(
  "%s lacks no reason that a lab with tables can meet",
  async (path) => {
    expect(listReasonsLacking({ ...(await read(path)), format: "csv" })).toEqual([]);
  },
);
