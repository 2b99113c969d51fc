import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ORDER_STATES } from "../../src/core/order-state.ts";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";

const { stdout: script } = await runCli(["completion", "bash"]);

/** What bash offers for each line when Tab is pressed at its end; a word of it is what stands between blanks. */
function complete(lines: readonly string[], folder = "."): string[][] {
  const asked = lines.map((line) => {
    const words = line.split(" ").flatMap((word) => word.split(/(=)/).filter((part) => part !== ""));
    if (line.endsWith(" ")) words.push("");
    return `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}
_cryobridge; echo "\${COMPREPLY[*]}"`;
  });
  const given = [script, "compopt() { :; }", ...asked].join("\n");
  const { stdout, stderr } = spawnSync("bash", ["--norc"], { input: given, encoding: "utf8", cwd: folder });
  expect(stderr).toBe("");
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" ").filter((word) => word !== ""));
}

describe.skipIf(process.platform === "win32")("the completion of bash", () => {
  it("knows commands, those below them, and options", () => {
    const [orders, below, options, ofDefault, shared] = complete([
      "cryobridge or",
      "cryobridge orders re",
      "cryobridge orders list --s",
      "cryobridge queue --l",
      "cryobridge orders show --js",
    ]);
    expect(orders).toEqual(["orders"]);
    expect(below?.sort()).toEqual(["release", "release-after-restore", "resolve", "retry"]);
    expect(options?.sort()).toEqual(["--show-phi", "--since", "--state", "--subject"]);
    expect([ofDefault, shared]).toEqual([["--limit"], ["--json"]]);
  });

  it("knows the words that an option or argument takes, also after others and a comma", () => {
    expect(
      complete([
        "cryobridge -c x.yaml queue pause ",
        "cryobridge orders list --state ",
        "cryobridge orders list --state=parked,fa",
        "cryobridge messages list --verdict re",
        "cryobridge orders list --limit 5 --conn",
        "cryobridge alerts silence noT",
      ]),
    ).toEqual([
      ["submit", "track", "deliver"],
      [...ORDER_STATES],
      ["parked,failed"],
      ["refused"],
      ["--connector"],
      ["noTraffic"],
    ]);
  });

  it("offers nothing for what only the person knows", () => {
    expect(complete(["cryobridge orders list --connector ", "cryobridge orders list --stat"])).toEqual([
      [],
      ["--state"],
    ]);
  });

  it("offers files and folders where they are meant", () =>
    withFolder(async (folder) => {
      await writeFile(join(folder, "day.hl7"), "");
      await mkdir(join(folder, "day"));
      const lines = [
        "cryobridge hl7 show day",
        "cryobridge hl7 listen --save d",
        "cryobridge --config day.h",
        "cryobridge check --against day",
      ];
      const [files, folders, config, either] = complete(lines, folder);
      expect(files?.sort()).toEqual(["day", "day.hl7"]);
      expect([folders, config]).toEqual([["day"], ["day.hl7"]]);
      expect(either?.sort()).toEqual(["day", "day.hl7"]);
    }));
});

describe("cryobridge completion", () => {
  it("has zsh take the same", async () => {
    const { stdout, status } = await runCli(["completion", "zsh"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^autoload .*bashcompinit\n/);
    expect(stdout).toContain(script);
  });

  it("has no script for another shell", async () => {
    expect((await runCli(["completion", "fish"])).status).toBe(2);
  });
});
