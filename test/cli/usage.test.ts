import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCommands } from "../../src/cli/commands.ts";
import { exitStatusOf } from "../../src/cli/exit-status.ts";
import { toFailure } from "../../src/cli/output/failure.ts";
import { SecretMask } from "../../src/core/secret-mask.ts";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";

const NO_IO = { stdout: { write: () => {} }, stderr: { write: () => {} }, env: {}, isTTY: false };

const commands = await createCommands({ io: NO_IO, secrets: new SecretMask(), exitStatus: 0 });

/** The words of every command that can be run. */
function everyCommand(): string[][] {
  return commands.flatMap((command) => {
    const inner = command.commands.map((child) => [command.name(), child.name()]);
    return inner.length > 0 ? inner : [[command.name()]];
  });
}

describe("help", () => {
  it.each(everyCommand().map((words) => [words.join(" ")]))("of %s has an example", async (words) => {
    const { status, stdout } = await runCli([...words.split(" "), "--help"]);
    expect(status).toBe(0);
    expect(stdout).toContain(`Example:\n  cryobridge ${words}`);
    expect(stdout).toContain("--json");
    // What commander would say of values that people don't write like that.
    expect(stdout).not.toMatch(/preset:|default: \d{6}/);
  });

  it("names as required what a command can't do without", async () => {
    const wanted = commands.flatMap((command) => {
      return command.commands.flatMap((child) =>
        child.options
          .filter(({ mandatory, defaultValue }) => mandatory && defaultValue === undefined)
          .map(({ long }) => ({ words: [command.name(), child.name()], long })),
      );
    });
    expect(wanted.length).toBeGreaterThan(3);
    for (const { words, long } of wanted) {
      const { stdout } = await runCli([...words, "--help"]);
      expect(stdout).toMatch(new RegExp(`${long} <.*\\(required\\)`));
    }
    for (const words of [
      ["orders", "retry"],
      ["orders", "discard"],
    ]) {
      expect((await runCli([...words, "--help"])).stdout).toMatch(/--reason <text> .*\(required (for|with)/);
    }
  });

  it("is what a command line without a command gets, as wrong usage", async () => {
    const { status, stderr, stdout } = await runCli([]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain("Usage: cryobridge");
  });
});

describe("wrong usage", () => {
  it.each([
    ["an unknown command", ["frobnicate"], /unknown command/],
    ["an unknown option", ["orders", "list", "--colour"], /unknown option/],
    ["a missing argument", ["orders", "show"], /missing required argument/],
    ["an unknown state", ["orders", "list", "--state", "lost"], /"lost" is none of received/],
    ["a limit of 0", ["orders", "list", "--limit", "0"], /whole number/],
    ["an unknown role", ["start", "--role", "boss"], /"boss" is none of intake, worker, console/],
    ["neither orders nor a state", ["orders", "retry"], /name orders, or choose them with --state/],
    [
      "a request for several orders",
      ["orders", "resolve", "o1", "o2", "--request-id", "7"],
      /too many arguments/,
    ],
    ["an unknown queue", ["queue", "pause", "lunch"], /Expected submit or track or deliver/],
  ])("ends %s with status 2 and says what is wrong", async (_what, argv, message) => {
    const { status, stderr, stdout } = await runCli(argv);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it("is one JSON document with --json, wherever that stands", async () => {
    const { status, stdout, stderr } = await runCli(["orders", "list", "--limit", "x", "--json"]);
    expect({ status, stderr }).toEqual({ status: 2, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: "CLI_USAGE",
        message: expect.stringContaining("whole number"),
        hint: expect.stringContaining("--help"),
      },
    });
  });
});

describe("an invalid configuration", () => {
  const text = "service: { baseUrl: nonsense, tiemout: 5s }\nconnectors: []\n";

  it("ends a command with status 3 and every mistake on a line", async () => {
    await withFolder(async (folder) => {
      const file = join(folder, "c.yaml");
      await writeFile(file, text);
      const { status, stderr } = await runCli(["orders", "list"], { env: { CRYOBRIDGE_CONFIG: file } });
      expect(status).toBe(3);
      expect(stderr).toContain("service.tiemout");
      expect(stderr).toContain("service.baseUrl");
      expect(stderr).toContain("cryobridge check");
    });
  });

  it("lists its mistakes in JSON", async () => {
    await withFolder(async (folder) => {
      const file = join(folder, "c.yaml");
      await writeFile(file, text);
      const { status, stdout } = await runCli(["--json", "--config", file, "start"]);
      const { error } = JSON.parse(stdout);
      expect(status).toBe(3);
      expect(error.code).toBe("CONFIG_INVALID");
      expect(error.problems.map((problem: { path: string }) => problem.path)).toContain("service.tiemout");
      expect(error.problems[0]).toEqual({
        code: "CONFIG_INVALID",
        file,
        line: 1,
        column: expect.any(Number),
        path: expect.any(String),
        message: expect.any(String),
        hint: expect.any(String),
      });
    });
  });
});

describe("the exit status of a failure", () => {
  it.each([
    ["CONFIG_INVALID", 3],
    ["LEDGER_UNAVAILABLE", 4],
    ["LEDGER_START_FAILED", 4],
    ["QUEUE_UNAVAILABLE", 4],
    ["SERVICE_UNREACHABLE", 4],
    ["CLI_NOT_FOUND", 5],
    ["LEDGER_IN_USE", 1],
    ["FILE_TOO_LARGE", 1],
    ["UNCLASSIFIED", 1],
  ] as const)("%s is %i", (code, status) => {
    expect(exitStatusOf(code)).toBe(status);
  });

  it("takes a refused login for an unreachable database, without quoting the driver", () => {
    const error = Object.assign(new Error('password authentication failed for user "kim"'), {
      code: "28P01",
    });
    const failure = toFailure(error);
    expect(failure.code).toBe("LEDGER_REFUSED");
    expect(exitStatusOf(failure.code)).toBe(4);
    expect(failure.message).not.toContain("kim");
  });
});

it("prints the configuration's JSON Schema with the profiles in it", async () => {
  const { status, stdout } = await runCli(["schema"]);
  const schema = JSON.parse(stdout);
  expect(status).toBe(0);
  expect(schema.properties.profiles.additionalProperties.properties).toHaveProperty("extends");
});

it("prints its version", async () => {
  expect((await runCli(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});
