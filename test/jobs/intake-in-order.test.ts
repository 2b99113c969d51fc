import type pg from "pg";
import { expect, test } from "vitest";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { withIntakes } from "../support/with-intakes.ts";

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
