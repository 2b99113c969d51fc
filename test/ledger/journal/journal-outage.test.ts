import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import type { Arrival } from "../../../src/ledger/arrival-rows.ts";
import { insertArrivals } from "../../../src/ledger/arrivals.ts";
import { JournalFile } from "../../../src/ledger/journal/journal-file.ts";
import { encodeRecord } from "../../../src/ledger/journal/record.ts";
import { eventually } from "../../support/eventually.ts";
import { withFullDisk } from "../../support/full-disk.ts";
import {
  AT,
  HEADER_BYTES,
  idsOf,
  losingPool,
  TIMES,
  withJournals,
  withQuery,
} from "../../support/journals.ts";
import { machineHas } from "../../support/needs.ts";

/** Where a full disk ends. */
const END_BYTES = HEADER_BYTES + 1_000;
/** More than that. */
const LONG = { raw: "PID|1||S-1||Example^Ada\r".repeat(100) };

describe("when the ledger is away", () => {
  test.each([
    ["was not carried out", "refused"],
    ["was carried out all the same", "unanswered"],
  ] as const)("nothing is lost and nothing is twice after a commit that %s", (_, lost) =>
    withJournals(async ({ pool, folder, open, put, messages, due }) => {
      let isAway = true;
      const journal = await open({ pool: losingPool(pool, () => (isAway ? lost : undefined)) });
      const ids = await put(journal, 2);
      await expect(journal.flush()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      expect(journal.count).toBe(2);
      ids.push(...(await put(journal, 1)));
      isAway = false;
      await journal.empty();
      expect(idsOf(await messages())).toEqual(ids);
      expect(await due()).toEqual(ids);
      const bytes = await readFile(join(folder, "lims.a"));
      expect(bytes.includes("answer to")).toBe(false);
    }),
  );

  test("nothing is twice when the server goes on with a commit whose connection is gone", () =>
    withJournals(async ({ pool, open, put, messages, due }) => {
      const lock = await pool.connect();
      const blocked = async () => {
        const { rows } = await lock.query<{ count: number }>(
          `select count(*)::integer as count from pg_stat_activity
            where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return rows[0]?.count;
      };
      // A commit stands still when its messages are written, so that another of the same waits for its end.
      await pool.query(
        `create function stand() returns trigger language plpgsql
             as $$ begin perform pg_advisory_xact_lock_shared(1); return new; end $$`,
      );
      await pool.query(
        "create trigger stand before insert on arrivals for each row execute function stand()",
      );
      const client = await pool.connect();
      client.on("error", () => undefined);
      let isGone = false;
      const journal = await open({
        pool: withQuery(pool, async (...words) => (isGone ? pool : client).query(...words)),
      });
      const ids = await put(journal, 2);
      await lock.query("begin; select pg_advisory_xact_lock(1)");
      const gone = expect(journal.flush()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      await eventually(async () => (await blocked()) === 1);
      isGone = true;
      client.connection.stream.destroy();
      await gone;
      client.release(true);
      // The ledger hasn't got them yet, so they are committed again, behind the first.
      const again = journal.flush().catch(() => undefined);
      await eventually(async () => (await blocked()) === 2);
      await lock.query("commit");
      lock.release();
      await again;
      await journal.empty();
      expect(idsOf(await messages())).toEqual(ids);
      expect(await due()).toEqual(ids);
    }));
});

describe.runIf(machineHas("prlimit"))("when the disk refuses a write", () => {
  test("the messages go another way, those before go into the ledger first, and an error is logged once", () =>
    withJournals(async ({ pool, open, take, put, messages }) => {
      const logged: string[] = [];
      const journal = await open({ logger: pino({}, { write: (line: string) => logged.push(line) }) });
      const ids = await put(journal, 2);
      const refused = await take(2, LONG);
      await withFullDisk(END_BYTES, () =>
        journal.append(refused, TIMES).then((done) => expect(done).toBe(false)),
      );
      expect(idsOf(await messages())).toEqual(ids);
      expect(journal.oldestAt).toBeUndefined();
      await insertArrivals(pool, "lims", refused);
      // The disk is well again, but what stands on it is uncertain.
      expect(await journal.append(await take(1), TIMES)).toBe(false);
      expect(logged.map((line) => JSON.parse(line))).toMatchObject([
        { level: 50, connector: "lims", err: { code: "JOURNAL_UNUSABLE" } },
      ]);
      expect(logged.join("")).not.toContain("Example");
      const next = await open();
      expect(next.count).toBe(0);
      const later = await put(next, 1);
      await next.empty();
      expect(idsOf(await messages())).toEqual([...ids, ...idsOf(refused), ...later]);
    }));

  test("and had written them all the same, they are not taken from there as well", () =>
    withJournals(async ({ pool, folder, open, take, messages }) => {
      const journal = await open();
      const refused = await take(2, LONG);
      await withFullDisk(END_BYTES, () => journal.append(refused, TIMES));
      await insertArrivals(pool, "lims", refused);
      await writeAside(folder, refused);
      const next = await open();
      expect(next.count).toBe(0);
      await next.empty();
      expect(idsOf(await messages())).toEqual(idsOf(refused));
    }));

  test("while the ledger is away, what it may hold is given up as soon as the ledger is back", () =>
    withJournals(async ({ pool, folder, open, take, put, messages }) => {
      let isAway = true;
      const journal = await open({ pool: losingPool(pool, () => (isAway ? "refused" : undefined)) });
      const ids = await put(journal, 1);
      const refused = await take(1, LONG);
      await withFullDisk(END_BYTES, () =>
        expect(journal.append(refused, TIMES)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" }),
      );
      await writeAside(folder, refused);
      isAway = false;
      // Nobody appends any more: the message comes again, with another number, and is committed to the ledger itself.
      await journal.flush();
      expect(journal.oldestAt).toBe(Number.NEGATIVE_INFINITY);
      await journal.flush();
      expect(journal.oldestAt).toBeUndefined();
      await journal.close();
      await (await open()).empty();
      expect(idsOf(await messages())).toEqual(ids);
    }));
});

/** Has a record on the disk whose write was said to have failed. */
async function writeAside(folder: string, arrivals: readonly Arrival[]): Promise<void> {
  const file = await JournalFile.open(join(folder, "lims.a"), { connector: "lims", instanceCode: "TEST" });
  await file.read();
  await file.append(encodeRecord(file.mark, arrivals, AT));
  await file.close();
}
