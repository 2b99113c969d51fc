import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, readDocument } from "./markdown.ts";

/** Number, statement, where, held by. */
const rows = readDocument("docs/conformance.md")
  .text.split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );

/** `jobs/submit` for each file of `src/jobs/` and its sub-folders that is named `submit.ts`. */
function namesIn(folder: "src" | "test", ending: string): Set<string> {
  const paths = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return new Set(
    paths.flatMap((path) => {
      const parts = path.split(/[\\/]/);
      const name = parts.at(-1) ?? "";
      return name.endsWith(ending) ? [`${parts[0]}/${name.slice(0, -ending.length)}`] : [];
    }),
  );
}

/** What a cell names and is not there; the cell itself where it names nothing. */
function missing(cell: string, known: ReadonlySet<string>): string[] {
  const names = [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
  return names.length === 0 ? [cell] : names.filter((name) => !known.has(name));
}

test("the conformance page has a row for every part of the specification, and for the public edition", () => {
  const parts = new Set(rows.map(([no = ""]) => no.split(".")[0]));
  expect([...parts]).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
  expect(rows.length).toBeGreaterThan(50);
});

test("no cell of the conformance page is empty", () => {
  expect(rows.filter((cells) => cells.length !== 4 || cells.includes(""))).toEqual([]);
});

test("the code and the tests that the conformance page names are there", () => {
  const code = namesIn("src", ".ts");
  const tests = namesIn("test", ".test.ts");
  const faults = rows.flatMap(([no, , where = "", heldBy = ""]) =>
    [...missing(where, code), ...missing(heldBy, tests)].map((name) => `${no}: ${name}`),
  );
  expect(faults).toEqual([]);
});
