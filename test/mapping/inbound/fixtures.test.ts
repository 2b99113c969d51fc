import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { mapCsvFixture, mapHl7Fixture } from "../mapped.ts";

/** The files of a kind in test/fixtures; each has the expected result beside it in a `.json` of the same name. */
function listFixtures(kind: "hl7" | "csv"): { name: string; file: URL; expected: URL }[] {
  const folder = new URL(`../../fixtures/${kind}/`, import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith(`.${kind}`))
    .map((name) => ({
      name,
      file: new URL(name, folder),
      expected: new URL(name.replace(/\.\w+$/, ".json"), folder),
    }));
}

describe("HL7 fixtures", () => {
  test.each(listFixtures("hl7"))("$name maps to what its .json says", async ({ file, expected }) => {
    expect(await mapHl7Fixture(file)).toEqual([JSON.parse(await readFile(expected, "utf8"))]);
  });

  test("cover orders and refusals", () => {
    expect(listFixtures("hl7").length).toBeGreaterThan(20);
  });
});

test("what is wrong with a fixture is said without settings, commands and words of the house", async () => {
  const mapped = [
    ...(await Promise.all(listFixtures("hl7").map(({ file }) => mapHl7Fixture(file)))),
    ...(await Promise.all(listFixtures("csv").map(({ file }) => mapCsvFixture(file)))),
  ];
  const problems = (mapped.flat() as { problems: { message: string }[] }[]).flatMap((each) => each.problems);
  const messages = problems.map(({ message }) => message);
  expect(messages.length).toBeGreaterThan(30);
  for (const message of messages) {
    expect(message).not.toMatch(/`|cryobridge|\bprofile|\bconnector|\bconfig|\bYAML|\btable\b|\w: \{/i);
  }
});

describe("CSV fixtures", () => {
  test.each(listFixtures("csv"))("$name maps to what its .json says", async ({ file, expected }) => {
    expect(await mapCsvFixture(file)).toEqual(JSON.parse(await readFile(expected, "utf8")));
  });

  test("cover orders and refusals", () => {
    expect(listFixtures("csv").length).toBeGreaterThan(3);
  });
});
