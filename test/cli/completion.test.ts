import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { ORDER_STATES } from "../../src/core/order-state.ts";
import { runCli } from "./run-cli.ts";

const { stdout: script } = await runCli(["completion", "bash"]);

/** What bash offers for each line when Tab is pressed at its end; a word of it is what stands between blanks. */
function complete(lines: readonly string[]): string[][] {
  const asked = lines.map((line) => {
    const words = line.split(" ");
    return `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}
_cryobridge; echo "\${COMPREPLY[*]}"`;
  });
  const given = [script, ...asked].join("\n");
  const { stdout, stderr } = spawnSync("bash", ["--norc"], { input: given, encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout
    .replace(/\n$/, "")
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

  it("takes the value of an option for no command", () => {
    expect(
      complete(["cryobridge -c orders or", "cryobridge --config queue status --js", "cryobridge -c "]),
    ).toEqual([["orders"], ["--json"], []]);
  });

  it("knows the words that an option or argument takes", () => {
    expect(
      complete([
        "cryobridge -c x.yaml queue pause ",
        "cryobridge orders list --state ",
        "cryobridge files --status ref",
        "cryobridge messages list --verdict re",
        "cryobridge orders list --limit 5 --conn",
        "cryobridge alerts silence noT",
      ]),
    ).toEqual([
      ["submit", "track", "deliver"],
      [...ORDER_STATES],
      ["refused"],
      ["refused"],
      ["--connector"],
      ["noTraffic"],
    ]);
  });

  it("leaves what only the person knows, and files, to the shell", () => {
    expect(complete(["cryobridge --config ", "cryobridge hl7 show "])).toEqual([[], []]);
  });
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
