import { readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FolderScan, removeOrphanMarkers } from "../../../src/connectors/drop-folder/scan.ts";
import { withFolder } from "../../support/with-folder.ts";

async function write(folder: string, name: string, minute = 0): Promise<void> {
  await writeFile(join(folder, name), name);
  const at = new Date(Date.UTC(2026, 0, 1, 0, minute));
  await utimes(join(folder, name), at, at);
}

describe("a scan", () => {
  test("finds a file whole at the second look that is at least the settling time after the first", () =>
    withFolder(async (folder) => {
      const scan = new FolderScan(folder, { stableForMs: 2_000 });
      await write(folder, "a");
      expect(await scan.look(1_000)).toEqual({ candidates: [], soonestMs: 2_000 });
      expect(await scan.look(2_999)).toEqual({ candidates: [], soonestMs: 1 });
      expect((await scan.look(3_000)).candidates).toHaveLength(1);
    }));

  test("begins again when a file's time changes although its size does not", () =>
    withFolder(async (folder) => {
      const scan = new FolderScan(folder, { stableForMs: 2_000 });
      await write(folder, "a", 1);
      await scan.look(0);
      await write(folder, "a", 2);
      expect((await scan.look(2_000)).candidates).toEqual([]);
      expect((await scan.look(4_000)).candidates).toHaveLength(1);
    }));

  test("begins again when a file was away", () =>
    withFolder(async (folder) => {
      const scan = new FolderScan(folder, { stableForMs: 2_000 });
      await write(folder, "a");
      await scan.look(0);
      await rename(join(folder, "a"), join(folder, ".a"));
      await scan.look(1_000);
      await rename(join(folder, ".a"), join(folder, "a"));
      expect((await scan.look(2_000)).candidates).toEqual([]);
    }));

  test("leaves files alone whose names the connector does not take", () =>
    withFolder(async (folder) => {
      const scan = new FolderScan(folder, { stableForMs: 0, files: "EXPORT_?.*" });
      for (const name of ["EXPORT_1.csv", "export_2.CSV", "EXPORT_10.csv", "my EXPORT_1.csv"]) {
        await write(folder, name);
      }
      await scan.look(0);
      const { candidates } = await scan.look(1);
      expect(candidates.map(({ name }) => name)).toEqual(["EXPORT_1.csv", "export_2.CSV"]);
      const others = (scan.passedOver.get("name") ?? []).map((path) => path.toString());
      expect(others.sort()).toEqual(["EXPORT_10.csv", "my EXPORT_1.csv"].map((name) => join(folder, name)));
    }));

  test.each([
    [".ok", "orders.csv", "orders.csv.OK"],
    [".ok", "ORDERS.CSV", "orders.csv.ok"],
    ["{stem}.ok", "Orders.csv", "ORDERS.Ok"],
    [".OK", "orders.csv", "orders.csv.ok"],
  ])("finds the marker %s of %s as %s, and takes neither for a file that waits", (marker, name, markerFile) =>
    withFolder(async (folder) => {
      const scan = new FolderScan(folder, { stableForMs: 60_000, marker });
      await write(folder, name);
      await scan.look(0);
      await write(folder, markerFile);
      const { candidates } = await scan.look(1);
      expect(candidates.map((each) => [each.name, each.markerPath?.toString()])).toEqual([
        [name, join(folder, markerFile)],
      ]);
      expect([...scan.passedOver]).toEqual([]);
      await removeOrphanMarkers(folder, [name], marker);
      expect((await readdir(folder)).sort()).toEqual([name, markerFile].sort());
      await rename(join(folder, name), `${folder}-taken`);
      await removeOrphanMarkers(folder, [name], marker);
      expect(await readdir(folder)).toEqual([]);
      await rm(`${folder}-taken`);
    }),
  );

  test("takes of two files whose names differ in case alone the one that the marker is named after", () =>
    withFolder(async (folder) => {
      const scan = new FolderScan(folder, { stableForMs: 0, marker: ".ok" });
      for (const name of ["a.csv", "A.csv"]) await write(folder, name);
      await scan.look(0);
      await write(folder, "a.csv.ok");
      expect((await scan.look(1)).candidates.map(({ name }) => name)).toEqual(["a.csv"]);
    }));

  test("passes over what systems leave, without a word", () =>
    withFolder(async (folder) => {
      const scan = new FolderScan(folder, { stableForMs: 0, marker: ".ok" });
      for (const name of ["Thumbs.db", "desktop.ini", ".DS_Store", "._a.csv"]) await write(folder, name);
      await scan.look(0);
      expect((await scan.look(1)).candidates).toEqual([]);
      expect([...scan.passedOver]).toEqual([]);
    }));

  test("looks after the oldest files only when there are very many", () =>
    withFolder(async (folder) => {
      const scan = new FolderScan(folder, { stableForMs: 0, window: 10 });
      for (let i = 0; i < 200; i++) await write(folder, `f${i}`, 200 - i);
      await scan.look(0);
      const { candidates } = await scan.look(1);
      expect(candidates.map((candidate) => candidate.name)).toEqual(
        Array.from({ length: 10 }, (_, i) => `f${199 - i}`),
      );
    }));
});

test.for([
  [".ok", ["a.txt.ok"]],
  ["{stem}.ok", ["a.ok"]],
] as const)(
  "an orphan of the marker %s is removed, unless it announces a file that is there",
  ([marker, orphans]) =>
    withFolder(async (folder) => {
      const others = ["a.ok", "a.txt.ok", "b.ok", "b.txt", "b.txt.ok"];
      for (const name of others) await write(folder, name);
      await removeOrphanMarkers(folder, ["a.txt", "b.txt"], marker);
      expect((await readdir(folder)).sort()).toEqual(
        others.filter((name) => !orphans.includes(name as never)),
      );
    }),
);
