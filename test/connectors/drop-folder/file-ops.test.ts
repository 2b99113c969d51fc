import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { moveToFreeName, publishWhole, systemFileOps } from "../../../src/connectors/drop-folder/file-ops.ts";
import { withFolder } from "../../support/with-folder.ts";

const NAMES = ["a.hl7", "a.2.hl7"] as const;

/** A file `from` with the text "ours", and a folder to move it to. */
async function withMove(
  test: (move: { from: string; folder: string; names: typeof NAMES; owner: string }) => Promise<void>,
): Promise<void> {
  await withFolder(async (root) => {
    const move = { from: join(root, "from"), folder: join(root, "to"), names: NAMES, owner: "OWNER" };
    await mkdir(move.folder);
    await writeFile(move.from, "ours");
    await test(move);
  });
}

describe("moving to a free name", () => {
  test("takes the first name when it is free", () =>
    withMove(async (move) => {
      expect(await moveToFreeName(systemFileOps, move)).toBe("a.hl7");
      expect(await readFile(join(move.folder, "a.hl7"), "utf8")).toBe("ours");
    }));

  test.each(["another's", "OTHER", ""])("never replaces a file that holds %j", (content) =>
    withMove(async (move) => {
      await writeFile(join(move.folder, "a.hl7"), content);
      expect(await moveToFreeName(systemFileOps, move)).toBe("a.2.hl7");
      expect(await readFile(join(move.folder, "a.hl7"), "utf8")).toBe(content);
      expect(await readFile(join(move.folder, "a.2.hl7"), "utf8")).toBe("ours");
    }),
  );

  test("goes on with the name that it had taken before a crash", () =>
    withMove(async (move) => {
      await writeFile(join(move.folder, "a.hl7"), "OWNER");
      expect(await moveToFreeName(systemFileOps, move)).toBe("a.hl7");
      expect(await readdir(move.folder)).toEqual(["a.hl7"]);
    }));

  test("does nothing when the file was moved already", () =>
    withMove(async (move) => {
      await moveToFreeName(systemFileOps, move);
      expect(await moveToFreeName(systemFileOps, move)).toBeUndefined();
      expect(await readdir(move.folder)).toEqual(["a.hl7"]);
    }));

  test("by two at once gives each a name of its own", () =>
    withMove(async (move) => {
      const other = { ...move, from: `${move.from}2`, owner: "OTHER", names: ["a.hl7", "a.3.hl7"] as const };
      await writeFile(other.from, "theirs");
      const names = await Promise.all([
        moveToFreeName(systemFileOps, move),
        moveToFreeName(systemFileOps, other),
      ]);
      expect(names.filter((name) => name === "a.hl7")).toHaveLength(1);
      expect(await readdir(move.folder)).toHaveLength(2);
    }));
});

describe("publishing where there are no links", () => {
  const ops = {
    ...systemFileOps,
    link: () => Promise.reject(Object.assign(new Error("no links"), { code: "ENOTSUP" })),
  };

  test("renames, and never over another file", () =>
    withMove(async (move) => {
      const final = join(move.folder, "a.hl7");
      expect(await publishWhole(ops, move.from, final)).toBe("published");
      await writeFile(move.from, "later");
      expect(await publishWhole(ops, move.from, final)).toBe("taken");
      expect(await readFile(final, "utf8")).toBe("ours");
    }));
});
