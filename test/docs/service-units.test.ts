import { execFileSync, spawnSync } from "node:child_process";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withFolder } from "../support/with-folder.ts";

const UNITS = join(import.meta.dirname, "../../config/service");
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

// Needs Debian's package systemd; nothing of it has to run.
describe.runIf(hasSystemd)("the units for systemd", () => {
  test("are taken by systemd without a word", () =>
    withFolder(async (folder) => {
      await cp(UNITS, folder, { recursive: true });
      const names = (await readdir(folder)).filter((name) => /\.(service|timer)$/.test(name));
      for (const name of names) {
        const text = await readFile(join(folder, name), "utf8");
        await writeFile(join(folder, name), text.replaceAll("/opt/cryobridge/bin/cryobridge", "/bin/true"));
      }
      const output = execFileSync(
        "sh",
        ["-c", `systemd-analyze verify ${names.map((n) => `./${n}`).join(" ")} 2>&1`],
        {
          cwd: folder,
          encoding: "utf8",
        },
      );
      expect(names.length).toBeGreaterThan(0);
      expect(output).toBe("");
    }));
});

const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe("the service for Windows", () => {
  const file = join(UNITS, "cryobridge-winsw.xml");

  test.runIf(hasPython)("is XML that a parser of another project reads", () => {
    const program = "import sys, xml.etree.ElementTree as t; print(t.parse(sys.argv[1]).getroot().tag)";
    expect(execFileSync("python3", ["-c", program, file], { encoding: "utf8" }).trim()).toBe("service");
  });

  test("starts the program of the package, waits for its end, and rotates its log", async () => {
    const text = await readFile(file, "utf8");
    const textOf = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
    const { bin } = JSON.parse(await readFile(join(UNITS, "../../package.json"), "utf8"));
    const program = `C:\\Cryobridge\\node_modules\\cryobridge\\${bin.cryobridge.replaceAll("/", "\\")}`;
    expect(textOf("arguments")).toBe(`${program} start`);
    expect(textOf("stoptimeout")).toBe("60 sec");
    expect(text).toContain('<log mode="roll-by-size">');
    expect(Number(textOf("keepFiles"))).toBeGreaterThan(1);
  });
});
