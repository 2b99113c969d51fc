import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ConfigFolder, FACILITIES, SERVICE } from "./config-file.ts";

describe("folders", () => {
  const two = (first: string, second: string) => `${SERVICE}${FACILITIES}connectors:
  - { name: lims, type: hl7-drop, directory: ${first} }
  - { name: bench, type: csv-drop, directory: ${second} }
`;

  it.each(["./lab/../lab", "./lab/", "lab"])(
    "of two connectors must differ, however they are spelt (%s)",
    (spelling) => {
      using folder = new ConfigFolder();
      expect(folder.mistakes(two("./lab", spelling))).toEqual([
        '7:47 connectors[1].directory: the in folder of connector "bench" is also the in folder of connector "lims"; give each a folder of its own',
      ]);
    },
  );

  it("of two connectors must differ with links resolved too", () => {
    using folder = new ConfigFolder();
    mkdirSync(folder.path("lab"));
    symlinkSync(folder.path("lab"), folder.path("link"));
    expect(folder.mistakes(two("./lab", "./link"))).toHaveLength(1);
  });

  it("of results must not be where another connector takes orders", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(two("./a", "./b, out: ./a/in"))).toEqual([
      '7:57 connectors[1].out: the out folder of connector "bench" is also the in folder of connector "lims"; give each a folder of its own',
    ]);
  });

  it("must not lie in the database's folder", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(two("./data/lims", "./b"))[0]).toContain("lies in dataDir");
  });

  it("are not made by reading the configuration", () => {
    using folder = new ConfigFolder();
    folder.load(two("./a", "./b"));
    expect(existsSync(folder.path("a"))).toBe(false);
  });

  it.each([".ok", "{stem}.ok", ".done_1"])("take %s for a marker", (marker) => {
    using folder = new ConfigFolder();
    expect(folder.load(two("./a", `./b, marker: "${marker}"`)).connectors[1]).toMatchObject({ marker });
  });

  it.each(["ok", "{name}.ok", "{stem}", "*.ok", ""])(
    "refuse %s for a marker with the forms there are",
    (marker) => {
      using folder = new ConfigFolder();
      expect(folder.mistakes(two("./a", `./b, marker: "${marker}"`))).toEqual([
        '7:60 connectors[1].marker: expected .ok (or another ending) where order.csv.ok announces order.csv, or "{stem}.ok" where order.ok does',
      ]);
    },
  );

  it("refuse a marker without its quotes with the hint that it needs them", () => {
    using folder = new ConfigFolder();
    const lines = two("./a", "./b").replace("- { name: bench", "- { marker: {stem}.ok, name: bench");
    expect(folder.mistakes(lines)[0]).toMatch(/^7:\d+ .*A text that begins with \{ or \[ needs quotes$/);
  });
});
