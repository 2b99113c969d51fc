import type pg from "pg";
import { expect, test } from "vitest";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { incoming, withIntakes } from "../support/with-intakes.ts";

/** A pool of which so many uses fail as when the server has just gone away. */
function failingPool(pool: pg.Pool) {
  const state = { failures: 0 };
  const failOr =
    (key: "query" | "connect") =>
    async (...words: never[]) => {
      if (state.failures === 0) return await (pool[key] as (...all: never[]) => Promise<unknown>)(...words);
      state.failures -= 1;
      throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
    };
  const uses: Record<PropertyKey, unknown> = { query: failOr("query"), connect: failOr("connect") };
  const proxy = new Proxy(pool, {
    get: (target, key) => {
      if (key in uses) return uses[key];
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { pool: proxy, state };
}

const endOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "kept",
    () => "rejected",
  );
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a cancellation behind an order that could not be kept is not kept before it", () =>
  withIntakes(async ({ pool, open }) => {
    const failing = failingPool(pool);
    const intake = await open({}, failing.pool);
    const [order, cancellation] = [omlO33({ number: "N-1" }), ormCancel({ number: "N-1" })];
    const peer = { address: "10.0.0.9" };
    failing.state.failures = 1;
    const first = endOf(intake.take(order, peer));
    await turn();
    const ends = await Promise.all([first, endOf(intake.take(cancellation, peer))]);
    expect(ends).toEqual(["rejected", "rejected"]);
    for (const text of [order, cancellation]) await intake.take(text);
    const { rows } = await pool.query("select placer_order_number, state from orders");
    expect(rows).toEqual([{ placer_order_number: "N-1", state: "cancelled" }]);
  }));

/** Enough to be mapped in several pieces. */
const LARGE_FRAME = Array.from({ length: 600 }, (_, n) => incoming(omlO33({ number: `L-${n}` }), n + 1));

test("a message right behind a large frame of the same connection is kept behind all of it", () =>
  withIntakes(async ({ pool, open }) => {
    const intake = await open();
    const peer = { address: "10.0.0.9" };
    const [accepted] = await Promise.all([
      intake.accept({ connector: "hl7", peer }, LARGE_FRAME),
      intake.take(ormCancel({ number: "L-599" }), peer),
    ]);
    expect(accepted.map(({ place }) => place)).toEqual(LARGE_FRAME.map(({ place }) => place));
    const { rows } = await pool.query(
      "select state, count(*)::integer as count from orders group by state order by state",
    );
    expect(rows).toEqual([
      { state: "cancelled", count: 1 },
      { state: "received", count: 599 },
    ]);
  }));

test("a large frame of which a part was kept is answered as a whole when it comes again, and makes each order once", () =>
  withIntakes(async ({ pool, open }) => {
    await pool.query(
      `create function refuse() returns trigger language plpgsql
           as $$ begin raise exception 'no' using errcode = 'P0001'; end $$`,
    );
    await pool.query(
      `create trigger refuse before insert on messages for each row
         when (new.message_control_id = 'MSG-L-599') execute function refuse()`,
    );
    const intake = await open();
    const send = (peer: { address: string }) => intake.accept({ connector: "hl7", peer }, LARGE_FRAME);
    const cut = { address: "10.0.0.9" };
    await expect(send(cut)).rejects.toBeInstanceOf(Error);
    await expect(intake.take(ormCancel({ number: "L-0" }), cut)).rejects.toBeInstanceOf(Error);
    await pool.query("drop trigger refuse on messages");
    const accepted = await send({ address: "10.0.0.9" });
    expect(accepted.every(({ reply }) => reply?.includes("MSA|CA|MSG-L-"))).toBe(true);
    const { rows } = await pool.query("select count(*)::integer as orders from orders");
    expect(rows).toEqual([{ orders: 600 }]);
  }));
