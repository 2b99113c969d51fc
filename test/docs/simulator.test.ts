import { expect, test } from "vitest";
import { parse } from "yaml";
import { DEFAULT_BEHAVIOUR } from "../../src/simulator/behaviour.ts";
import { faultSchema } from "../../src/simulator/faults.ts";
import { scriptSchema } from "../../src/simulator/options.ts";
import { firstTable, listBlocks, readDocument, sectionOf } from "./markdown.ts";

const guide = readDocument("docs/guide/simulator.md");
const firstColumn = (heading: string) =>
  firstTable(sectionOf(guide, heading)).flatMap(([names]) => (names ?? "").split(", "));

test("the simulator's guide names every setting of its behaviour, and no other", () => {
  expect(firstColumn("Behaviour").sort()).toEqual(Object.keys(DEFAULT_BEHAVIOUR).sort());
});

test("the simulator's guide names every key of a fault, and no other", () => {
  expect(firstColumn("Faults").sort()).toEqual(Object.keys(faultSchema.shape).sort());
});

test("the simulator's guide shows files that it takes", () => {
  const files = listBlocks(guide).filter(({ language }) => language === "yaml");
  expect(files.length).toBeGreaterThan(0);
  for (const { text } of files) expect(scriptSchema.safeParse(parse(text)).error).toBeUndefined();
});
