import { execFileSync, spawnSync } from "node:child_process";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withFolder } from "../support/with-folder.ts";

const UNITS = join(import.meta.dirname, "../../config/service");
const isThere = spawnSync("systemd-analyze", ["--version"]).status === 0;

// Needs Debian's package systemd; nothing of it has to run.
describe.runIf(isThere)("the units for systemd", () => {
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
