import type pg from "pg";
import { inTransaction, run } from "../database.ts";
import { type Act, recordAudit } from "../operator/audit.ts";

/** What the ledger holds of a connector that the configuration doesn't name any more. */
export interface Orphaned {
  readonly connector: string;
  /** What is still to be sent to the lab: facts of which no file was made yet, and files that it doesn't have. */
  readonly results: number;
  /** Orders that haven't ended. They are submitted and followed. */
  readonly orders: number;
  /** Messages that wait for a code. */
  readonly messages: number;
  /** When the oldest of all that was made. */
  readonly since: Date;
}

const IS_OPEN = "o.state in ('received', 'submitting', 'submitted', 'accepted', 'in_progress', 'parked')";

/**
 * Goes from one connector's orders to the next one's, and counts the open ones of connectors that aren't configured: a long
 * ledger costs no more than a short one. $1 text[] connectors that are configured. Indexes: orders_connector, orders_state,
 * outcomes_open, deliveries_pending, deliveries_parked, messages_unaccepted.
 */
const ORPHANED = `
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
  select k.name, 0, x.orders, 0, x.since
    from known k
   cross join lateral (
         select count(*) as orders, min(o.received_at) as since
           from orders o
          where o.connector = k.name
            and ${IS_OPEN}) x
   where k.name <> all ($1)
     and x.orders > 0
   union all
  select m.connector, 0, 0, count(*), min(m.received_at)
    from messages m
   where m.verdict = 'waiting'
     and m.connector <> all ($1)
   group by m.connector)
select f.connector, sum(f.results)::integer as results, sum(f.orders)::integer as orders,
       sum(f.messages)::integer as messages, min(f.since) as since
  from found f
 group by f.connector
 order by f.connector`;

/** What waits of connectors that aren't among these; those without anything are left out. */
export function listOrphaned(pool: pg.Pool, configured: readonly string[]): Promise<Orphaned[]> {
  return run<Orphaned & pg.QueryResultRow>(pool, ORPHANED, [configured]);
}

/** Kinds of connectors, as far as what came through them shows. */
type ConnectorKind = "hl7-drop" | "csv-drop" | "mllp";

/**
 * Of what kind the connector was whose results wait, or whose orders are in work; $1 connector. Indexes: outcomes_open,
 * deliveries_pending, deliveries_parked, outcomes_delivery, orders_state.
 */
const KINDS = `
with waiting as (
  select t.message_id
    from outcomes t
   where t.connector = $1
     and not t.is_composed
   union
  select t.message_id
    from deliveries d
    join outcomes t on t.delivery_id = d.id
   where d.connector = $1
     and (d.state = 'pending' or d.state = 'parked')
   union
  select o.message_id
    from orders o
   where o.connector = $1
     and ${IS_OPEN})
select distinct case when m.format = 'csv' then 'csv-drop'
                     when coalesce(m.peer, first.peer) is not null then 'mllp'
                     else 'hl7-drop' end as kind
  from waiting w
  join messages m on m.id = w.message_id
  left join messages first on first.id = m.replay_of
 where m.format <> 'unreadable'
 order by kind`;

/** Of what kind a connector was by what waits of it: none where that doesn't show, several where it changed. */
export async function findKinds(pool: pg.Pool, connector: string): Promise<ConnectorKind[]> {
  return (await run<{ kind: ConnectorKind }>(pool, KINDS, [connector])).map(({ kind }) => kind);
}

/** Names of results of both connectors that are the same; $1 from, $2 to. Index: deliveries (connector, file_name). */
const SAME_NAMES = `
select count(*)::integer as count
  from deliveries d
  join deliveries taken on taken.connector = $2 and taken.file_name = d.file_name
 where d.connector = $1
   and (d.state = 'pending' or d.state = 'parked')`;

/** $1 from, $2 to. Indexes: deliveries_pending, deliveries_parked. */
const MOVE_DELIVERIES = `
update deliveries
   set connector = $2,
       next_at = now()
 where connector = $1
   and (state = 'pending' or state = 'parked')
returning id`;

/** What no file was made of yet, and what is composed again when a person says so; $1 from, $2 to, $3 ids of moved deliveries. */
const MOVE_OUTCOMES = `
update outcomes
   set connector = $2
 where connector = $1
   and (not is_composed or delivery_id = any ($3))
returning is_composed`;

/**
 * Whatever these orders lead to later is sent through the other connector; locked in the order in which whoever changes orders locks them. $1
 * from, $2 to. Indexes: orders_connector, the primary key.
 */
const MOVE_ORDERS = `
with moved as materialized (
  select o.id
    from orders o
   where o.connector = $1
   order by o.id
     for no key update)
update orders o
   set connector = $2
  from moved
 where o.id = moved.id`;

/** So are the answers to cancellations that are still open; $1 from, $2 to. Index: control_requests_open. */
const MOVE_CONTROL_REQUESTS =
  "update control_requests set connector = $2 where connector = $1 and state = 'open'";

/** Numbers of result files go on behind both; $1 from, $2 to. */
const MOVE_NUMBERS = `
insert into result_numbers as r (connector, series, last_number)
select $2, n.series, n.last_number
  from result_numbers n
 where n.connector = $1
on conflict (connector, series) do update set last_number = greatest(r.last_number, excluded.last_number)`;

/** Which connector's results are to be sent through which. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

/**
 * Gives the orders of one connector to another one, with the results that the lab doesn't have and those that they lead to
 * later. Files that are made already stay the same to the byte.
 *
 * @returns how many results were moved; undefined, with nothing done, when the other one has results of the same names
 */
export async function moveResults(
  pool: pg.Pool,
  { from, to }: Move,
  { actor, reason }: Act,
): Promise<number | undefined> {
  return inTransaction(pool, async (client) => {
    const same = await client.query<{ count: number }>(SAME_NAMES, [from, to]);
    if ((same.rows[0]?.count ?? 0) > 0) return undefined;
    await client.query(MOVE_ORDERS, [from, to]);
    await client.query(MOVE_CONTROL_REQUESTS, [from, to]);
    const deliveries = (await client.query<{ id: number }>(MOVE_DELIVERIES, [from, to])).rows;
    const ids = deliveries.map(({ id }) => id);
    const outcomes = (await client.query<{ is_composed: boolean }>(MOVE_OUTCOMES, [from, to, ids])).rows;
    const results = ids.length + outcomes.filter((row) => !row.is_composed).length;
    await client.query(MOVE_NUMBERS, [from, to]);
    const targets = [{ target: `connector ${from}`, detail: { to, results, reason } }];
    await recordAudit(client, { actor }, "move", targets);
    return results;
  });
}
