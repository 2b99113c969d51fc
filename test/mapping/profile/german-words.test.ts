import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { LAB_FAILURES } from "../../../src/core/failures.ts";
import type { Outcome } from "../../../src/core/outcome.ts";
import { FILE } from "../../../src/core/place.ts";
import { inLabWords } from "../../../src/mapping/outbound/reasons.ts";
import { REASON_WORDS } from "../../../src/mapping/profile/results-schema.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { listReasonsLacking } from "../../../src/mapping/profile/wordless.ts";
import { profileOf } from "../mapped.ts";

type Refusal = Extract<Outcome, { kind: "refused" }>;

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
  for (const format of ["hl7", "csv"] as const) expect(listReasonsLacking({ ...german, format })).toEqual([]);
});

test("the German table says whole sentences, whatever there is to put in", async () => {
  const { reasons = {} } = (await read("profiles/german-words.yaml")).results ?? {};
  const some = fc.option(fc.constantFrom("A", "B"), { nil: undefined });
  const parts = fc.record({ unknownCode: some, columns: fc.array(fc.constant("S"), { maxLength: 3 }) });
  const expected = fc.array(fc.constant("YYYY"), { maxLength: 3 });
  fc.assert(
    fc.property(fc.constantFrom(...LAB_FAILURES), parts, expected, (code, given, choices) => {
      const problem = { ...given, code, place: FILE, message: "in English", expected: choices };
      const answer = { kind: "refused", problems: [problem] } as unknown as Refusal;
      const [{ message = "" } = {}] = inLabWords(answer, { reasons }).problems;
      expect(message).toMatch(/^\S+(?: \S+)*$/);
      expect(message).not.toMatch(/[{}[\]]|(?:erwartet|soll|höchstens)(?: sein| Zeichen)?$/);
    }),
  );
});

test.each(["labs/german-csv/profiles/labor.yaml", "profiles/lab-b.yaml"])(
  "%s lacks no reason that a lab with tables can meet",
  async (path) => {
    expect(listReasonsLacking({ ...(await read(path)), format: "csv" })).toEqual([]);
  },
);
