import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { builtinProfiles } from "../../src/mapping/profile/builtin.ts";
import { RESULT_COLUMNS } from "../../src/mapping/profile/results-schema.ts";
import { ROOT, readDocument, sectionOf } from "./markdown.ts";
import { renderProfiles } from "./render-profiles.ts";

const PATH = "docs/guide/profile-reference.md";

test("docs/guide/profile-reference.md is what the built-in profiles say (UPDATE_DOCS=1 writes it)", () => {
  const text = renderProfiles();
  if (process.env.UPDATE_DOCS === "1") writeFileSync(join(ROOT, PATH), text);
  expect(readFileSync(join(ROOT, PATH), "utf8")).toBe(text);
});

test.each(Object.entries(builtinProfiles))(
  "the section of %s has each place of each value",
  (name, profile) => {
    const section = sectionOf(readDocument(PATH), name).join("\n");
    const { operation, facility, placerOrderNumber, subject = {}, containers = {} } = profile;
    const values = [
      operation,
      facility,
      placerOrderNumber,
      ...Object.values(subject),
      containers.label,
      containers.description,
    ];
    const places = JSON.stringify(values).match(/"(?:[A-Z][A-Z0-9]{2}-\d[^"]*|[a-z]+_[a-z_]+)"/g) ?? [];
    expect(places.length).toBeGreaterThan(6);
    for (const place of places) expect(section).toContain(`\`${place.slice(1, -1)}\``);
  },
);

test("each transform has its line", () => {
  expect(sectionOf(readDocument(PATH), "Transforms").filter((line) => line.startsWith("- `"))).toHaveLength(
    12,
  );
});

test("each column of CSV results has its line", () => {
  const rows = sectionOf(readDocument(PATH), "Columns of CSV results").filter((line) =>
    line.startsWith("- `"),
  );
  expect(rows.map((line) => line.split("`")[1])).toEqual(RESULT_COLUMNS);
});

test("a setting says what holds unless it is set", () => {
  const rows = sectionOf(readDocument(PATH), "Settings of a profile");
  for (const row of ["`controlId`", "`skipLines`", "`results.timeZone`"])
    expect(rows.filter((line) => line.startsWith(`- ${row}`))).toEqual([
      expect.stringMatching(/[^.]; `(?:required|0|UTC)` unless set\.$/),
    ]);
});

test("no setting is without words", () => {
  const empty = readDocument(PATH)
    .text.split("\n")
    .filter((line) => /^- `[^`]+`:\s*$/.test(line));
  expect(empty).toEqual([]);
});
