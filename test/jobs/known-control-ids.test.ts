import type pg from "pg";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { KnownControlIds, type KnownControlIdsLimits } from "../../src/jobs/known-control-ids.ts";
import { FakeClock } from "../service/fake-clock.ts";
import { eventually } from "../support/eventually.ts";
import { withLedger } from "../support/with-ledger.ts";

interface World {
  readonly pool: pg.Pool;
  readonly clock: FakeClock;
  readonly known: KnownControlIds;
  /** What was logged, a JSON document each. */
  readonly logged: readonly string[];
  /** Messages with these control ids, as an earlier run left them. */
  fill(ids: readonly string[]): Promise<void>;
  /** A message that waits. */
  wait(): Promise<void>;
  /** Lets nobody read a table until what is given is called. */
  block(table: "messages" | "waiting_keys"): Promise<() => Promise<void>>;
  /** Resolves with the server process of who waits for a blocked table. */
  blocked(): Promise<number>;
}

const signal = new AbortController().signal;

function withKnown(test: (world: World) => Promise<void>, limits?: KnownControlIdsLimits): Promise<void> {
  return withLedger(async ({ pool }) => {
    const clock = new FakeClock();
    const logged: string[] = [];
    const logger = pino({ level: "debug" }, { write: (line: string) => logged.push(line) });
    const known = new KnownControlIds({ pool, clock, logger, connector: "lims" }, limits);
    await test({
      pool,
      clock,
      known,
      logged,
      fill: async (ids) => {
        await pool.query(
          `insert into messages (connector, ordinal, place, message_control_id, sha256, format, verdict)
           select 'lims', n, 'message 1', x.id, sha256(n::text::bytea), 'hl7', 'accepted'
             from unnest($1::text[]) with ordinality as x(id, n)`,
          [ids],
        );
      },
      wait: async () => {
        await pool.query(
          `with waiting as (
             insert into messages (connector, ordinal, place, sha256, format, verdict)
             values ('lims', 1, 'message 1', sha256('1'), 'hl7', 'waiting')
             returning id)
           insert into waiting_keys (connector, key, message_id) select 'lims', 's:SUBJ-1', id from waiting`,
        );
      },
      block: async (table) => {
        const client = await pool.connect();
        await client.query(`begin; lock table ${table} in access exclusive mode`);
        return async () => {
          await client.query("rollback");
          client.release();
        };
      },
      blocked: () =>
        eventually(async () => {
          const { rows } = await pool.query<{ pid: number }>(
            `select l.pid from pg_locks l join pg_database d on d.oid = l.database
              where not l.granted and d.datname = current_database()`,
          );
          return rows[0]?.pid;
        }),
    });
  });
}

describe("the control ids that are known", () => {
  test("are none before the ledger was read, so that each may have come", () =>
    withKnown(async ({ known }) => {
      known.add(["A"]);
      expect([known.isLoaded, known.mayHave("A"), known.mayHave("B")]).toEqual([false, true, true]);
    }));

  test("are those of the ledger, however many pages they fill, and those that came since", () =>
    withKnown(
      async ({ known, fill }) => {
        const ids = Array.from({ length: 300 }, (_, n) => `C${n}`);
        await fill(ids);
        await known.load(signal);
        known.add(["D1", "D2"]);
        expect([...ids, "D1", "D2"].filter((id) => !known.mayHave(id))).toEqual([]);
        expect(["C300", "D3", "c1"].filter((id) => known.mayHave(id))).toEqual([]);
      },
      { page: 32 },
    ));

  test("are also those that came while the ledger was being read, and until then each may have come", () =>
    withKnown(async ({ known, fill, block, blocked }) => {
      await fill(["A"]);
      const unblock = await block("messages");
      const loading = known.load(signal);
      await blocked();
      known.add(["B"]);
      expect(known.mayHave("X")).toBe(true);
      await unblock();
      await loading;
      expect(["A", "B", "X"].map((id) => known.mayHave(id))).toEqual([true, true, false]);
    }));

  test("are read again a second after the database was away, as often as it takes", () =>
    withKnown(async ({ pool, clock, known, fill, block, blocked, logged }) => {
      await fill(["A"]);
      const unblock = await block("messages");
      const loading = known.load(signal);
      for (let tries = 0; tries < 3; tries += 1) {
        await pool.query("select pg_terminate_backend($1)", [await blocked()]);
        await eventually(() => clock.asleep === 1);
        expect(known.mayHave("X")).toBe(true);
        await clock.advance(999);
        expect(clock.asleep).toBe(1);
        await clock.advance(1);
      }
      await unblock();
      await loading;
      expect(["A", "X"].map((id) => known.mayHave(id))).toEqual([true, false]);
      expect(logged.map((line) => JSON.parse(line))).toMatchObject([
        { level: 40, connector: "lims", err: { code: "LEDGER_UNAVAILABLE" } },
      ]);
    }));

  test("stay unknown when reading is called off, also while it waits to try again", () =>
    withKnown(async ({ pool, clock, known, block, blocked }) => {
      const unblock = await block("messages");
      const calledOff = new AbortController();
      const loading = known.load(calledOff.signal);
      await pool.query("select pg_terminate_backend($1)", [await blocked()]);
      await eventually(() => clock.asleep === 1);
      calledOff.abort();
      await loading;
      await unblock();
      expect([known.isLoaded, known.mayHave("X")]).toEqual([false, true]);
    }));

  test("stay unknown when reading is called off in its midst", () =>
    withKnown(async ({ known, fill, block, blocked, logged }) => {
      await fill(["A"]);
      const unblock = await block("messages");
      const calledOff = new AbortController();
      const loading = known.load(calledOff.signal);
      await blocked();
      calledOff.abort();
      await unblock();
      await loading;
      expect([known.isLoaded, known.mayHave("X")]).toEqual([false, true]);
      expect(logged).toEqual([]);
    }));

  test("may each be one of the ledger's once there are too many, which is said once and without naming any", () =>
    withKnown(
      async ({ known, fill, logged }) => {
        await fill(["SECRET-1", "SECRET-2", "SECRET-3", "SECRET-4"]);
        await known.load(signal);
        known.add(["SECRET-5", "SECRET-6"]);
        expect([known.isLoaded, known.mayHave("X")]).toEqual([true, true]);
        expect(logged).toHaveLength(1);
        expect(logged.join("")).toContain("too many control ids");
        expect(logged.join("")).not.toContain("SECRET");
      },
      { most: 3, page: 2 },
    ));

  test("that the ledger keeps otherwise than they came are found again after a restart", () =>
    withKnown(async ({ pool, known }) => {
      // Half of a character is written as U+FFFD.
      await pool.query(
        `insert into messages (connector, ordinal, place, message_control_id, sha256, format, verdict)
         values ('lims', 1, 'message 1', $1, sha256('1'), 'hl7', 'accepted')`,
        ["A\ud800"],
      );
      await known.load(signal);
      expect(known.mayHave("A\ud800")).toBe(true);
      expect(known.mayHave("A")).toBe(false);
    }));

  test.each([
    ["NUL in it", "A\0B"],
    ["more characters than any sender's", "A".repeat(501)],
  ])("may have come when they are such as the ledger can't hold: %s", (_, id) =>
    withKnown(async ({ known }) => {
      await known.load(signal);
      known.add([id, "\udc00", ""]);
      expect([id, "\udc00", "", "B"].map((each) => known.mayHave(each))).toEqual([true, true, true, false]);
      known.noteInLedger();
      expect(await known.areNew([id])).toBe(false);
    }),
  );
});

describe("whether a message waits", () => {
  test("is not known before the ledger was read: one may", () =>
    withKnown(async ({ known }) => {
      await known.look();
      expect(known.mayWait).toBe(true);
      await known.load(signal);
      expect(known.mayWait).toBe(false);
    }));

  test("is as the ledger says when it was read, and asked again until none does", () =>
    withKnown(async ({ pool, known, wait }) => {
      await wait();
      await known.load(signal);
      await known.look();
      expect(known.mayWait).toBe(true);
      await pool.query("delete from waiting_keys");
      expect(known.mayWait).toBe(true);
      await known.look();
      expect(known.mayWait).toBe(false);
    }));

  test("is asked of nobody while none may", () =>
    withKnown(async ({ known, wait }) => {
      await known.load(signal);
      await wait();
      await known.look();
      expect(known.mayWait).toBe(false);
    }));

  test("stays so when one is noted while the ledger is asked, whose answer is too old", () =>
    withKnown(async ({ known, block, blocked }) => {
      await known.load(signal);
      known.noteWaiting();
      expect(known.mayWait).toBe(true);
      const unblock = await block("waiting_keys");
      const looking = known.look();
      await blocked();
      known.noteWaiting();
      await unblock();
      await looking;
      expect(known.mayWait).toBe(true);
      await known.look();
      expect(known.mayWait).toBe(false);
    }));

  test("stays so when one is noted while the ledger is being read", () =>
    withKnown(async ({ known, block, blocked }) => {
      const unblock = await block("waiting_keys");
      const loading = known.load(signal);
      await blocked();
      known.noteWaiting();
      await unblock();
      await loading;
      expect([known.isLoaded, known.mayWait]).toEqual([true, true]);
    }));

  test("stays as it was when the ledger can't be asked", () =>
    withKnown(async ({ pool, known, block, blocked }) => {
      await known.load(signal);
      known.noteWaiting();
      const unblock = await block("waiting_keys");
      const looking = known.look();
      const outcome = expect(looking).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      await pool.query("select pg_terminate_backend($1)", [await blocked()]);
      await outcome;
      await unblock();
      expect(known.mayWait).toBe(true);
    }));
});

describe("messages with control ids", () => {
  test("that nobody has are new, also before the ledger was read", () =>
    withKnown(async ({ known, fill }) => {
      await fill(["A"]);
      expect(await known.areNew(["X", "Y"])).toBe(true);
      expect(await known.areNew(["X", "A"])).toBe(false);
      await known.load(signal);
      expect(await known.areNew(["X", "Y"])).toBe(true);
      expect(await known.areNew(["X", "A"])).toBe(false);
    }));

  test("that are on their way into the ledger are not new", () =>
    withKnown(async ({ known }) => {
      await known.load(signal);
      known.add(["B"]);
      expect(await known.areNew(["X", "B"])).toBe(false);
    }));

  test("that came and are in the ledger by now are not new", () =>
    withKnown(async ({ known, fill }) => {
      await known.load(signal);
      known.add(["B"]);
      await fill(["B"]);
      known.noteInLedger();
      expect(await known.areNew(["B"])).toBe(false);
    }));

  test("are on their way no longer once the ledger has all", () =>
    withKnown(
      async ({ known }) => {
        await known.load(signal);
        known.add(["B", "C"]);
        expect(await known.areNew(["B"])).toBe(false);
        known.noteInLedger();
        expect(await known.areNew(["B"])).toBe(true);
      },
      { most: 1 },
    ));

  test("are looked up where their hashes tell nothing", () =>
    withKnown(
      async ({ known, fill }) => {
        await fill(["A", "B"]);
        await known.load(signal);
        expect(known.mayHave("X")).toBe(true);
        expect(await known.areNew(["X"])).toBe(true);
        expect(await known.areNew(["X", "B"])).toBe(false);
      },
      { most: 1 },
    ));

  test("are not new while a message of their connector waits", () =>
    withKnown(async ({ known, wait }) => {
      await known.load(signal);
      await wait();
      known.noteWaiting();
      expect(await known.areNew(["X"])).toBe(false);
    }));
});
