import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { DEFAULT_BEHAVIOUR } from "../../src/simulator/behaviour.ts";
import { scriptSchema } from "../../src/simulator/script.ts";
import { firstTable, listBlocks, ROOT, readDocument, sectionOf } from "./markdown.ts";

const guide = readDocument("docs/guide/simulator.md");
const firstColumn = (heading: string) =>
  firstTable(sectionOf(guide, heading)).flatMap(([names]) => (names ?? "").split(", "));

test("the simulator's guide names every setting of its behaviour, and no other", () => {
  expect(firstColumn("Behaviour").sort()).toEqual(Object.keys(DEFAULT_BEHAVIOUR).sort());
});

test("the simulator's guide names every key of a fault, and no other", () => {
  const source = readFileSync(join(ROOT, "src/simulator/fault-schema.ts"), "utf8");
  const known = [...source.matchAll(/^ {4}(\w+):/gm)].map(([, key]) => key ?? "");
  expect(firstColumn("Faults").sort()).toEqual(known.sort());
});

test("the simulator's guide shows files that it takes", () => {
  const files = listBlocks(guide).filter(({ language }) => language === "yaml");
  expect(files.length).toBeGreaterThan(0);
  for (const { text } of files) expect(scriptSchema.safeParse(parse(text)).error).toBeUndefined();
});
