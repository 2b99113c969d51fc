import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { isConfigFailure } from "../../src/config/problems.ts";
import { ConfigFolder, ENV, MINIMAL, profileSchema } from "./config-file.ts";

describe("a file that is not YAML", () => {
  it.each([
    [
      "a tab as indentation",
      "service:\n\tbaseUrl: x\n",
      "2:1",
      "a tab character indents this line; YAML wants spaces",
    ],
    [
      "a quote that is not closed",
      'dataDir: "abc\nlog: 1\n',
      "1:10",
      "the quote that begins here is not closed",
    ],
    ["a second colon on a line", "dataDir: a: b\n", "1:10", 'a second ": " on one line'],
    [
      "indentation that does not fit",
      "log:\n   level: info\n  pretty: auto\n",
      "3:1",
      "the indentation does not fit",
    ],
    ["a Windows path in double quotes", 'dataDir: "C:\\data"\n', "1:13", "belong in 'single quotes'"],
    ["a second document", "dataDir: a\n---\nb: c\n", "2:1", "the configuration is one document"],
    ["a tag", "dataDir: !secret a\n", "1:10", "tags (!name) mean nothing here"],
  ])("because of %s is explained at the place", (_case, text, place, message) => {
    using folder = new ConfigFolder();
    const mistakes = folder.mistakes(text).find((line) => line.includes(message)) ?? "";
    expect(mistakes.split(" ")[0]).toBe(place);
  });

  it("never has its text repeated, since it may hold a credential", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes("service: {auth: {apiToken: hunter2}\nother: hunter2: x").join()).not.toContain(
      "hunter2",
    );
  });

  it("is refused with words whatever it holds", () => {
    using folder = new ConfigFolder();
    const soup = fc.string({ unit: fc.constantFrom(..."ab:-{}[]\"'&*!|>%@#, \n\t$?") });
    fc.assert(
      fc.property(soup, (text) => {
        expect(folder.problems(text).every(({ message }) => message.length > 10)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe("a file", () => {
  it("with a key twice is reported beside its other mistakes", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(`${MINIMAL}log: { level: info, level: warn }\nlogg: 1\n`)).toEqual([
      "7:21 : this key stands twice in the same section; keep one of them",
      '8:1 logg: unknown key "logg"; did you mean "log"?',
    ]);
  });

  it("with a byte order mark and Windows line ends is read", () => {
    using folder = new ConfigFolder();
    expect(folder.load(`\uFEFF${MINIMAL.replaceAll("\n", "\r\n")}`).console.port).toBe(8088);
  });

  it("that is empty is refused with what it needs", () => {
    using folder = new ConfigFolder();
    expect(folder.problems("# nothing yet\n").map(({ path }) => path)).toEqual([
      "connectors",
      "facilities",
      "service",
    ]);
  });

  it("in another encoding is refused, expected UTF-8", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(Buffer.from(MINIMAL, "utf16le"))[0]).toContain("UTF-8");
  });

  it("that is not there is named", () => {
    expect(() => loadConfig("/nowhere/cryobridge.yaml", { env: ENV, profileSchema })).toThrow(
      /\/nowhere\/cryobridge\.yaml:1:1: there is no such file; name the configuration with --config FILE/,
    );
  });

  it("may repeat a section by anchor and alias", () => {
    using folder = new ConfigFolder();
    const text = `${MINIMAL.replace("./lims }", "./lims, stableFor: &wait 7s, scanInterval: *wait }")}`;
    expect(folder.load(text).connectors[0]).toMatchObject({ stableForMs: 7_000, scanIntervalMs: 7_000 });
  });

  it.each([
    ["that repeats itself without end", "log: &a { b: *a }\n"],
    ["whose aliases multiply", aliasBomb()],
    ["with a __proto__ key", "__proto__: { dataDir: x }\n"],
  ])("%s is refused", (_case, text) => {
    using folder = new ConfigFolder();
    expect(folder.problems(text).length).toBeGreaterThan(0);
  });

  it("with an object that has a length where a list belongs is refused at its place", () => {
    using folder = new ConfigFolder();
    for (const text of ["connectors: { length: {} }", "connectors: { length: { toString: 1 } }"])
      expect(folder.problems(text).map(({ path }) => path)).toContain("connectors");
  });

  it("with mistakes of any kind never fails with anything but the list of them", () => {
    using folder = new ConfigFolder();
    fc.assert(
      fc.property(
        fc.json(),
        fc.constantFrom("service", "connectors", "queue", "console", "profiles"),
        (json, key) => {
          try {
            folder.load(`${key}: ${json}`);
          } catch (error) {
            expect(isConfigFailure(error)).toBe(true);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

function aliasBomb(): string {
  const levels = Array.from({ length: 9 }, (_, level) =>
    level === 0 ? "a0: &a0 [x]" : `a${level}: &a${level} [${`*a${level - 1},`.repeat(9)}]`,
  );
  return `${levels.join("\n")}\n`;
}
