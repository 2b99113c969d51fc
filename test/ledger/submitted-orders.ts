import type pg from "pg";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";

export async function commitOrders(pool: pg.Pool, subjects: readonly string[]): Promise<number[]> {
  const orders = subjects.map((code, index) => anOrder({ code, placerOrderNumber: `A-${index + 1}` }));
  return commit(
    pool,
    orders.map((order, index) => aRecord(index + 1, [order])),
  );
}

export async function only(pool: pg.Pool, number = "A-1") {
  const [order] = await findOrders(pool, number);
  if (!order) throw new Error(`no order ${number}`);
  return order;
}
