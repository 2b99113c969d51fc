import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { ConfigFolder, ENV, MINIMAL } from "./config-file.ts";

const USING = MINIMAL.replace("./lims }", "./lims, profile: ours }");

describe("mapping profiles", () => {
  it("come from the section profiles", () => {
    using folder = new ConfigFolder();
    const config = folder.load(`${USING}profiles:\n  ours: { extends: builtin/hl7-orders }\n`);
    const ours = config.profileByName.get("ours");
    expect(ours?.lineOf(["extends"])).toBe(USING.split("\n").length + 1);
    expect(ours).toMatchObject({
      value: { extends: "builtin/hl7-orders" },
      file: folder.path("cryobridge.yaml"),
      directory: folder.directory,
    });
  });

  it("come from the files of the folder profiles/, named after the file", () => {
    using folder = new ConfigFolder();
    folder.write("profiles/ours.yaml", "extends: builtin/hl7-orders\n");
    folder.write("profiles/notes.txt", "not a profile");
    const config = folder.load(USING);
    expect([...config.profileByName.keys()]).toEqual(["ours"]);
    expect(config.profileByName.get("ours")?.directory).toBe(folder.path("profiles"));
  });

  it("come from another folder when profilesDir names one", () => {
    using folder = new ConfigFolder();
    folder.write("maps/ours.yml", "extends: builtin/hl7-orders\n");
    expect([...folder.load(`${USING}profilesDir: maps\n`).profileByName.keys()]).toEqual(["ours"]);
  });

  it("may extend one another", () => {
    using folder = new ConfigFolder();
    folder.write("profiles/base.yaml", "extends: builtin/hl7-orders\n");
    expect(folder.load(`${USING}profiles: { ours: { extends: base } }`).profileByName.size).toBe(2);
  });

  it.each([
    ["containers:\n  description:\n    join: [A, B]\n    with: '/'\n", "3:5 containers.description.join"],
    ["containers:\n  description:\n    from: [A, B]\n    with: '/'\n", "4:5 containers.description.with"],
    ["containers:\n  join: [A, B]\n", "2:3 containers.join"],
    ["placerOrderNumber: { from: A, join: [A, B], with: '/' }\n", "1:31 placerOrderNumber.join"],
    ["facility: [A, { only: B, join: [A, B] }]\n", "1:26 facility[1].join"],
    ["operation: { from: A, as: { join: [A, B] } }\n", "1:29 operation.as.join"],
    [
      "results:\n  columns:\n    - { join: [storage, cane], with: '/', header: Platz }\n",
      "3:15 results.columns[0].join",
    ],
    [
      "results:\n  columns:\n    - { from: cane, join: [storage], header: Platz }\n",
      "3:21 results.columns[0].join",
    ],
  ])("say of a misplaced join where it belongs, with the line: %j", (profile, place) => {
    const key = place.endsWith("with") ? "with" : "join";
    using folder = new ConfigFolder();
    folder.write("profiles/ours.yaml", profile);
    const file = folder.write("cryobridge.yaml", USING);
    const words = `ours.yaml:${place}: ${key} is misplaced; put it below \`from\``;
    expect(() => loadConfig(file, { env: ENV, profileSchema })).toThrow(words);
  });

  it("are held against their schema, with the place in their own file", () => {
    using folder = new ConfigFolder();
    folder.write("profiles/ours.yaml", "extends: builtin/hl7-orders\noperation:\n  form: OBR-4.1\n");
    expect(folder.problems(USING)).toEqual([
      expect.objectContaining({
        file: folder.path("profiles", "ours.yaml"),
        line: 2,
        path: "operation.from",
      }),
      expect.objectContaining({
        file: folder.path("profiles", "ours.yaml"),
        line: 3,
        column: 3,
        message: 'unknown key "form"; did you mean "from"?',
      }),
    ]);
  });

  it.each([
    [
      "a key inside a value",
      "operation: { from: OBR-4.1, tabel: {} }",
      'operation.tabel: unknown key "tabel"; did you mean "table"?',
    ],
    [
      "a transform",
      "facility: { from: MSH-4, as: [trim, uper] }",
      "facility.as[1]: expected a transform: trim, upper",
    ],
    [
      "a state",
      "results: { statusMap: { complete: { ORC-1: SC } } }",
      'results.statusMap.complete: unknown key "complete"; did you mean "completed"?',
    ],
    [
      "a word's column",
      "results: { words: { operation: { Einlagern: STORE } } }",
      'unknown key "Einlagern"; known here: STORE, RETRIEVAL, REGISTER',
    ],
    [
      "a failure code",
      "results: { reasons: { SUBJECT_MISMACH: x, FOO: y } }",
      /SUBJECT_MISMACH"; did you mean "SUBJECT_MISMATCH"\?\n.*unknown key "FOO"; nearest are \w+, \w+, \w+, \w+, \w+$/,
    ],
  ])("name %s that is not known, where other forms would be possible", (_case, text, message) => {
    using folder = new ConfigFolder();
    folder.write("profiles/ours.yaml", `extends: builtin/hl7-orders\n${text}\n`);
    const file = folder.write("cryobridge.yaml", USING);
    expect(() => loadConfig(file, { env: ENV, profileSchema })).toThrow(message);
  });

  it("that are not YAML are reported once", () => {
    using folder = new ConfigFolder();
    folder.write("profiles/ours.yaml", "operation: a: b\n");
    expect(folder.mistakes(USING)).toHaveLength(1);
  });

  it.each([
    [
      "extend an unknown one",
      "profiles: { ours: { extends: builtin/hl7-order } }",
      'did you mean "builtin/hl7-orders"?',
    ],
    ["extend themselves", "profiles: { ours: { extends: ours } }", 'unknown profile "ours"'],
    [
      "take the name of a built-in one",
      "profiles: { ours: {}, builtin/x: {} }",
      "belong to the built-in profiles",
    ],
    [
      "lie in a folder that is not there",
      "profiles: { ours: {} }\nprofilesDir: nowhere",
      "there is no such folder",
    ],
  ])("that %s are refused", (_case, text, message) => {
    using folder = new ConfigFolder();
    const mistakes = folder.mistakes(`${USING}${text}\n`);
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toContain(message);
  });

  it("with the same name in two places are refused", () => {
    using folder = new ConfigFolder();
    folder.write("profiles/ours.yaml", "extends: builtin/hl7-orders\n");
    expect(folder.mistakes(`${USING}profiles: { ours: {} }`)[0]).toContain('there is another profile "ours"');
  });
});
