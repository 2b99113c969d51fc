import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FAILURES, type FailureCode } from "../../src/core/failures.ts";

const SRC = new URL("../../src/", import.meta.url).pathname;

/** The failures that the files of a folder name, by whose answers can have them. */
function reachesIn(folder: string): Readonly<Partial<Record<string, readonly FailureCode[]>>> {
  const files = readdirSync(join(SRC, folder), { recursive: true, encoding: "utf8" });
  const words = files
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [...readFileSync(join(SRC, folder, file), "utf8").matchAll(/"([A-Z][A-Z0-9_]+)"/g)]);
  const codes = new Set(words.map(([, word = ""]) => word).filter((word) => Object.hasOwn(FAILURES, word)));
  return Object.groupBy([...codes] as FailureCode[], (code) => FAILURES[code].reaches);
}

test.each(["formats/csv", "connectors/csv-drop"])(
  "what %s finds, a lab with tables can be answered",
  (folder) => {
    expect(Object.keys(reachesIn(folder)).filter((reach) => reach !== "csv" && reach !== "any")).toEqual([]);
  },
);

test("what is found wrong with a message can be answered, but for what is wrong with the profile or an answer", () => {
  for (const folder of ["formats/hl7", "mapping"])
    expect(["CONFIG_INVALID", "RESULT_NOT_ENCODABLE"], folder).toEqual(
      expect.arrayContaining([...(reachesIn(folder).nobody ?? [])]),
    );
});
