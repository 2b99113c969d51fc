import { link, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { moveToFreeName, publishWhole, systemFileOps } from "../../../src/connectors/drop-folder/file-ops.ts";
import { withFolder } from "../../support/with-folder.ts";

const NAMES = ["a.hl7", "a.2.hl7"] as const;
const noLinks = () => Promise.reject(Object.assign(new Error("no links"), { code: "ENOTSUP" }));
const WITHOUT_LINKS = { ...systemFileOps, link: noLinks };

/** A file `from` with the text "ours", and a folder to move it to. */
async function withMove(test: (move: Parameters<typeof moveToFreeName>[1]) => Promise<void>): Promise<void> {
  await withFolder(async (root) => {
    const [from, folder, note] = [join(root, "from"), join(root, "to"), join(root, "note")];
    const move = { from, folder, names: NAMES, owner: "OWNER", note };
    await mkdir(folder);
    await writeFile(from, "ours");
    await writeFile(note, "a note");
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
      await link(move.note, join(move.folder, "a.hl7"));
      expect(await moveToFreeName(systemFileOps, move)).toBe("a.hl7");
      expect(await readdir(move.folder)).toEqual(["a.hl7"]);
      expect(await readFile(join(move.folder, "a.hl7"), "utf8")).toBe("ours");
      expect(await readFile(move.note, "utf8")).toBe("a note");
    }));

  test("goes on with the name that it had taken before a crash where there are no links, too", () =>
    withMove(async (move) => {
      await writeFile(join(move.folder, "a.hl7"), "OWNER");
      expect(await moveToFreeName(WITHOUT_LINKS, move)).toBe("a.hl7");
      expect(await readdir(move.folder)).toEqual(["a.hl7"]);
    }));

  test("does nothing when the file was moved already", () =>
    withMove(async (move) => {
      await moveToFreeName(systemFileOps, move);
      expect(await moveToFreeName(systemFileOps, move)).toBeUndefined();
      expect(await readdir(move.folder)).toEqual(["a.hl7"]);
    }));

  test.each([
    ["links", systemFileOps],
    ["no links", WITHOUT_LINKS],
  ])("by two at once gives each a name of its own where there are %s", (_, ops) =>
    withMove(async (move) => {
      const names3 = ["a.hl7", "a.3.hl7"] as const;
      const other = { ...move, from: `${move.from}2`, owner: "OTHER", names: names3, note: `${move.note}2` };
      await writeFile(other.from, "theirs");
      await writeFile(other.note, "another note");
      const names = await Promise.all([moveToFreeName(ops, move), moveToFreeName(ops, other)]);
      expect(names.filter((name) => name === "a.hl7")).toHaveLength(1);
      expect(await readdir(move.folder)).toHaveLength(2);
    }),
  );
});

describe("publishing where there are no links", () => {
  test("renames, and never over another file", () =>
    withMove(async (move) => {
      const final = join(move.folder, "a.hl7");
      expect(await publishWhole(WITHOUT_LINKS, move.from, final)).toBe("published");
      await writeFile(move.from, "later");
      expect(await publishWhole(WITHOUT_LINKS, move.from, final)).toBe("taken");
      expect(await readFile(final, "utf8")).toBe("ours");
    }));
});
