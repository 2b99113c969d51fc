import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, readDocument } from "./markdown.ts";

const WORDS = ["uses", "shows", "plays", "setting"];

/** Number, statement, here, where, held by. */
const rows = readDocument("docs/conformance.md")
  .text.split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );

/** The files that a cell names and that are not there; the cell itself where it names none. */
function missing([no, , , ...cells]: readonly string[], column: 0 | 1): string[] {
  const cell = cells[column] ?? "";
  const names = [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
  if (names.length === 0) return [`${no}: ${cell}`];
  const paths = names.map((name) => (column === 0 ? `src/${name}.ts` : `test/${name}.test.ts`));
  return paths.filter((path) => !existsSync(join(ROOT, path))).map((path) => `${no}: ${path}`);
}

test("the conformance page has a row for every part of the specification", () => {
  const parts = new Set(rows.map(([no = ""]) => no.split(".")[0]));
  expect([...parts]).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  expect(rows.length).toBeGreaterThan(80);
});

test("no cell of the conformance page is empty, and each row says what Cryobridge makes of it", () => {
  const faulty = rows.filter(
    (cells) =>
      cells.length !== 5 ||
      cells.includes("") ||
      !(cells[2] ?? "").split(", ").every((word) => WORDS.includes(word)),
  );
  expect(faulty).toEqual([]);
});

test("the code and the tests that the conformance page names are there", () => {
  expect(rows.flatMap((cells) => [...missing(cells, 0), ...missing(cells, 1)])).toEqual([]);
});
