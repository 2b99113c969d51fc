import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findThrough } from "../../../src/ledger/arrivals.ts";
import { listJournals } from "../../../src/ledger/journal/journal.ts";
import { AT, anArrival, HEADER_BYTES, idsOf, TIMES, withJournals } from "../../support/journals.ts";
import { withFolder } from "../../support/with-folder.ts";

describe("messages in the journal", () => {
  test("come into the ledger as they came, with their answers, and their orders are to be made", () =>
    withJournals(async ({ pool, open, take, messages, due }) => {
      const journal = await open();
      const [one, two, three] = idsOf(await take(3)) as [number, number, number];
      const arrivals = [
        anArrival(one, { raw: "MSH|one", reply: "MSA|AA|one" }),
        anArrival(two, { raw: Buffer.from([0, 1, 0xff]), reply: undefined, sender: undefined }),
      ];
      expect(await journal.append(arrivals, TIMES)).toBe(true);
      const last = anArrival(three, { reply: "", encoding: undefined, peer: "10.0.0.8", isTold: false });
      expect(await journal.append([last], { at: 5, receivedAt: AT + 1 })).toBe(true);
      expect([journal.count, journal.oldestAt]).toEqual([3, 0]);
      expect(await messages()).toEqual([]);
      expect(await journal.flush()).toEqual({ lastId: three, at: 0 });
      expect([journal.count, journal.oldestAt]).toEqual([0, undefined]);
      const alike = {
        connector: "lims",
        message_type: "OML^O33",
        sender: "LIMS^NORTH",
        peer: "10.0.0.9",
        encoding: "utf-8",
        received_at: new Date(AT),
        is_digest_right: true,
      };
      expect(await messages()).toEqual([
        {
          ...alike,
          id: one,
          message_control_id: `C-${one}`,
          raw: Buffer.from("MSH|one"),
          reply: Buffer.from("MSA|AA|one"),
        },
        {
          ...alike,
          id: two,
          message_control_id: `C-${two}`,
          raw: Buffer.from([0, 1, 0xff]),
          reply: null,
          sender: null,
        },
        {
          ...alike,
          id: three,
          message_control_id: `C-${three}`,
          raw: Buffer.from(`MSH|${three}`),
          reply: Buffer.alloc(0),
          encoding: null,
          peer: "10.0.0.8",
          received_at: new Date(AT + 1),
        },
      ]);
      const { rows } = await pool.query("select message_ids, is_told, bytes from arrivals order by id");
      const raws = "MSH|one".length + 3 + `MSH|${three}`.length;
      expect(rows).toEqual([{ message_ids: [one, two, three], is_told: [true, true, false], bytes: raws }]);
      expect(await due()).toEqual([one, two, three]);
      expect(await journal.flush()).toBeUndefined();
    }));

  test("are marked as taken in the commit that takes them", () =>
    withJournals(async ({ pool, open, put, messages }) => {
      const journal = await open();
      await put(journal, 2);
      await pool.query(
        `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`,
      );
      await pool.query("create trigger refuse before insert on journals execute function refuse()");
      await expect(journal.flush()).rejects.toThrow("no");
      expect(await messages()).toEqual([]);
      await pool.query("drop trigger refuse on journals");
      const ids = await put(journal, 1);
      await journal.empty();
      expect(await findThrough(pool, "lims")).toBe(ids.at(-1));
      const { rows } = await pool.query(
        "select count(*) as messages from messages m join journals j on j.through >= m.id and j.xmin = m.xmin",
      );
      expect(rows).toEqual([{ messages: 3 }]);
    }));

  test("go into the ledger in commits of a bounded size, oldest first; a larger group goes alone", () =>
    withJournals(async ({ open, put, messages }) => {
      const journal = await open();
      const groups: number[][] = [];
      for (const count of [100, 100, 100, 300, 1]) groups.push(await put(journal, count));
      const large = { raw: "x".repeat(5 * 1024 * 1024) };
      for (let n = 0; n < 2; n += 1) groups.push(await put(journal, 1, large));
      const flushed: number[] = [];
      for (let before = 0; (await journal.flush()) !== undefined; ) {
        const now = (await messages()).length;
        flushed.push(now - before);
        before = now;
      }
      expect(flushed).toEqual([200, 100, 300, 2, 1]);
      expect(idsOf(await messages())).toEqual(groups.flat());
    }));

  test("are not put down when the ledger would be thought to have their numbers", () =>
    withJournals(async ({ open, take, messages }) => {
      const journal = await open();
      const arrivals = await take(3);
      expect(await journal.append(arrivals.slice(1, 2), TIMES)).toBe(true);
      expect(await journal.append(arrivals.slice(0, 1), TIMES)).toBe(false);
      expect(await journal.append(arrivals.slice(1, 3), TIMES)).toBe(false);
      await journal.empty();
      expect(await journal.append(arrivals.slice(0, 1), TIMES)).toBe(false);
      expect(await (await open()).append(arrivals.slice(1, 2), TIMES)).toBe(false);
      expect(idsOf(await messages())).toEqual(idsOf(arrivals.slice(1, 2)));
    }));

  test("are nothing when none are given", () =>
    withJournals(async ({ open }) => {
      const journal = await open();
      expect(await journal.append([], TIMES)).toBe(true);
      expect(journal.count).toBe(0);
    }));

  test("are gone from the files once the ledger has them", () =>
    withJournals(async ({ folder, open, put }) => {
      const journal = await open();
      await put(journal, 3, { raw: "PID|1||S-1||Example^Ada", reply: "MSA|AA|Example^Ada" });
      const content = async () =>
        Buffer.concat(
          await Promise.all(
            ["lims.a", "lims.b"].map(async (name) =>
              (await readFile(join(folder, name))).subarray(HEADER_BYTES),
            ),
          ),
        );
      expect((await content()).includes("Example^Ada")).toBe(true);
      await journal.flush();
      const bytes = await content();
      expect(bytes.equals(Buffer.alloc(bytes.length))).toBe(true);
    }));

  test("are kept with all their bytes when the database can't hold a text, and those beside them are whole", () =>
    withJournals(async ({ pool, open, take, messages, due }) => {
      const journal = await open();
      const [one, two, three, four] = idsOf(await take(4)) as [number, number, number, number];
      const long = Array.from({ length: 9_000 }, (_, n) => (n * 7919).toString(36)).join("");
      await journal.append([anArrival(one), anArrival(two, { controlId: "A\0B", raw: "MSH|\0" })], TIMES);
      await journal.append([anArrival(three, { controlId: long }), anArrival(four)], TIMES);
      await journal.empty();
      const texts = (await messages()).map((row) => [row.id, row.message_control_id, row.sender]);
      expect(texts).toEqual([
        [one, `C-${one}`, "LIMS^NORTH"],
        [two, null, null],
        [three, null, null],
        [four, `C-${four}`, "LIMS^NORTH"],
      ]);
      expect((await messages()).map(({ raw, is_digest_right }) => [String(raw), is_digest_right])).toEqual([
        [`MSH|${one}`, true],
        ["MSH|\0", true],
        [`MSH|${three}`, true],
        [`MSH|${four}`, true],
      ]);
      expect(
        (await messages()).map(({ received_at, reply }) => [received_at.getTime(), String(reply)]),
      ).toEqual([one, two, three, four].map((id) => [AT, `answer to ${id}`]));
      expect(await due()).toEqual([one, two, three, four]);
      expect(await findThrough(pool, "lims")).toBe(four);
    }));
});

describe("a journal that can't be opened", () => {
  test("says so when its folder can't be made", () =>
    withJournals(async ({ folder, open }) => {
      await writeFile(folder, "");
      await expect(open()).rejects.toMatchObject({ code: "JOURNAL_UNUSABLE" });
      await expect(listJournals(folder)).rejects.toMatchObject({ code: "JOURNAL_UNUSABLE" });
    }));

  test("says so when something else has the name of a file", () =>
    withJournals(async ({ folder, open }) => {
      await mkdir(join(folder, "lims.b"), { recursive: true });
      await expect(open()).rejects.toMatchObject({ code: "JOURNAL_UNUSABLE" });
    }));

  test("is none where there is no folder", () =>
    withFolder(async (folder) => {
      expect(await listJournals(join(folder, "journal"))).toEqual([]);
    }));
});
