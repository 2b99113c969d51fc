import { chmod, chown, lstat, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { KnownFolder } from "../../../src/connectors/drop-folder/known-folder.ts";
import { checkFolders, makeFolder } from "../../../src/connectors/drop-folder/layout.ts";
import { deliverFile } from "../../../src/connectors/drop-folder/outbox.ts";
import type { DropDirectories } from "../../../src/connectors/drop-folder/settings.ts";
import { machineHas } from "../../support/needs.ts";
import { withFolder } from "../../support/with-folder.ts";
import { type DropWorld, dropDirectories, makeWorld, withDropWorld } from "../drop-world.ts";

const GOOD = "MSH|^~\\&|LIMS|NORTH|||20260101||ORM^O01|A-1|P|2.5\rPID|1\r";
const RESULT = { fileName: "PO-1_00000A1.hl7", bytes: Buffer.from("MSH|result\r") };

async function modeOf(path: string): Promise<string> {
  return ((await lstat(path)).mode & 0o7777).toString(8);
}

async function withUmask<T>(umask: number, body: () => Promise<T>): Promise<T> {
  const before = process.umask(umask);
  try {
    return await body();
  } finally {
    process.umask(before);
  }
}

/** Rights of every folder and file below, by the names from there; numbers and days left out. */
async function modesBelow(folder: string): Promise<Record<string, string>> {
  const modes: Record<string, string> = {};
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    if ((await lstat(path)).isSymbolicLink() || name.endsWith("journal")) continue;
    const key = name.replace(/\d{4}-\d\d-\d\d/, "DAY").replace(/[0-9A-HJKMNP-TV-Z]{26}/, "ID");
    modes[key] = await modeOf(path);
  }
  return modes;
}

async function takeOneOfEach(world: DropWorld, folderMode?: number): Promise<void> {
  const connector = await world.start(world.hl7(folderMode === undefined ? {} : { folderMode }));
  await world.drop("good.hl7", GOOD);
  await world.drop("bad.hl7", "no message");
  for (const name of ["good.hl7", "bad.hl7"]) await chmod(join(world.directories.in, name), 0o777);
  await connector.deliver(RESULT);
  await world.settled();
  await connector.stop();
}

describe.skipIf(process.platform === "win32")("what a drop folder makes", () => {
  test.each([0o000, 0o022, 0o027, 0o077])("has the same rights with umask %o: others have none", (umask) =>
    withFolder(async (folder) => {
      const world = makeWorld(join(folder, "lab/hl7"), []);
      await withUmask(umask, () => takeOneOfEach(world));
      expect(await modesBelow(folder)).toEqual({
        lab: "750",
        "lab/hl7": "750",
        "lab/hl7/in": "750",
        "lab/hl7/out": "750",
        "lab/hl7/archive": "750",
        "lab/hl7/archive/DAY": "750",
        "lab/hl7/error": "750",
        "lab/hl7/work": "700",
        "lab/hl7/work/TESTED": "700",
        "lab/hl7/archive/DAY/good.hl7": "640",
        "lab/hl7/error/bad.hl7": "640",
        "lab/hl7/error/bad.hl7.error.json": "640",
        "lab/hl7/error/bad.hl7.error.txt": "640",
        "lab/hl7/out/PO-1_00000A1.hl7": "640",
      });
    }),
  );

  test.each([
    ["2770", "640", "640"],
    ["2775", "640", "644"],
    ["700", "600", "600"],
  ])("follows the mode that is set: %s", (mode, reportMode, resultMode) =>
    withDropWorld(async (world) => {
      await takeOneOfEach(world, Number.parseInt(mode, 8));
      const modes = await modesBelow(world.folder);
      expect(modes).toMatchObject({
        in: mode,
        out: mode,
        "archive/DAY": mode,
        "archive/DAY/good.hl7": "640",
        "error/bad.hl7.error.txt": reportMode,
        "out/PO-1_00000A1.hl7": resultMode,
      });
    }),
  );

  test("leaves folders that are there as they are, and keeps a group that they hand down", () =>
    withDropWorld(async (world) => {
      await chmod(world.folder, 0o2750);
      await mkdir(world.directories.archive);
      await chmod(world.directories.archive, 0o2700);
      await takeOneOfEach(world);
      expect(await modesBelow(world.folder)).toMatchObject({
        in: "2750",
        archive: "2700",
        "archive/DAY": "2750",
      });
    }));

  test("takes rights away from files and never adds one", () =>
    withDropWorld(async (world) => {
      const connector = await world.start(world.hl7({ maxBytes: 100 }));
      await world.drop("large.hl7", GOOD.repeat(5));
      await chmod(join(world.directories.in, "large.hl7"), 0o604);
      await mkdir(join(world.directories.in, "folder"));
      await chmod(join(world.directories.in, "folder"), 0o777);
      await world.drop("tight.hl7", GOOD.slice(0, 80));
      await chmod(join(world.directories.in, "tight.hl7"), 0o400);
      await world.settled();
      await connector.stop();
      const modes = await modesBelow(world.folder);
      expect(modes).toMatchObject({ "error/large.hl7": "600", "error/folder": "750" });
      expect(Object.entries(modes).find(([name]) => name.endsWith("tight.hl7"))?.[1]).toBe("400");
    }));

  test("changes nothing outside through a link that was dropped", () =>
    withDropWorld(async (world) => {
      const outside = join(world.folder, "outside");
      await writeFile(outside, "x");
      await chmod(outside, 0o666);
      const connector = await world.start(world.hl7());
      await symlink(outside, join(world.directories.in, "link.hl7"));
      await world.settled();
      await connector.stop();
      expect(await modeOf(outside)).toBe("666");
    }));

  test("a result over MLLP's folder has the folder's rights too", () =>
    withFolder((folder) =>
      withUmask(0o000, async () => {
        const out = join(folder, "a/b");
        await makeFolder(out, 0o750);
        const ops = {
          rename: neverCalled,
          link: (await import("node:fs/promises")).link,
          openForReading: neverCalled,
          syncFolder: async () => {},
        };
        await deliverFile(RESULT, { folder: new KnownFolder(out), mode: 0o640, ops });
        expect(await modesBelow(folder)).toEqual({
          a: "750",
          "a/b": "750",
          [`a/b/${RESULT.fileName}`]: "640",
        });
      }),
    ));
});

const neverCalled = () => Promise.reject(new Error("not expected"));

describe.skipIf(process.platform === "win32")("check", () => {
  /** What check says of the folder `archive` when the folders have these rights. */
  async function saidOfArchive(above: number, archive: number): Promise<string> {
    let said = "";
    await withFolder(async (folder) => {
      const site = join(folder, "site");
      const directories: DropDirectories = dropDirectories(site);
      await makeFolder(site, 0o750);
      for (const path of Object.values(directories)) await makeFolder(path, 0o750);
      await chmod(directories.archive, archive);
      await chmod(site, above);
      const lines = await checkFolders(directories);
      const line = lines.find(({ subject }) => /\barchive\b/.test(subject));
      expect(line?.level).not.toBe("act");
      said = `${line?.level === "look" ? "warning: " : ""}${line?.detail.replaceAll(dirname(directories.archive), "SITE")}`;
    });
    return said;
  }

  test.each([
    [0o755, 0o750, "can be written"],
    [0o750, 0o755, "can be written"],
    [0o1777, 0o750, "can be written"],
    [
      0o755,
      0o755,
      "warning: orders hold patients' data, and every account of this machine may read it: run `chmod o-rwx SITE/archive`",
    ],
    [
      0o711,
      0o773,
      "warning: orders hold patients' data, and every account of this machine may write to it: run `chmod o-rwx SITE/archive`",
    ],
    [
      0o777,
      0o750,
      "warning: orders hold patients' data, and every account of this machine may write to SITE, and so put another folder in the place of this one: run `chmod o-w SITE`",
    ],
  ])("with %o above and %o of its own, a folder: %s", async (above, archive, said) => {
    expect(await saidOfArchive(above, archive)).toBe(said);
  });
});

describe.runIf(machineHas("root", "linux"))("a file that belongs to the lab's account", () => {
  test("is narrowed as well when the daemon may do that", () =>
    withDropWorld(async (world) => {
      const connector = await world.start(world.hl7());
      await world.drop("good.hl7", GOOD);
      await chown(join(world.directories.in, "good.hl7"), 12345, 12345);
      await world.settled();
      await connector.stop();
      expect(await modesBelow(world.directories.archive)).toMatchObject({ "DAY/good.hl7": "640" });
    }));
});

describe.runIf(machineHas("root", "linux"))("check of a folder that has the lab's group", () => {
  const LAB = 12345;

  test.each([
    ["out", 0o770, true],
    ["error", 0o750, true],
    ["out", 0o2770, false],
    ["out", 0o700, false],
    ["in", 0o770, false],
  ] as const)(
    "%s with %o: warned that the group can't read what is made in it: %s",
    async (key, mode, isWarning) =>
      withFolder(async (folder) => {
        const directories: DropDirectories = dropDirectories(join(folder, "site"));
        for (const path of Object.values(directories)) await makeFolder(path, 0o750);
        const path = directories[key];
        await chown(path, 0, LAB);
        await chmod(path, mode);
        const line = (await checkFolders(directories)).find(({ subject }) =>
          new RegExp(`\\b${key}\\b`).test(subject),
        );
        expect(line).toMatchObject({
          detail: isWarning
            ? `its group (${LAB}) may read it, but files made in it get the group of the account root (0): run \`chmod g+s ${path}\``
            : "can be written",
        });
        expect(line?.level).toBe(isWarning ? "look" : undefined);
      }),
  );
});
