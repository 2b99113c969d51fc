import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { openDictionary, VERSIONS } from "../../../src/formats/hl7/dictionary.ts";

const library = dirname(createRequire(import.meta.url).resolve("hl7-dictionary"));

test("every version that the package has is known", () => {
  const folders = readdirSync(library, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect([...VERSIONS].sort()).toEqual(folders.map(({ name }) => name).sort());
});

test("a version that is not listed has the names of the nearest before it, and an unknown one those of the newest", () => {
  const dictionary = openDictionary();
  const names = (version: string | undefined) => [
    dictionary.segment(version, "SPM"),
    dictionary.field(version, "PID", 3),
    dictionary.component(version, "PID", 3, 1),
    dictionary.code(version, "ORC", 1, "CA"),
  ];
  expect(names("2.5.2")).toEqual(names("2.5.1"));
  expect(names("2.10")).toEqual(names("2.7.1"));
  expect(names(undefined)).toEqual(names("2.7.1"));
  expect(names("2.5")).toEqual([
    "Specimen",
    "Patient Identifier List",
    "ID Number",
    "Cancel order/service request",
  ]);
  expect(dictionary.segment("2.3", "SPM")).toBeUndefined();
});
