import type pg from "pg";

/** A fact that the lab is to be told. */
export interface NewOutcome {
  readonly connector: string;
  readonly message_id: number;
  /** The orders that it is about: it goes out behind what was told of them before, and before what is told of them later. */
  readonly order_ids: readonly number[];
  readonly kind: "acknowledged" | "refused" | "waiting" | "changed" | "control";
  /** Plain JSON, in the form that `outcomes.ts` reads. */
  readonly payload: unknown;
}

/**
 * Facts to tell, in this order; $1 is a JSON array of {@link NewOutcome}. Their time is that of the clock: a transaction
 * that waited for an order's row began before what it waited for. A reference locks its order, so they are made in the order
 * in which whoever changes orders locks them.
 */
const INSERT_OUTCOMES = `
with fresh as materialized (
  select nextval(pg_get_serial_sequence('outcomes', 'id')) as id, x.*
    from jsonb_to_recordset($1::jsonb) as x(connector text, message_id bigint, order_ids bigint[], kind text, payload jsonb)),
told as (
  insert into outcomes (id, connector, message_id, order_id, kind, payload, occurred_at)
  select f.id, f.connector, f.message_id, case when cardinality(f.order_ids) = 1 then f.order_ids[1] end, f.kind, f.payload,
         clock_timestamp()
    from fresh f)
insert into outcome_orders (outcome_id, order_id)
select distinct f.id, o.id
  from fresh f
 cross join lateral unnest(f.order_ids) as o(id)
 where cardinality(f.order_ids) > 1
 order by o.id, f.id`;

/** Records what the lab is to be told, in the transaction in which it happened. */
export async function recordOutcomes(client: pg.PoolClient, outcomes: readonly NewOutcome[]): Promise<void> {
  if (outcomes.length === 0) return;
  await client.query(INSERT_OUTCOMES, [JSON.stringify(outcomes)]);
}
