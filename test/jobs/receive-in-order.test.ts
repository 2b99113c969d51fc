import type pg from "pg";
import { expect, test } from "vitest";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { withReceptions } from "../support/with-receptions.ts";

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

test.each([
  ["with a journal", true],
  ["without a journal", false],
])("a cancellation behind an order that could not be kept is not kept before it, %s", (_, hasJournal) =>
  withReceptions(async ({ pool, open }) => {
    const failing = failingPool(pool);
    const reception = await open({}, failing.pool, { hasJournal });
    await reception.start();
    const [order, cancellation] = [omlO33({ number: "N-1" }), ormCancel({ number: "N-1" })];
    const peer = { address: "10.0.0.9" };
    failing.state.failures = 1;
    const first = endOf(reception.take(order, peer));
    await turn();
    const ends = await Promise.all([first, endOf(reception.take(cancellation, peer))]);
    expect(ends).toEqual(["rejected", "rejected"]);
    for (const text of [order, cancellation]) await reception.take(text);
    await reception.stop();
    const { rows } = await pool.query("select placer_order_number, state from orders");
    expect(rows).toEqual([{ placer_order_number: "N-1", state: "cancelled" }]);
  }),
);

test("an order behind a cancellation for which the ledger is needed is not put down while that is away", () =>
  withReceptions(async ({ pool, open }) => {
    const failing = failingPool(pool);
    const reception = await open({}, failing.pool, { hasJournal: true });
    await reception.start();
    // So that numbers are there and nothing has to be asked for the order.
    for (const number of ["W-1", "W-2", "W-3"]) await reception.take(omlO33({ number }));
    const peer = { address: "10.0.0.9" };
    failing.state.failures = Number.POSITIVE_INFINITY;
    const first = endOf(reception.take(ormCancel({ number: "W-1" }), peer));
    await turn();
    const ends = await Promise.all([first, endOf(reception.take(omlO33({ number: "N-1" }), peer))]);
    expect(ends).toEqual(["rejected", "rejected"]);
    failing.state.failures = 0;
    await reception.stop();
    const { rows } = await pool.query("select placer_order_number from orders order by id");
    expect(rows.map(({ placer_order_number }) => placer_order_number)).toEqual(["W-1", "W-2", "W-3"]);
  }));
