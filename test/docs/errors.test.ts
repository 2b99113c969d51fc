import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FAILURES } from "../../src/core/failures.ts";
import { ROOT, readDocument } from "./markdown.ts";
import { renderErrors } from "./render-errors.ts";

const PATH = "docs/errors.md";

test("docs/errors.md is the registry of failures in words (UPDATE_DOCS=1 writes it)", () => {
  const text = renderErrors();
  if (process.env.UPDATE_DOCS === "1") writeFileSync(join(ROOT, PATH), text);
  expect(readFileSync(join(ROOT, PATH), "utf8")).toBe(text);
});

test("docs/errors.md has one heading for each code, and none for any other", () => {
  const headings = readDocument(PATH)
    .text.split("\n")
    .flatMap((line) => /^### (.+)$/.exec(line)?.[1] ?? []);
  expect(headings.sort()).toEqual(Object.keys(FAILURES).sort());
});
