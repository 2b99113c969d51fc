import type pg from "pg";
import { expect, test } from "vitest";
import { type CutWay, withCutWay } from "../support/cut-way.ts";
import { adt, omlO33, ormCancel } from "../support/lab-messages.ts";
import { type Intakes, withIntakes } from "../support/with-intakes.ts";

const order = (number: string) => omlO33({ number });
const cancel = (number: string) => ormCancel({ number });

const withBoth = (run: (intakes: Intakes, way: CutWay) => Promise<void>) =>
  withIntakes((intakes) => withCutWay(intakes, (way) => run(intakes, way)));

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

test("a cancellation finds the order before it when another daemon of the same connector answered that", () =>
  withIntakes(async ({ pool, open }) => {
    const [one, other] = [await open(), await open()];
    await one.take(order("A-1"));
    await other.take(cancel("A-1"));
    expect(await column(pool, "select failure_code from control_requests")).toEqual([null]);
  }));

test("messages that came together are tried together and once when the database is away", () =>
  withBoth(async ({ open }, way) => {
    const tries = way.cutOften((sent) => (sent.includes("insert into messages ") ? "nobody" : undefined));
    const intake = await open({}, way.pool);
    const ends = await Promise.allSettled(["A-1", "A-2", "A-3"].map((number) => intake.take(order(number))));
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(tries).toHaveLength(1);
  }));

test("messages that came together are committed together or not at all", () =>
  withIntakes(async ({ pool, open }) => {
    await breakTable(pool, "messages", "P0001", "new.message_control_id = 'CAN-BAD'");
    const intake = await open({ applicationAck: "results" });
    const refused = omlO33({ number: "R-1", birth: "1985" }).replace("|||AL|NE||", "|||AL|AL||");
    const register = adt("A28", { code: "S-77" });
    const texts = [refused, register, order("A-1"), cancel("BAD")];
    const ends = await Promise.allSettled(texts.map((text) => intake.take(text)));
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected"]);
    expect(await column(pool, "select id from orders where placer_order_number is null")).toHaveLength(1);
    expect(await column(pool, "select id from outcomes where kind = 'refused'")).toHaveLength(1);
  }));

test("nothing is taken in by a profile that never tells what senders were promised", () =>
  withIntakes(async ({ open }) => {
    const site = {
      extends: "builtin/hl7-orders",
      results: { send: ["completed", "acknowledged", "waiting"] },
    };
    const opened = open({ applicationAck: "results", profile: "site" }, undefined, { profiles: { site } });
    await expect(opened).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("add refused to results.send of profile site"),
    });
  }));
