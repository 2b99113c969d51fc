import { readdir } from "node:fs/promises";
import type pg from "pg";
import { expect, test } from "vitest";
import { findInstanceCode } from "../../src/ledger/identity.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { FakeClock, StandingClock } from "../service/fake-clock.ts";
import { eventually } from "../support/eventually.ts";
import { anArrival, TIMES } from "../support/journals.ts";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { silent } from "../support/with-ledger.ts";
import { withReceptions } from "../support/with-receptions.ts";

async function column(pool: pg.Pool, statement: string): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(statement);
  return rows.flatMap((row) => Object.values(row));
}

test("nothing that was answered is lost when the ledger gives numbers anew", () =>
  withReceptions(async ({ pool, open }) => {
    const reception = await open({}, pool, { hasJournal: true, clock: new StandingClock() });
    await reception.start();
    const answered: string[] = [];
    const send = async (number: string) => {
      await reception.take(omlO33({ number }));
      answered.push(`MSG-${number}`);
    };
    for (let n = 0; n < 5; n += 1) await send(`A-${n}`);
    // Has the orders made, and what was taken ahead of numbers dropped.
    await reception.take(ormCancel({ number: "A-0" }));
    await pool.query("select setval('messages_id_seq', 1)");
    await eventually(() =>
      send("B-1").then(
        () => true,
        () => false,
      ),
    );
    await send("B-2");
    await reception.stop();
    const kept = await column(pool, "select message_control_id from messages where verdict = 'accepted'");
    expect(kept).toEqual(expect.arrayContaining(answered));
  }));

test("the number of a journaled message is in the log on the ledger's disk before the answer", () =>
  withReceptions(async ({ pool, open }) => {
    const reception = await open({}, pool, { hasJournal: true, clock: new StandingClock() });
    await reception.start();
    const other = await pool.connect();
    try {
      // Has the log say of more numbers than these that they are given, which needn't be on disk before this is over.
      await other.query("begin");
      await other.query("select nextval('messages_id_seq') from generate_series(1, 34)");
      const { rows } = await other.query<{ end: string }>("select pg_current_wal_insert_lsn() as end");
      await reception.take(omlO33({ number: "A-1" }));
      expect(await column(pool, `select pg_current_wal_flush_lsn() >= '${rows[0]?.end}'`)).toEqual([true]);
      expect(await column(pool, "select id from messages")).toEqual([]);
    } finally {
      other.release(true);
    }
  }));

test("a message that comes to wait after its answer keeps later ones of its subject out of the journal", () =>
  withReceptions(async ({ pool, open }) => {
    const first = await open({}, pool);
    await pool.query("alter table orders add constraint none check (false) not valid");
    await first.take(omlO33({ number: "A-1", subject: "S-1", facility: "SOUTH" }));
    await first.stop();
    const clock = new FakeClock();
    const second = await open({}, pool, { hasJournal: true, clock, config: { facilities: { NORTH: 12 } } });
    // A daemon that has found the ledger without any that waits.
    await pool.query("delete from arrivals");
    await second.start();
    let sent = 0;
    await eventually(async () => {
      sent += 1;
      await second.take(omlO33({ number: `B-${sent}`, subject: "S-2" }));
      await clock.advance(30);
      return (await column(pool, "select through from journals")).length > 0;
    });
    await pool.query(
      `insert into arrivals (connector, message_ids, is_told, bytes)
       select connector, array[id], array[true], 1 from messages where message_control_id = 'MSG-A-1'`,
    );
    await pool.query("alter table orders drop constraint none");
    await eventually(async () => {
      sent += 1;
      await second.take(omlO33({ number: `B-${sent}`, subject: "S-2" }));
      await clock.advance(30);
      return (await column(pool, "select 1 from waiting_keys")).length > 0;
    });
    await eventually(async () => {
      await clock.advance(30);
      return (await column(pool, "select id from arrivals")).length === 0;
    });
    const [received] = await second.take(omlO33({ number: "C-1", subject: "S-1" }));
    expect(received?.verdict).toBe("waiting");
  }));

test("what an earlier run left in the journal is taken when the ledger is a server of one's own by now", () =>
  withReceptions(async ({ pool, open, journals }) => {
    const instanceCode = await findInstanceCode(pool);
    const owner = { folder: journals, connector: "hl7", instanceCode, pool, logger: silent };
    const left = await Journal.open(owner);
    await left.append([anArrival(1, { controlId: "LEFT" })], TIMES);
    await left.close();
    const reception = await open({}, pool, { hasJournal: false });
    await reception.start();
    expect(await column(pool, "select message_control_id from messages")).toEqual(["LEFT"]);
    expect(await readdir(journals)).toEqual([]);
  }));
