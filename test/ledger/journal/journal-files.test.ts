import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { holdCommit, idsOf, type Journals, TIMES, withJournals } from "../../support/journals.ts";
import { machineHas } from "../../support/needs.ts";

describe("the two files", () => {
  test("take turns when one is full, and nothing is lost or changes places, also not by a crash", () =>
    withJournals(async ({ open, take, put, messages, due }) => {
      const journal = await open();
      const large = { raw: Buffer.alloc(10_600_000, "x") };
      const ids: number[] = [];
      for (let n = 0; n < 6; n += 1) ids.push(...(await put(journal, 1, large)));
      // Both are full, and one is still full when two messages of it are in the ledger.
      for (let n = 0; n < 2; n += 1) {
        expect(await journal.append(await take(1, large), TIMES)).toBe(false);
        await journal.flush();
      }
      expect(await journal.append(await take(1, large), TIMES)).toBe(false);
      await journal.flush();
      // The newest stands in the first file now, and those before it in the second.
      ids.push(...(await put(journal, 1, large)));
      expect(idsOf(await messages())).toEqual(ids.slice(0, 3));
      const next = await open();
      expect(next.count).toBe(4);
      await next.flush();
      expect(idsOf(await messages())).toEqual(ids.slice(0, 4));
      await next.empty();
      expect(idsOf(await messages())).toEqual(ids);
      expect(await due()).toEqual(ids);
    }));

  test("take no group that is larger than one of them", () =>
    withJournals(async ({ open, take }) => {
      const journal = await open();
      const group = await take(4, { raw: Buffer.alloc(9_000_000) });
      expect(await journal.append(group, TIMES)).toBe(false);
      expect(journal.count).toBe(0);
    }));

  test("are not wiped, nor cut back, while something is being written into them", () =>
    withJournals(async ({ pool, open, take, put, messages }) => {
      const { journal, ids, flushing, letGo } = await flushHeld({ pool, open, put });
      const next = await take(1, { raw: "x".repeat(18_000_000) });
      const writing = journal.append(next, TIMES);
      letGo();
      await flushing;
      expect(await writing).toBe(true);
      expect((await open()).count).toBe(1);
      await journal.empty();
      expect(idsOf(await messages())).toEqual([...ids, ...idsOf(next)]);
    }));

  test("take nothing while they are being wiped", () =>
    withJournals(async ({ pool, open, take, put, messages }) => {
      const { journal, ids, flushing, letGo } = await flushHeld({ pool, open, put });
      letGo();
      await new Promise((resolve) => setImmediate(resolve));
      const next = await take(1);
      expect(await journal.append(next, TIMES)).toBe(true);
      await flushing;
      expect((await open()).count).toBe(1);
      await journal.empty();
      expect(idsOf(await messages())).toEqual([...ids, ...idsOf(next)]);
    }));

  test("lose nothing when messages are written and flushed at the same time and the process is killed", () =>
    withJournals(async ({ open, put, messages, due }) => {
      const ids: number[] = [];
      for (let run = 0; run < 12; run += 1) {
        const journal = await open();
        let isOver = false;
        const flushing = (async () => {
          while (!isOver) {
            if ((await journal.flush()) === undefined) await new Promise((resolve) => setImmediate(resolve));
          }
        })();
        for (let n = 0; n < 10 + run; n += 1) {
          ids.push(...(await put(journal, 1 + (n % 3), { raw: "x".repeat((n % 4) * 50_000) })));
        }
        isOver = true;
        await flushing;
        await journal.close();
      }
      await (await open()).empty();
      expect(idsOf(await messages())).toEqual(ids);
      expect(await due()).toEqual(ids);
    }));

  test("are for their owner alone to read, and so is their folder", () =>
    withJournals(async ({ folder, open }) => {
      await open();
      expect((await readdir(folder)).sort()).toEqual(["lims.a", "lims.b"]);
      const modes = [folder, join(folder, "lims.a"), join(folder, "lims.b")].map(async (path) => {
        return (await stat(path)).mode & 0o777;
      });
      expect(await Promise.all(modes)).toEqual([0o700, 0o600, 0o600]);
    }));

  test.runIf(machineHas("linux"))("are written through to the disk", () =>
    withJournals(async ({ folder, open }) => {
      await open();
      const flags = await flagsOf(join(folder, "lims.a"));
      expect(flags & 0o10000).toBe(0o10000);
    }),
  );
});

/**
 * A journal with a message that the ledger has taken, but doesn't say so before it is let go. The message is more than a
 * file has room for as it is made, and takes so long that the next is written aside.
 */
async function flushHeld({ pool, open, put }: Pick<Journals, "pool" | "open" | "put">) {
  const commit = holdCommit(pool, "carried out");
  const journal = await open({ pool: commit.pool });
  const ids = await put(journal, 1, { raw: "x".repeat(9_000_000) });
  const flushing = journal.flush();
  await commit.held;
  return { journal, ids, flushing, letGo: commit.letGo };
}

/** How a file of this process was opened. */
async function flagsOf(path: string): Promise<number> {
  for (const fd of await readdir("/proc/self/fd")) {
    const target = await readlink(`/proc/self/fd/${fd}`).catch(() => "");
    if (target !== path) continue;
    const info = await readFile(`/proc/self/fdinfo/${fd}`, "utf8");
    return Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? "0", 8);
  }
  throw new Error(`${path} is not open`);
}
