import { chmod, chown, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compileProfile } from "../../../src/mapping/profile/compile-profile.ts";
import { importFrom } from "../../../src/mapping/profile/module.ts";
import { withFolder } from "../../support/with-folder.ts";

const isPosix = process.platform !== "win32";
const isRoot = process.geteuid?.() === 0;

/** What is wrong with a profile whose module stands in a folder as it is then. */
async function troubleOf(folder: string, specifier = "./lab.mjs"): Promise<string> {
  const loadModule = importFrom(folder);
  const compiled = await compileProfile(
    "ours",
    { extends: "builtin/hl7-orders", module: specifier },
    { loadModule },
  );
  return compiled.ok ? "" : compiled.problems.map(({ place, message }) => `${place}: ${message}`).join("\n");
}

async function writeModule(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  await chmod(folder, 0o755);
  const file = join(folder, "lab.mjs");
  await writeFile(file, "export const order = (order) => order;", { mode: 0o644 });
  await chmod(file, 0o644);
  return file;
}

describe.runIf(isPosix)("a module of a profile", () => {
  test("is loaded where only the daemon's user may write it", () =>
    withFolder(async (folder) => {
      await writeModule(folder);
      expect(await troubleOf(folder)).toBe("");
    }));

  test.each([0o664, 0o646, 0o666, 0o777, 0o620, 0o602])("of mode %o is refused, naming the file", (mode) =>
    withFolder(async (folder) => {
      const file = await writeModule(folder);
      await chmod(file, mode);
      expect(await troubleOf(folder)).toContain(
        `${file} may be written by others (mode ${mode.toString(8)}); take that away with chmod go-w`,
      );
    }),
  );

  test.each([0o775, 0o757, 0o777, 0o1777])("in a folder of mode %o is refused, naming the folder", (mode) =>
    withFolder(async (folder) => {
      await writeModule(folder);
      await chmod(folder, mode);
      expect(await troubleOf(folder)).toContain(
        `${folder} may be written by others (mode ${mode.toString(8)})`,
      );
    }),
  );

  test("is looked at where a link leads, and where the link stands", () =>
    withFolder(async (folder) => {
      const target = await writeModule(join(folder, "target"));
      const links = join(folder, "links");
      await mkdir(links, { mode: 0o755 });
      await chmod(links, 0o755);
      await symlink(target, join(links, "lab.mjs"));
      expect(await troubleOf(links)).toBe("");
      await chmod(target, 0o666);
      expect(await troubleOf(links)).toContain(target);
      await chmod(target, 0o644);
      await chmod(links, 0o777);
      expect(await troubleOf(links)).toContain(`${links} may be written`);
    }));

  test.runIf(isRoot)("that belongs to another user is refused, and so is one in another's folder", () =>
    withFolder(async (folder) => {
      const file = await writeModule(folder);
      await chown(file, 4711, 0);
      expect(await troubleOf(folder)).toContain(`${file} belongs to another user (uid 4711)`);
      await chown(file, 0, 0);
      await chown(folder, 4711, 0);
      expect(await troubleOf(folder)).toContain(`${folder} belongs to another user (uid 4711)`);
      await chown(folder, 0, 0);
    }),
  );

  test("that isn't there is told as such", () =>
    withFolder(async (folder) => {
      expect(await troubleOf(folder, "./none.mjs")).toContain(
        "./none.mjs cannot be loaded: there is no such file",
      );
    }));
});
