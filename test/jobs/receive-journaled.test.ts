import { readdir } from "node:fs/promises";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { takeMessageIds } from "../../src/ledger/arrivals.ts";
import { findInstanceCode } from "../../src/ledger/identity.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { eventually } from "../support/eventually.ts";
import { anArrival, withJournals } from "../support/journals.ts";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { silent } from "../support/with-ledger.ts";
import { withReceptions } from "../support/with-receptions.ts";

const now = () => ({ at: performance.now(), receivedAt: Date.now() });

async function column(pool: pg.Pool, statement: string): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(statement);
  return rows.flatMap((row) => Object.values(row));
}

describe("the numbers of journaled messages", () => {
  test("are not given again by an older state of the ledger", () =>
    withJournals(async ({ pool, open, messages }) => {
      await (await open()).append([anArrival(50)], now());
      // The ledger has given none yet.
      const journal = await open();
      const [next = 0] = await takeMessageIds(pool, 1);
      expect(next).toBeGreaterThan(50);
      await journal.append([anArrival(next)], now());
      await journal.empty();
      expect((await messages()).map(({ id }) => id)).toEqual([50, next]);
    }));

  test("do not go back, or it would be thought that the ledger has the message", () =>
    withJournals(async ({ open }) => {
      const journal = await open();
      await journal.append([anArrival(10)], now());
      expect(await journal.append([anArrival(9)], now())).toBe(false);
      await journal.empty();
      expect(await journal.append([anArrival(10)], now())).toBe(false);
      expect(await (await open()).append([anArrival(9)], now())).toBe(false);
    }));
});

test("nothing that was answered is lost when the ledger gives numbers anew", () =>
  withReceptions(async ({ pool, open }) => {
    const reception = await open({}, pool, { hasJournal: true });
    await reception.start();
    const answered: string[] = [];
    const send = async (number: string) => {
      await reception.take(omlO33({ number }));
      answered.push(`MSG-${number}`);
    };
    // Until the control ids are known, messages go to the ledger itself.
    await eventually(async () => {
      await send(`A-${answered.length}`);
      return (await column(pool, "select through from journals")).length > 0;
    });
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

test("a message that comes to wait after its answer keeps later ones of its subject out of the journal", () =>
  withReceptions(async ({ pool, open }) => {
    const first = await open({}, pool);
    await pool.query("alter table orders add constraint none check (false) not valid");
    await first.take(omlO33({ number: "A-1", subject: "S-1", facility: "SOUTH" }));
    await first.stop();
    const second = await open({}, pool, { hasJournal: true, config: { facilities: { NORTH: 12 } } });
    // A daemon that has found the ledger without any that waits.
    await pool.query("delete from arrivals");
    await second.start();
    let sent = 0;
    await eventually(async () => {
      sent += 1;
      await second.take(omlO33({ number: `B-${sent}`, subject: "S-2" }));
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
      return (await column(pool, "select 1 from waiting_keys")).length > 0;
    });
    await eventually(async () => (await column(pool, "select id from arrivals")).length === 0);
    const [received] = await second.take(omlO33({ number: "C-1", subject: "S-1" }));
    expect(received?.verdict).toBe("waiting");
  }));

test("what an earlier run left in the journal is taken when the ledger is a server of one's own by now", () =>
  withReceptions(async ({ pool, open, journals }) => {
    const instanceCode = await findInstanceCode(pool);
    const owner = { folder: journals, connector: "hl7", instanceCode, pool, logger: silent };
    const left = await Journal.open(owner);
    await left.append([anArrival(1, { controlId: "LEFT" })], now());
    await left.close();
    const reception = await open({}, pool, { hasJournal: false });
    await reception.start();
    expect(await column(pool, "select message_control_id from messages")).toEqual(["LEFT"]);
    expect(await readdir(journals)).toEqual([]);
  }));
