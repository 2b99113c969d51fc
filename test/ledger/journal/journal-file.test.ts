import { hash } from "node:crypto";
import { mkdir, open, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { JournalFile } from "../../../src/ledger/journal/journal-file.ts";
import { encodeRecord, type FoundRecord } from "../../../src/ledger/journal/record.ts";
import { anArrival } from "../../support/journals.ts";
import { withFolder } from "../../support/with-folder.ts";

const OWNER = { connector: "lims", instanceCode: "TEST" };
const AT = Date.UTC(2026, 10, 21, 12);
const HEADER_BYTES = 4_096;
const MIB = 1024 * 1024;
const MADE_BYTES = 8 * MIB;

interface World {
  readonly path: string;
  /** Opens the file; all are closed at the end of the test. */
  open(owner?: typeof OWNER): Promise<JournalFile>;
  /** Overwrites bytes of it. */
  overwrite(at: number, bytes: Buffer): Promise<void>;
}

function withFile(test: (world: World) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const path = join(folder, "lims.a");
    const opened: JournalFile[] = [];
    try {
      await test({
        path,
        open: async (owner = OWNER) => {
          const file = await JournalFile.open(path, owner);
          opened.push(file);
          return file;
        },
        overwrite: async (at, bytes) => {
          const handle = await open(path, "r+");
          await handle.write(bytes, 0, bytes.length, at);
          await handle.close();
        },
      });
    } finally {
      for (const file of opened) await file.close();
    }
  });
}

const record = (file: JournalFile, id: number, raw = `MSH|${id}`) =>
  encodeRecord(file.mark, [anArrival(id, { raw })], AT);
/** Records by their digests: to compare megabytes byte by byte takes seconds. */
const shown = (found: readonly FoundRecord[]) =>
  found.map((each) => ({ ...each, record: hash("sha256", each.record) }));
const whole = (records: readonly Buffer[]) =>
  shown(records.map((each) => ({ record: each, isBehindDamage: false })));
const isAllZeros = (bytes: Buffer) => bytes.equals(Buffer.alloc(bytes.length));

describe("a journal's file", () => {
  test("is made of zeros behind its header, for its owner alone to read", () =>
    withFile(async ({ path, open }) => {
      const file = await open();
      expect(await file.read()).toEqual([]);
      expect(file.length).toBe(0);
      const bytes = await readFile(path);
      expect(bytes.length).toBe(MADE_BYTES);
      expect(isAllZeros(bytes.subarray(HEADER_BYTES))).toBe(true);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
    }));

  test("is made anew when making it was cut off", () =>
    withFile(async ({ path, open }) => {
      const other = await open();
      const leftover = Buffer.concat([Buffer.alloc(5_000, "x"), record(other, 1)]);
      await writeFile(`${path}2.new`, leftover);
      const file = await JournalFile.open(`${path}2`, OWNER);
      expect(await file.read()).toEqual([]);
      await file.close();
      expect(isAllZeros((await readFile(`${path}2`)).subarray(HEADER_BYTES))).toBe(true);
      expect((await readdir(join(path, ".."))).sort()).toEqual(["lims.a", "lims.a2"]);
    }));

  test("has a mark of its own, which it keeps", () =>
    withFile(async ({ path, open }) => {
      const file = await open();
      const other = await JournalFile.open(`${path}2`, OWNER);
      await other.close();
      expect(other.mark.equals(file.mark)).toBe(false);
      expect((await open()).mark.equals(file.mark)).toBe(true);
    }));

  test("gives back what was written, also to the next that opens it", () =>
    withFile(async ({ open }) => {
      const file = await open();
      const records = [record(file, 1), record(file, 2), record(file, 3)];
      for (const each of records) await file.append(each);
      expect(file.length).toBe(Buffer.concat(records).length);
      expect(shown(await file.read())).toEqual(whole(records));
      const next = await open();
      expect(shown(await next.read())).toEqual(whole(records));
    }));

  test("takes more behind what an earlier run left", () =>
    withFile(async ({ open }) => {
      const file = await open();
      const records = [record(file, 1), record(file, 2, "x".repeat(2 * MIB)), record(file, 3)];
      for (const each of records.slice(0, 2)) await file.append(each);
      const next = await open();
      await next.read();
      await next.append(records[2] as Buffer);
      expect(shown(await (await open()).read())).toEqual(whole(records));
    }));

  test("takes more than was made ahead, and is cut back when it is wiped", () =>
    withFile(async ({ path, open }) => {
      const file = await open();
      const records = [1, 2, 3, 4].map((id) => record(file, id, String(id).repeat(3 * MIB)));
      for (const each of records) await file.append(each);
      expect((await stat(path)).size).toBeGreaterThan(12 * MIB);
      expect(shown(await (await open()).read())).toEqual(whole(records));
      await file.wipe();
      const bytes = await readFile(path);
      expect(bytes.length).toBe(MADE_BYTES);
      expect(isAllZeros(bytes.subarray(HEADER_BYTES))).toBe(true);
      await file.append(record(file, 5));
      expect(shown(await (await open()).read())).toEqual(whole([record(file, 5)]));
    }));
});

test("a file on a disk that was slow a moment ago holds nobody up over the next record", () =>
  withFile(async ({ open }) => {
    const file = await open();
    await file.append(Buffer.alloc(64 * MIB, "x"));
    let isWritten = false;
    const writing = file.append(record(file, 1)).then(() => {
      isWritten = true;
    });
    // Without another turn of the event loop no thread can have told of it.
    for (let n = 0; n < 100; n += 1) await Promise.resolve();
    expect(isWritten).toBe(false);
    await writing;
    expect(shown(await file.read())).toEqual([
      { record: hash("sha256", record(file, 1)), isBehindDamage: true },
    ]);
  }));

describe("a wiped file", () => {
  test("holds nothing of any message or answer, and begins anew", () =>
    withFile(async ({ path, open }) => {
      const file = await open();
      const header = (await readFile(path)).subarray(0, HEADER_BYTES);
      const raw = "PID|1||S-1^^^CLINIC^MR||Example^Ada||19900131|F";
      await file.append(encodeRecord(file.mark, [anArrival(1, { raw, reply: `MSA|AA|${raw}` })], AT));
      expect((await readFile(path)).includes("Example^Ada")).toBe(true);
      await file.wipe();
      expect(file.length).toBe(0);
      const bytes = await readFile(path);
      expect(bytes.equals(Buffer.concat([header, Buffer.alloc(MADE_BYTES - HEADER_BYTES)]))).toBe(true);
      await file.append(record(file, 2));
      expect(shown(await file.read())).toEqual(whole([record(file, 2)]));
    }));

  test.each([
    ["is no record, such as the rest of one", 3 * MIB + 17],
    ["stands at its very end", MADE_BYTES - 1],
    ["stands at its very beginning", HEADER_BYTES],
    ["is behind what was made ahead", MADE_BYTES + 3 * MIB],
  ])("holds nothing that an earlier run left, also what %s", (_, at) =>
    withFile(async ({ path, open, overwrite }) => {
      await open();
      await overwrite(at, Buffer.from("x"));
      const next = await open();
      expect(await next.read()).toEqual([]);
      expect(next.length).toBeGreaterThan(0);
      await next.wipe();
      const bytes = await readFile(path);
      expect(bytes.length).toBe(MADE_BYTES);
      expect(isAllZeros(bytes.subarray(HEADER_BYTES))).toBe(true);
    }),
  );

  test("is wiped to its end by the next when wiping was cut off", () =>
    withFile(async ({ path, open, overwrite }) => {
      const file = await open();
      const records = [1, 2, 3].map((id) => record(file, id, String(id).repeat(MIB)));
      for (const each of records) await file.append(each);
      await overwrite(HEADER_BYTES, Buffer.alloc(MIB + 1_000));
      const next = await open();
      expect((await next.read()).map(({ record }) => record.equals(records[2] as Buffer))).toEqual([true]);
      await next.wipe();
      expect(isAllZeros((await readFile(path)).subarray(HEADER_BYTES))).toBe(true);
    }));
});

describe("a file that isn't to be read", () => {
  test("is one whose header had any byte changed", () =>
    withFile(async ({ path, open, overwrite }) => {
      await open();
      const bytes = await readFile(path);
      const end = bytes.indexOf(0);
      for (let at = 0; at < end; at += 1) {
        await overwrite(at, Buffer.from([(bytes[at] ?? 0) ^ 1]));
        await expect(open(), `byte ${at}`).rejects.toMatchObject({ code: "JOURNAL_DAMAGED" });
        await overwrite(at, bytes.subarray(at, at + 1));
      }
      await open();
    }));

  test.each([
    ["empty", async (path: string) => truncate(path, 0)],
    ["cut off in its header", async (path: string) => truncate(path, 20)],
    ["of zeros", async (path: string) => writeFile(path, Buffer.alloc(MADE_BYTES))],
    ["something else", async (path: string) => writeFile(path, "null\n")],
  ])("is one that is %s, which stays as it is", (_, spoil) =>
    withFile(async ({ path, open }) => {
      await open();
      await spoil(path);
      const before = await readFile(path);
      await expect(open()).rejects.toMatchObject({ code: "JOURNAL_DAMAGED" });
      expect((await readFile(path)).equals(before)).toBe(true);
    }),
  );

  test.each([
    ["of another ledger", { ...OWNER, instanceCode: "OTHR" }],
    ["of another connector", { ...OWNER, connector: "bench" }],
  ])("is one %s, and the failure says whose it is", (_, other) =>
    withFile(async ({ open }) => {
      await (await open()).append(Buffer.from("anything"));
      await expect(open(other)).rejects.toMatchObject({
        code: "JOURNAL_FOREIGN",
        message: expect.stringContaining("connector lims of the ledger TEST"),
      });
    }),
  );

  test("is not one of another ledger that holds nothing, which is made anew", () =>
    withFile(async ({ open }) => {
      const { mark } = await open();
      const other = { ...OWNER, instanceCode: "OTHR" };
      const anew = await open(other);
      expect(anew.mark.equals(mark)).toBe(false);
      await anew.append(record(anew, 1));
      expect(await (await open(other)).read()).toHaveLength(1);
    }));

  test("says what the file system says when it is a folder", () =>
    withFile(async ({ path, open }) => {
      await mkdir(path);
      await expect(open()).rejects.toMatchObject({ code: "EISDIR" });
    }));
});
