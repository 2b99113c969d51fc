import { readdirSync, readFileSync } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findPlaceOf, makeFolders } from "../../src/core/make-folders.ts";
import { ROOT } from "../docs/markdown.ts";
import { machineHas } from "../support/needs.ts";
import { withFolder } from "../support/with-folder.ts";

describe("folders", () => {
  it("are made with those above them, and the outermost that was made is given", async () => {
    await withFolder(async (folder) => {
      expect(await makeFolders(join(folder, "a/b/c"), 0o700)).toBe(join(folder, "a"));
      expect((await stat(join(folder, "a/b/c"))).mode & 0o777).toBe(0o700);
      expect(await makeFolders(join(folder, "a/b"))).toBeUndefined();
      expect(await makeFolders(join(folder, "a/b/d"))).toBe(join(folder, "a/b/d"));
      await writeFile(join(folder, "file"), "");
      await expect(makeFolders(join(folder, "file"))).rejects.toThrow("EEXIST");
      await expect(makeFolders(join(folder, "file/x"))).rejects.toThrow("ENOTDIR");
    });
  });

  it("are made once by several that make them at the same moment", async () => {
    await withFolder(async (folder) => {
      const all = Array.from({ length: 8 }, () => makeFolders(join(folder, "a/b/c/d")));
      await expect(Promise.all(all)).resolves.toHaveLength(8);
    });
  });

  it.runIf(machineHas("linux"))("are refused at once where the file system takes none", async () => {
    await expect(makeFolders("/proc/x")).rejects.toThrow("ENOENT");
    await expect(makeFolders("/proc/x/data")).rejects.toThrow("ENOENT");
    expect(await findPlaceOf("/proc/x/data")).toEqual({ place: "/proc", isWritable: false });
  });

  it("that are missing are looked for a place where they can be made", async () => {
    await withFolder(async (folder) => {
      expect(await findPlaceOf(join(folder, "a/b"))).toEqual({ place: folder, isWritable: true });
      expect(await findPlaceOf(folder)).toEqual({ place: folder, isWritable: true });
      const file = join(folder, "file");
      await writeFile(file, "");
      expect(await findPlaceOf(join(file, "a"))).toEqual({ place: file, isWritable: false });
    });
  });
});

it("nothing that a person names is made by Node's own `recursive`, which may never end", () => {
  const own = ["core/make-folders.ts", "cli/demo/samples.ts", "ledger/embedded/programs.ts"];
  const found = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter(
    (name) =>
      name.endsWith(".ts") &&
      !own.includes(name) &&
      /mkdir\([^)]*recursive/.test(readFileSync(join(ROOT, "src", name), "utf8")),
  );
  expect(found).toEqual([]);
});
