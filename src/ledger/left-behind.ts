import type pg from "pg";
import { OPEN_STATES } from "../core/order-state.ts";
import { run } from "./database.ts";

/** What the ledger holds of a connector that the configuration doesn't name any more. */
export interface LeftBehind {
  readonly connector: string;
  /** What the lab is still to be told: facts of which no file was made yet, and files that it doesn't have. */
  readonly results: number;
  /** Orders that haven't ended. They are submitted and followed all the same. */
  readonly orders: number;
  /** Messages that wait for a code. */
  readonly messages: number;
  /** When the oldest of all that came about. */
  readonly since: Date;
  /** The connector that its results go out through, if a person moved them. */
  readonly movedTo: string | undefined;
}

/**
 * Goes from one connector's orders to the next one's, and counts those of connectors that aren't configured: a long ledger
 * costs no more than a short one. $1 text[] connectors that are configured, $2 text[] open states. Indexes:
 * orders_connector, outcomes_open, deliveries_pending, deliveries_parked, messages_waiting.
 */
const LEFT_BEHIND = `
with recursive known(name) as (
  (select o.connector
     from orders o
    order by o.connector
    limit 1)
   union all
  select (select o.connector
            from orders o
           where o.connector > k.name
           order by o.connector
           limit 1)
    from known k
   where k.name is not null),
found(connector, results, orders, messages, since) as (
  select t.connector, count(*), 0, 0, min(t.occurred_at)
    from outcomes t
   where not t.is_composed
     and t.connector <> all ($1)
   group by t.connector
   union all
  select d.connector, count(*), 0, 0, min(d.created_at)
    from deliveries d
   where (d.state = 'pending' or d.state = 'parked')
     and d.connector <> all ($1)
   group by d.connector
   union all
  select o.connector, 0, count(*), 0, min(o.received_at)
    from known k
    join orders o on o.connector = k.name
   where k.name <> all ($1)
     and o.state = any ($2)
   group by o.connector
   union all
  select m.connector, 0, 0, count(*), min(m.received_at)
    from messages m
   where m.verdict = 'waiting'
     and m.connector <> all ($1)
   group by m.connector)
select f.connector, sum(f.results)::integer as results, sum(f.orders)::integer as orders,
       sum(f.messages)::integer as messages, min(f.since) as since,
       (select v.moved_to from moved_connectors v where v.name = f.connector) as moved_to
  from found f
 group by f.connector
 order by f.connector`;

/** What waits of connectors that aren't among these; those without anything are left out. */
export async function listLeftBehind(pool: pg.Pool, configured: readonly string[]): Promise<LeftBehind[]> {
  const rows = await run<{
    connector: string;
    results: number;
    orders: number;
    messages: number;
    since: Date;
    moved_to: string | null;
  }>(pool, LEFT_BEHIND, [configured, OPEN_STATES]);
  return rows.map(({ moved_to, ...row }) => ({ ...row, movedTo: moved_to ?? undefined }));
}
