import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { LISTS, RECORDS } from "../../src/core/service-catalogue.ts";

const DESCRIPTION = resolve(import.meta.dirname, "../../src/simulator/openapi.yaml");

interface Operation {
  readonly parameters?: readonly { readonly name: string }[];
}

const { paths } = parse(readFileSync(DESCRIPTION, "utf8")) as {
  readonly paths: Readonly<Record<string, { readonly get?: Operation }>>;
};

test("the catalogue and the simulator's description have the same paths", () => {
  const known = [...Object.values(LISTS).map(({ path }) => path), ...Object.values(RECORDS)];
  const described = Object.keys(paths).filter((path) => path.startsWith("/api/"));
  expect(known.sort()).toEqual(described.sort());
});

test("each filter of the catalogue is in the simulator's description of its list", () => {
  for (const { path, filters } of Object.values(LISTS)) {
    const described = paths[path]?.get?.parameters?.map(({ name }) => name);
    expect(described).toEqual(expect.arrayContaining([...filters]));
  }
});
