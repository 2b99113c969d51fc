import type pg from "pg";
import { describe, expect, test } from "vitest";
import { type CutWay, withCutWay } from "../support/cut-way.ts";
import { eventually } from "../support/eventually.ts";
import { adt, omlO33, ormCancel } from "../support/lab-messages.ts";
import { type Receptions, type TestReception, withReceptions } from "../support/with-receptions.ts";

const order = (number: string) => omlO33({ number });
const cancel = (number: string) => ormCancel({ number });

const withBoth = (run: (receptions: Receptions, way: CutWay) => Promise<void>) =>
  withReceptions((receptions) => withCutWay(receptions, (way) => run(receptions, way)));

async function column(pool: pg.Pool, statement: string): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(statement);
  return rows.flatMap((row) => Object.values(row));
}

/** Makes the database refuse rows of a table for as long as the returned function wasn't called. */
async function breakTable(
  pool: pg.Pool,
  table: string,
  code: string,
  condition = "true",
): Promise<() => Promise<unknown>> {
  await pool.query(
    `create function refuse() returns trigger language plpgsql
         as $$ begin raise exception 'no' using errcode = '${code}'; end $$`,
  );
  await pool.query(
    `create trigger refuse before insert on ${table} for each row when (${condition}) execute function refuse()`,
  );
  return () => pool.query(`drop trigger refuse on ${table}`);
}

/** A message that is written down as it arrives, over a connection that breaks before the daemon is told. */
async function takeUnanswered(reception: TestReception, way: CutWay, text: string): Promise<void> {
  const cut = way.cutAt("insert_arrivals", "server");
  await expect(reception.take(text)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
  await (await cut).isDone;
}

describe("a cancellation finds the order before it", () => {
  test("when another daemon of the same connector answered that", () =>
    withReceptions(async ({ pool, open }) => {
      const [one, other] = [await open(), await open()];
      await one.take(order("A-1"));
      await other.take(cancel("A-1"));
      expect(await column(pool, "select failure_code from wishes")).toEqual([null]);
    }));

  test("when nobody knows whether that was committed, and it was", () =>
    withBoth(async ({ pool, open }, way) => {
      const reception = await open({}, way.pool);
      await takeUnanswered(reception, way, order("A-1"));
      const [again] = await reception.take(order("A-1"));
      expect(again).toMatchObject({ verdict: "duplicate" });
      await reception.take(cancel("A-1"));
      expect(await column(pool, "select failure_code from wishes")).toEqual([null]);
    }));
});

test("messages of which nobody knows whether they were committed have their orders made soon", () =>
  withBoth(async ({ pool, open }, way) => {
    // Not started, so that nothing but the failure makes it look.
    await takeUnanswered(await open({}, way.pool), way, order("A-1"));
    await eventually(async () => (await column(pool, "select id from orders")).length === 1);
  }));

test("messages that came together are tried together and once when the database is away", () =>
  withBoth(async ({ open }, way) => {
    const tries = way.cutOften((sent) => (sent.includes("insert_arrivals") ? "nobody" : undefined));
    const reception = await open({}, way.pool);
    const ends = await Promise.allSettled(
      ["A-1", "A-2", "A-3"].map((number) => reception.take(order(number))),
    );
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(tries).toHaveLength(1);
  }));

test("acknowledged messages outlast a database that refuses their orders for reasons of its own", () =>
  withReceptions(async ({ pool, open }) => {
    const mend = await breakTable(pool, "orders", "42501");
    const reception = await open();
    for (const number of ["A-1", "A-2"]) await reception.take(order(number));
    await eventually(async () => {
      // The take-up fails and is tried again; what matters is what becomes of the messages.
      return (
        await column(
          pool,
          "select xact_rollback > 0 from pg_stat_database where datname = current_database()",
        )
      )[0];
    });
    expect(await column(pool, "select verdict from messages")).toEqual(["accepted", "accepted"]);
    await mend();
    await eventually(async () => (await column(pool, "select id from orders")).length === 2);
    expect(await column(pool, "select verdict from messages")).toEqual(["accepted", "accepted"]);
  }));

test("messages that came together are committed together or not at all", () =>
  withReceptions(async ({ pool, open }) => {
    await breakTable(pool, "messages", "P0001", "new.message_control_id = 'CAN-BAD'");
    const reception = await open({ applicationAck: "results" });
    const refused = omlO33({ number: "R-1", birth: "1985" }).replace("|||AL|NE||", "|||AL|AL||");
    const register = adt("A28", { code: "S-77" }).replace("|A28-S-77|", "||");
    const texts = [refused, register, order("A-1"), cancel("BAD")];
    const ends = await Promise.allSettled(texts.map((text) => reception.take(text)));
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected"]);
    expect(await column(pool, "select id from orders where placer_order_number is null")).toHaveLength(1);
    expect(await column(pool, "select id from outcomes where kind = 'refused'")).toHaveLength(1);
  }));

test("an application acknowledgement that goes out with the results does so under another configuration, too", () =>
  withReceptions(async ({ pool, open }) => {
    const before = await open({ applicationAck: "results" });
    await before.stop();
    await before.take(order("A-1").replace("|||AL|NE||", "|||AL|AL||"));
    const after = await open({ applicationAck: "connection" });
    after.start();
    await eventually(async () => (await column(pool, "select id from orders")).length === 1);
    expect(await column(pool, "select kind from outcomes")).toEqual(["acknowledged"]);
  }));

test("nothing is taken in by a profile that never tells what senders were promised", () =>
  withReceptions(async ({ open }) => {
    const site = {
      extends: "builtin/hl7-orders",
      results: { tell: ["completed", "acknowledged", "waiting"] },
    };
    const opened = open({ applicationAck: "results", profile: "site" }, undefined, {
      config: { profiles: { site } },
    });
    await expect(opened).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("add refused to results.tell of profile site"),
    });
  }));
