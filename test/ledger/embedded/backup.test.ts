import { execFileSync } from "node:child_process";
import { mkdir, readFile, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { startEmbeddedPostgres } from "../../../src/ledger/embedded/embedded-postgres.ts";
import { machineHas } from "../../support/needs.ts";
import { withFolder } from "../../support/with-folder.ts";
import { query } from "./with-data-dir.ts";

const GUIDE = join(import.meta.dirname, "../../../docs/guide/operations.md");
const start = (dataDir: string) =>
  startEmbeddedPostgres({ dataDir, clock: systemClock, logger: pino({ level: "silent" }) });

/** The commands of the guide that make a backup, and those that restore it; for a data folder of the test's. */
async function commandsOfGuide(
  folder: string,
): Promise<{ readonly backup: string; readonly restore: string }> {
  const text = await readFile(GUIDE, "utf8");
  const section = text.slice(text.indexOf("## Backup and restore"));
  const [backup = "", restore = ""] = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, lines = ""]) =>
    lines
      .split("\n")
      .filter((line) => !line.includes("systemctl"))
      .map((line) => line.replace("sudo ", "").replaceAll("/var/lib/cryobridge", folder))
      .map((line) => line.replaceAll("/backup", join(folder, "backup")))
      .join("\n"),
  );
  return { backup, restore };
}

describe.runIf(machineHas("linux"))("a backup made as the guide says", () => {
  test.each([
    ["a folder", false],
    ["a link to one on another disk", true],
  ])("holds the database, and a daemon starts from it, when dataDir is %s", (_, isLink) =>
    withFolder(async (folder) => {
      const dataDir = join(folder, "data");
      await mkdir(join(folder, "backup"));
      if (isLink) {
        await mkdir(join(folder, "disk"));
        await symlink(join(folder, "disk"), dataDir);
      }
      const first = await start(dataDir);
      await query(first.connection, "CREATE TABLE kept AS SELECT 42 AS answer");
      expect(await first.stop()).toBe("stopped");

      const { backup, restore } = await commandsOfGuide(folder);
      execFileSync("sh", ["-ec", backup]);
      const later = await start(dataDir);
      await query(later.connection, "DROP TABLE kept");
      await later.stop();
      if (isLink) await rename(join(folder, "disk"), join(folder, "disk-lost"));
      execFileSync("sh", ["-ec", restore]);

      const restored = await start(dataDir);
      expect(await query(restored.connection, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
      await restored.stop();
    }),
  );
});
