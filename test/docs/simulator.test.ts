import fastify from "fastify";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { DEFAULT_BEHAVIOUR } from "../../src/simulator/behaviour.ts";
import type { Control } from "../../src/simulator/control.ts";
import { controlRoutes } from "../../src/simulator/control-routes.ts";
import { faultSchema } from "../../src/simulator/faults.ts";
import { scriptSchema } from "../../src/simulator/options.ts";
import type { Tally } from "../../src/simulator/tally.ts";
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

test("the simulator's guide names every route of its control surface, and no other", () => {
  const routes: string[] = [];
  const app = fastify({ exposeHeadRoutes: false });
  app.addHook("onRoute", ({ method, url }) => {
    routes.push(`${method} ${url.replace(/^\/simulator\//, "")}`);
  });
  const unused = {} as unknown;
  controlRoutes(app, unused as Control, { tally: () => unused as Tally, host: "127.0.0.1" });
  const named = firstTable(sectionOf(guide, "By HTTP")).flatMap(([cell]) => (cell ?? "").split(", "));
  // The page's own files are no part of it.
  const offered = routes.filter((route) => !/^GET (?:\/|page\S*)$/.test(route));
  expect(named.map((route) => route.replace("ID", ":id")).sort()).toEqual(offered.sort());
});

test("the simulator's guide shows files that it takes", () => {
  const files = listBlocks(guide).filter(({ language }) => language === "yaml");
  expect(files.length).toBeGreaterThan(0);
  for (const { text } of files) expect(scriptSchema.safeParse(parse(text)).error).toBeUndefined();
});
