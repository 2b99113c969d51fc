import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listDocuments, ROOT } from "./markdown.ts";

const METRIC = /\bcryobridge_[a-z_]+/g;

test("every metric that the documents name is one of the program's", () => {
  const source = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(ROOT, "src", name), "utf8"))
    .join("\n");
  const known = new Set(source.match(METRIC));
  const named = listDocuments().flatMap(({ path, text }) =>
    [...text.matchAll(METRIC)].map(([metric]) => ({ path, metric })),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ metric }) => !known.has(metric))).toEqual([]);
});
