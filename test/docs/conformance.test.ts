import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, readDocument } from "./markdown.ts";

const PAGE = "docs/conformance.md";
const WORDS = ["uses", "shows", "plays", "setting"];

interface Row {
  readonly no: string;
  readonly cells: readonly string[];
}

const rows: Row[] = readDocument(PAGE)
  .text.split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) => {
    const cells = line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim());
    return { no: cells[0] ?? "", cells };
  });

/** The files that a cell links to. */
function linksOf(cell: string): string[] {
  return [...cell.matchAll(/\]\(([^)]+)\)/g)].map((match) => join(dirname(PAGE), match[1] ?? ""));
}

/** Each `[name](file): title` of the last cell. */
function testsOf(cell: string): { file: string; title: string }[] {
  return cell.split("<br>").map((each) => {
    const match = /^\[[^\]]+\]\(([^)]+)\): (.+)$/.exec(each);
    return { file: join(dirname(PAGE), match?.[1] ?? ""), title: match?.[2] ?? "" };
  });
}

test("the conformance page has a row for every part of the specification", () => {
  const parts = new Set(rows.map(({ no }) => no.split(".")[0]));
  expect([...parts]).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  expect(rows.length).toBeGreaterThan(80);
});

test("no cell of the conformance page is empty, and each row says what Cryobridge makes of it", () => {
  const faulty = rows.filter(
    ({ cells }) =>
      cells.length !== 5 ||
      cells.some((cell) => cell === "") ||
      !(cells[2] ?? "").split(", ").every((word) => WORDS.includes(word)),
  );
  expect(faulty).toEqual([]);
});

test("the code that the conformance page names is there", () => {
  const missing = rows.flatMap(({ no, cells }) =>
    linksOf(cells[3] ?? "")
      .filter((path) => !existsSync(join(ROOT, path)))
      .map((path) => `${no}: ${path}`),
  );
  expect(missing).toEqual([]);
});

test("the tests that the conformance page names are there under these titles", () => {
  const missing = rows.flatMap(({ no, cells }) =>
    testsOf(cells[4] ?? "")
      .filter(({ file, title }) => !hasTitle(file, title))
      .map(({ file, title }) => `${no}: ${file}: ${title}`),
  );
  expect(missing).toEqual([]);
});

/** Whether a test file holds a title, as it is written there: `%s` of a table of cases included. */
function hasTitle(file: string, title: string): boolean {
  if (title === "" || !file.endsWith(".test.ts") || !existsSync(join(ROOT, file))) return false;
  const text = readFileSync(join(ROOT, file), "utf8");
  return ['"', "'", "`"].some((quote) => text.includes(`${quote}${title}${quote}`));
}
