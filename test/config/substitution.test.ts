import { chmodSync, chownSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { substitute } from "../../src/config/environment.ts";
import { loadConfig } from "../../src/config/load.ts";
import { machineHas } from "../support/needs.ts";
import { ConfigFolder, MINIMAL, profileSchema } from "./config-file.ts";

const none = () => ({ unset: "it is not set", hint: "set it" });

describe("a reference to the environment", () => {
  it("is replaced wherever it stands in a value", () => {
    using folder = new ConfigFolder();
    const text = MINIMAL.replace("storage.example.org", `\${HOST}/\${AREA:-north}`);
    const config = folder.load(text, { API_TOKEN: "t", HOST: "h.example.org" });
    expect(config.service.baseUrl).toBe("https://h.example.org/north");
  });

  it("is left alone in keys and comments", () => {
    using folder = new ConfigFolder();
    const text = MINIMAL.replace("NORTH: 12", `"\${KEY}": 12`).concat(`# \${COMMENT}\n`);
    expect([...folder.load(text).facilityIdByCode.keys()]).toEqual([`\${KEY}`]);
  });

  it("may stand for a number or for true and false", () => {
    using folder = new ConfigFolder();
    const text = `${MINIMAL}console: { port: "\${PORT}" }\nlanes: { parkedBlocks: "\${BLOCK:-x}" }`;
    const config = folder.load(text, { API_TOKEN: "t", PORT: "9000", BLOCK: "true" });
    expect([config.console.port, config.lanes.parkedBlocks]).toEqual([9000, true]);
  });

  it("stays a text where a text is wanted, even if it looks like a number", () => {
    using folder = new ConfigFolder();
    const { auth } = folder.load(MINIMAL, { API_TOKEN: "0012345" }).service;
    expect("apiToken" in auth && auth.apiToken.reveal()).toBe("0012345");
  });

  it.each([{}, { API_TOKEN: "" }])("without a value is one error, with its place (%j)", (env) => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(MINIMAL, env)).toEqual([
      "3:21 service.auth.apiToken: API_TOKEN is not set; set it in the environment, or API_TOKEN_FILE to the file that holds it",
    ]);
    expect(folder.problems(MINIMAL, env)[0]?.hint).toMatch(/^Set API_TOKEN where you run this: /);
  });

  it("is never repeated in an error about its value", () => {
    using folder = new ConfigFolder();
    const mistakes = folder.mistakes(
      `${MINIMAL}log: { level: "\${LEVEL}" }\nconsole: { port: "\${LEVEL}" }`,
      {
        API_TOKEN: "t",
        LEVEL: "hunter2",
      },
    );
    expect(mistakes).toHaveLength(2);
    expect(mistakes.join()).not.toContain("hunter2");
  });

  it("that a running daemon can't resolve says that its environment stays as it was", () => {
    using folder = new ConfigFolder();
    const file = folder.write("cryobridge.yaml", `${MINIMAL}dataDir: "\${NEW}"`);
    const options = { env: { API_TOKEN: "t" }, isOfDaemon: true, profileSchema };
    expect(() => loadConfig(file, options)).toThrow(
      "NEW is not set, and the daemon's environment stays as it was when it started: restart the daemon with it set, or NEW_FILE to",
    );
  });

  it("has to be spelt in one of two ways", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(`${MINIMAL}dataDir: "\${A-B}"`)[0]).toContain(
      `7:10 dataDir: a reference to the environment is written \${NAME} or \${NAME:-default}`,
    );
  });

  it("is a plain text after a second dollar sign", () => {
    expect(substitute(`a$\${B}c`, none)).toMatchObject({ text: `a\${B}c`, problems: [] });
  });

  it("takes the rest where it is not closed, and is one problem", () => {
    expect(substitute("${X.".repeat(1_000), none).problems).toHaveLength(1);
  });

  it("leaves texts without references as they are", () => {
    const texts = fc.string().filter((text) => !text.includes("${"));
    fc.assert(fc.property(texts, (text) => substitute(text, none).text === text));
  });

  it("puts a value in as it is, whatever it holds", () => {
    fc.assert(
      fc.property(fc.string(), (value) => substitute(`<\${X}>`, () => ({ value })).text === `<${value}>`),
    );
  });
});

describe("NAME_FILE", () => {
  it("reads the value from a file and drops its last line end", () => {
    using folder = new ConfigFolder();
    chmodSync(folder.write("token.txt", "from-the-file\r\n"), 0o600);
    const { service, warnings } = folder.load(MINIMAL, { API_TOKEN_FILE: "token.txt" });
    expect("apiToken" in service.auth && service.auth.apiToken.reveal()).toBe("from-the-file");
    expect(warnings).toEqual([]);
  });

  it("warns when other users can read the file", () => {
    using folder = new ConfigFolder();
    chmodSync(folder.write("token.txt", "from-the-file"), 0o644);
    expect(folder.load(MINIMAL, { API_TOKEN_FILE: "token.txt" }).warnings).toEqual([
      expect.objectContaining({ line: 3, message: expect.stringContaining("can be read by other users") }),
    ]);
  });

  it.runIf(machineHas("root"))(
    "asks for another owner, too, where closing the file would shut out the program",
    () => {
      using folder = new ConfigFolder();
      const file = folder.write("token.txt", "from-the-file");
      chmodSync(file, 0o644);
      const advice = () => folder.load(MINIMAL, { API_TOKEN_FILE: "token.txt" }).warnings[0]?.message;
      expect(advice()).toContain("; run chmod 600 on it");
      chownSync(file, 1000, 1000);
      expect(advice()).toContain("; run chown 0 and chmod 600 on it");
    },
  );

  it.each([
    ["is not there", "missing.txt", "there is no such file"],
    ["is empty", "empty.txt", "is empty"],
    ["is a folder", ".", "this is a folder, not a file"],
  ])("whose file %s is an error", (_case, name, message) => {
    using folder = new ConfigFolder();
    folder.write("empty.txt", "\n");
    const mistakes = folder.mistakes(MINIMAL, { API_TOKEN_FILE: name });
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toContain(message);
  });

  it("together with NAME is an error", () => {
    using folder = new ConfigFolder();
    expect(folder.mistakes(MINIMAL, { API_TOKEN: "t", API_TOKEN_FILE: "f" })[0]).toContain(
      "set only one of them",
    );
  });
});
