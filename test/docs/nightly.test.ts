import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";

interface Workflow {
  readonly jobs: {
    readonly nightly: {
      readonly strategy: { readonly matrix: { readonly include: readonly { run: string }[] } };
    };
  };
}

test("each long form is run by one job of the night", async () => {
  const { jobs } = parse(await readFile(".github/workflows/nightly.yml", "utf8")) as Workflow;
  const filters = jobs.nightly.strategy.matrix.include.flatMap(({ run }) => {
    const words = / npm run test:chaos -- (.+)$/.exec(` ${run}`)?.[1]?.split(" ");
    return words === undefined ? [] : [words];
  });
  expect(filters.length).toBeGreaterThan(1);
  const files = globSync("test/chaos/**/*.test.ts");
  const jobsOf = (file: string) =>
    filters.filter((words) => words.some((word) => file.includes(word))).length;
  expect(files.filter((file) => jobsOf(file) !== 1)).toEqual([]);
});
