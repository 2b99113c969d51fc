import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { insertArrivals } from "../../../src/ledger/arrivals.ts";
import type { Journal } from "../../../src/ledger/journal/journal.ts";
import { withFullDisk } from "../../support/full-disk.ts";
import {
  HEADER_BYTES,
  idsOf,
  type Journals,
  losingPool,
  TIMES,
  withJournals,
  withQuery,
} from "../../support/journals.ts";
import { machineHas } from "../../support/needs.ts";

/** Where a full disk ends. */
const END_BYTES = HEADER_BYTES + 1_000;
/** Of records in one file. */
const MOST_BYTES = 32 * 1024 * 1024;
const PATIENT = "Quillfeather";
const SHORT = { raw: `PID|1||S-1||${PATIENT}` };
/** No full disk has room for it. */
const LONG = { raw: `PID|1||S-2||${PATIENT}\r`.repeat(200) };

/** Puts two messages down, and has the disk refuse a third, which then comes another way; gives all their ids. */
async function breakJournal(journal: Journal, { pool, put, take }: Journals): Promise<number[]> {
  const ids = await put(journal, 2, SHORT);
  const refused = await take(1, LONG);
  expect(await withFullDisk(END_BYTES, () => journal.append(refused, TIMES))).toBe(false);
  await insertArrivals(pool, "lims", refused);
  return [...ids, ...idsOf(refused)];
}

const holdsPatient = async ({ folder }: Journals) =>
  (await readFile(join(folder, "lims.a"))).includes(PATIENT);

describe.runIf(machineHas("prlimit"))("a journal that isn't used any more", () => {
  test("says so", () =>
    withJournals(async (journals) => {
      const journal = await journals.open();
      expect(journal.stateAt(0)).toMatchObject({ isUsable: true });
      await breakJournal(journal, journals);
      expect(journal.stateAt(0)).toEqual({
        connector: "lims",
        messages: 0,
        oldestSeconds: 0,
        isUsable: false,
      });
    }));

  test("is wiped of what the ledger has, with what the failed write left of its messages", () =>
    withJournals(async (journals) => {
      const journal = await journals.open();
      const ids = await breakJournal(journal, journals);
      expect(await holdsPatient(journals)).toBe(true);
      await journal.wipeLeft();
      const bytes = await readFile(join(journals.folder, "lims.a"));
      expect(bytes.subarray(HEADER_BYTES).some((byte) => byte !== 0)).toBe(false);
      await (await journals.open()).empty();
      expect(idsOf(await journals.messages())).toEqual(ids);
    }));

  test("is wiped when it is closed, at the latest", () =>
    withJournals(async (journals) => {
      const journal = await journals.open();
      await breakJournal(journal, journals);
      await journal.close();
      expect(await holdsPatient(journals)).toBe(false);
    }));

  test("keeps what the ledger hasn't got, for the next start to take", () =>
    withJournals(async (journals) => {
      const { pool, open, put, take, messages } = journals;
      const journal = await open({ pool: losingPool(pool, () => "refused") });
      const ids = await put(journal, 1, SHORT);
      const refused = await take(1, LONG);
      await withFullDisk(END_BYTES, () =>
        expect(journal.append(refused, TIMES)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" }),
      );
      await journal.wipeLeft();
      await journal.close();
      await (await open()).empty();
      expect(idsOf(await messages())).toEqual(ids);
    }));

  test("keeps what stands in the one file when it was the other that couldn't be wiped", () =>
    withJournals(async ({ open, put, messages }) => {
      const journal = await open();
      const ids = [
        ...(await put(journal, 1, { raw: Buffer.alloc(MOST_BYTES - 1_000_000, "x") })),
        ...(await put(journal, 1, { raw: Buffer.alloc(2_000_000, "y") })),
      ];
      await withFullDisk(HEADER_BYTES, () => journal.flush());
      expect(journal.stateAt(0)).toMatchObject({ messages: 1, isUsable: false });
      await journal.wipeLeft();
      await (await open()).empty();
      expect(idsOf(await messages())).toEqual(ids);
    }));

  test("is not wiped before the ledger knows what must not be taken from there", () =>
    withJournals(async (journals) => {
      const { pool, open, take } = journals;
      let isAway = false;
      const query = async (...words: Parameters<typeof pool.query>) => {
        if (isAway) throw Object.assign(new Error("gone"), { code: "ECONNRESET" });
        return pool.query(...words);
      };
      const journal = await open({ pool: withQuery(pool, query) });
      const refused = await take(1, LONG);
      isAway = true;
      await withFullDisk(END_BYTES, () =>
        expect(journal.append(refused, TIMES)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" }),
      );
      await journal.wipeLeft();
      expect(await holdsPatient(journals)).toBe(true);
      isAway = false;
      await journal.empty();
      await journal.wipeLeft();
      expect(await holdsPatient(journals)).toBe(false);
    }));

  test("says when it can't be wiped, without a word of the messages, and is tried again", () =>
    withJournals(async (journals) => {
      const logged: string[] = [];
      const journal = await journals.open({
        logger: pino({}, { write: (line: string) => logged.push(line) }),
      });
      await breakJournal(journal, journals);
      await withFullDisk(HEADER_BYTES, () => journal.wipeLeft());
      expect(await holdsPatient(journals)).toBe(true);
      await journal.wipeLeft();
      expect(await holdsPatient(journals)).toBe(false);
      await journal.wipeLeft();
      expect(logged.map((line) => JSON.parse(line))).toMatchObject([
        { level: 50, err: { code: "JOURNAL_UNUSABLE" } },
        { level: 40, err: { code: "JOURNAL_UNUSABLE" }, msg: expect.stringContaining("can't be wiped") },
        { level: 30, msg: expect.stringContaining("is wiped") },
      ]);
      expect(logged.join("")).not.toContain(PATIENT);
    }));
});

test("a journal in use is left alone by the tries to wipe what is left", () =>
  withJournals(async (journals) => {
    const journal = await journals.open();
    const arrivals = await journals.take(2, SHORT);
    await Promise.all([journal.append(arrivals, TIMES), journal.wipeLeft()]);
    await journal.wipeLeft();
    expect(await holdsPatient(journals)).toBe(true);
    await journal.empty();
    expect(idsOf(await journals.messages())).toEqual(idsOf(arrivals));
  }));

test("a journal tells how many messages it holds, and for how long the oldest of them", () =>
  withJournals(async ({ pool, open, take }) => {
    let isAway = true;
    const journal = await open({ pool: losingPool(pool, () => (isAway ? "refused" : undefined)) });
    await journal.append(await take(2), { ...TIMES, at: 1_000 });
    await journal.append(await take(1), { ...TIMES, at: 4_000 });
    await expect(journal.flush()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    expect(journal.stateAt(7_500)).toEqual({
      connector: "lims",
      messages: 3,
      oldestSeconds: 6.5,
      isUsable: true,
    });
    isAway = false;
    await journal.empty();
    expect(journal.stateAt(7_500)).toMatchObject({ messages: 0, oldestSeconds: 0 });
  }));
