import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { listJournals } from "../../../src/ledger/journal/journal.ts";
import { JournalFile } from "../../../src/ledger/journal/journal-file.ts";
import { encodeRecord } from "../../../src/ledger/journal/record.ts";
import { AT, anArrival, idsOf, losingPool, TIMES, withJournals } from "../../support/journals.ts";

/** Damages a record that holds a text; gives all bytes of the file then. */
async function damage(folder: string, text: string): Promise<Buffer> {
  const path = join(folder, "lims.a");
  const bytes = await readFile(path);
  bytes[bytes.lastIndexOf(text)] = 0;
  await writeFile(path, bytes);
  return bytes;
}

/** What was kept of damaged files. */
async function copiesIn(folder: string): Promise<Buffer[]> {
  const names = await readdir(folder);
  return Promise.all(
    names.filter((name) => name.includes(".damaged")).map((name) => readFile(join(folder, name))),
  );
}

describe("after a crash the journal", () => {
  test("gives the ledger what it hasn't got, in order and once", () =>
    withJournals(async ({ open, put, messages, due }) => {
      const first = await open();
      const ids = await put(first, 3);
      await first.flush();
      for (let n = 0; n < 3; n += 1) ids.push(...(await put(first, 2)));
      const logged: string[] = [];
      const second = await open({ logger: pino({}, { write: (line: string) => logged.push(line) }) });
      expect(second.count).toBe(6);
      expect(logged.map((line) => JSON.parse(line))).toMatchObject([
        { level: 40, connector: "lims", messages: 6 },
      ]);
      await second.empty();
      expect(idsOf(await messages())).toEqual(ids);
      expect(await due()).toEqual(ids);
      expect((await messages()).every(({ received_at }) => received_at.getTime() === AT)).toBe(true);
      expect((await open()).count).toBe(0);
    }));

  test("has nothing twice when the ledger had all and the files weren't wiped yet", () =>
    withJournals(async ({ folder, open, put, messages }) => {
      const first = await open();
      const ids = [...(await put(first, 2)), ...(await put(first, 1))];
      await cp(folder, `${folder}-as-it-was`, { recursive: true });
      await first.empty();
      const second = await open({ folder: `${folder}-as-it-was` });
      expect(second.count).toBe(0);
      const file = await readFile(join(`${folder}-as-it-was`, "lims.a"));
      expect(file.includes("answer to")).toBe(false);
      ids.push(...(await put(second, 1)));
      await second.empty();
      expect(idsOf(await messages())).toEqual(ids);
    }));

  test("has nothing twice when the ledger had some of it", () =>
    withJournals(async ({ open, put, messages }) => {
      const first = await open();
      const ids = await put(first, 200);
      const rest = await put(first, 100);
      await first.flush();
      expect(idsOf(await messages())).toEqual(ids);
      const second = await open();
      expect(second.count).toBe(100);
      await second.empty();
      expect(idsOf(await messages())).toEqual([...ids, ...rest]);
    }));

  test("keeps them until the ledger takes them, however often it is opened", () =>
    withJournals(async ({ pool, open, put, messages }) => {
      const away = losingPool(pool, () => "refused");
      const ids = await put(await open({ pool: away }), 2);
      for (let n = 0; n < 2; n += 1) {
        const journal = await open({ pool: away });
        await expect(journal.empty()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
        expect(await messages()).toEqual([]);
        ids.push(...(await put(journal, 1)));
      }
      await (await open()).empty();
      expect(idsOf(await messages())).toEqual(ids);
    }));

  test("passes over a message that was not written to its end, and says so", () =>
    withJournals(async ({ folder, open, take, put, messages }) => {
      const ids = await put(await open(), 2);
      const file = await JournalFile.open(join(folder, "lims.a"), {
        connector: "lims",
        instanceCode: "TEST",
      });
      await file.read();
      const torn = encodeRecord(file.mark, await take(1), AT);
      // As much as the mark alone: the rest of the file says zero for its length and checksum.
      await file.append(torn.subarray(0, file.mark.length));
      await file.append(torn.subarray(0, torn.length - 1));
      await file.close();
      const logged: string[] = [];
      const journal = await open({ logger: pino({}, { write: (line: string) => logged.push(line) }) });
      expect(journal.count).toBe(2);
      await journal.empty();
      expect(idsOf(await messages())).toEqual(ids);
      expect(logged.map((line) => JSON.parse(line))).toMatchObject([
        { level: 50, msg: "the journal ends with messages that can't be read" },
        { level: 40, messages: 2 },
      ]);
    }));

  test("takes the others when one is damaged, and an error is logged that names no patient", () =>
    withJournals(async ({ folder, open, put, messages }) => {
      const first = await open();
      const ids: number[] = [];
      for (const raw of ["SECRET-1", "SECRET-2", "SECRET-3"])
        ids.push(...(await put(first, 1, { raw, controlId: raw })));
      await first.close();
      await damage(folder, "SECRET-2");
      const logged: string[] = [];
      const second = await open({ logger: pino({}, { write: (line: string) => logged.push(line) }) });
      await second.empty();
      expect(idsOf(await messages())).toEqual([ids[0], ids[2]]);
      expect(logged.map((line) => JSON.parse(line).level)).toEqual([50, 40]);
      expect(logged.join("")).not.toContain("SECRET");
    }));

  test.each([
    ["before others", "MESSAGE-1"],
    ["at its end", "MESSAGE-2"],
  ])(
    "keeps a file as it was that is damaged %s, though what it holds is in the ledger and wiped",
    (_, which) =>
      withJournals(async ({ folder, open, put }) => {
        await put(await open(), 1, { raw: "MESSAGE-1" });
        await put(await open(), 1, { raw: "MESSAGE-2" });
        const bytes = await damage(folder, which);
        // A start that doesn't get to its end comes again, and keeps no second copy.
        await (await open()).close();
        await (await open()).empty();
        expect((await readFile(join(folder, "lims.a"))).includes("MESSAGE-")).toBe(false);
        expect(await copiesIn(folder)).toEqual([bytes]);
        expect(await listJournals(folder)).toEqual(["lims"]);
      }),
  );

  test("keeps what was damaged at another time, too", () =>
    withJournals(async ({ folder, open, put }) => {
      for (const raw of ["ONE", "TWO"]) {
        await put(await open(), 1, { raw });
        await damage(folder, raw);
        await (await open()).empty();
      }
      expect(await copiesIn(folder)).toHaveLength(2);
    }));

  test("lets no later message have a number of those that it brings, though the ledger is one of before", () =>
    withJournals(async ({ open, take, messages }) => {
      await (await open()).append([anArrival(5_000), anArrival(5_001)], TIMES);
      const next = await open();
      expect(idsOf(await take(1))).toEqual([5_002]);
      await next.empty();
      expect(idsOf(await messages())).toEqual([5_000, 5_001]);
    }));

  test("is not opened when it belongs to another ledger", () =>
    withJournals(async ({ open, put, messages }) => {
      await put(await open(), 1);
      await expect(open({ instanceCode: "OTHR" })).rejects.toMatchObject({ code: "JOURNAL_FOREIGN" });
      expect((await open()).count).toBe(1);
      expect(await messages()).toEqual([]);
    }));

  test("is known by its connector, and leaves the messages of others alone", () =>
    withJournals(async ({ folder, open, put, messages }) => {
      const bench = await put(await open({ connector: "bench" }), 1);
      const lims = await put(await open(), 1);
      await writeFile(join(folder, "old.a.new"), "");
      await writeFile(join(folder, "notes.txt"), "");
      expect(await listJournals(folder)).toEqual(["bench", "lims"]);
      await (await open()).empty();
      expect(await messages("bench")).toEqual([]);
      await (await open({ connector: "bench" })).empty();
      expect([idsOf(await messages()), idsOf(await messages("bench"))]).toEqual([lims, bench]);
    }));
});
