import { mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FolderScan } from "../../../src/connectors/drop-folder/scan.ts";
import { Untaken } from "../../../src/connectors/drop-folder/untaken.ts";
import { withFolder } from "../../support/with-folder.ts";

const AFTER_MS = 600_000;

/** A scan of the folder at times of the test's choosing, ms from now, and what it finds to be untaken. */
function scanOf(folder: string, marker?: string) {
  let atMs = 0;
  const startedMs = Date.now();
  const clock = { now: () => startedMs + atMs, monotonic: () => atMs, sleep: async () => undefined };
  const scan = new FolderScan(folder, { stableForMs: 2_000, marker });
  const untaken = new Untaken(scan, clock, { afterMs: AFTER_MS, marker });
  return async (ms: number) => {
    atMs = ms;
    await scan.look(ms);
    await untaken.look();
    return untaken.found
      .map(({ reason, count, since }) => `${reason} ${count} ${since.getTime() - startedMs}`)
      .sort();
  };
}

test("a file is reported when it has rested for the set time, and not before", () =>
  withFolder(async (folder) => {
    const lookAt = scanOf(folder, ".ok");
    await writeFile(join(folder, ".a.csv"), "");
    await writeFile(join(folder, "b.csv"), "");
    await writeFile(join(folder, "c.csv.ok"), "");
    expect(await lookAt(AFTER_MS - 1_000)).toEqual([]);
    expect(await lookAt(AFTER_MS + 60_000)).toEqual([
      expect.stringMatching(/^lone_marker 1 -?\d{1,3}$/),
      expect.stringMatching(/^marker 1 -?\d{1,3}$/),
      expect.stringMatching(/^name 1 -?\d{1,3}$/),
    ]);
  }));

test("a file that changes is reported by the time since it was first seen, and no more once it rests", () =>
  withFolder(async (folder) => {
    const lookAt = scanOf(folder);
    const path = join(folder, "a.csv");
    await writeFile(path, "");
    const touch = (minute: number) => utimes(path, new Date(), new Date(Date.UTC(2026, 0, 1, 0, minute)));
    for (let minute = 0; minute < 10; minute++) {
      await touch(minute);
      expect(await lookAt(minute * 60_000)).toEqual([]);
    }
    await touch(10);
    expect(await lookAt(AFTER_MS)).toEqual(["changing 1 0"]);
    expect(await lookAt(AFTER_MS + 60_000)).toEqual([]);
  }));

test("a folder that is not taken is reported as one, whatever it waits for, and a hidden one is not", () =>
  withFolder(async (folder) => {
    const lookAt = scanOf(folder, ".ok");
    for (const name of [".snapshot", "2026", "upload.tmp"]) await mkdir(join(folder, name));
    expect(await lookAt(AFTER_MS + 60_000)).toEqual([expect.stringMatching(/^folder 2 /)]);
  }));

test("of very many, only a thousand are looked at", () =>
  withFolder(async (folder) => {
    await mkdir(join(folder, ".snapshot"));
    for (let i = 0; i < 1_100; i++) await writeFile(join(folder, `${i}.part`), "");
    const [found] = await scanOf(folder)(AFTER_MS * 2);
    expect(found).toMatch(/^name (?:999|1000) /);
  }));
