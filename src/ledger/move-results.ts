import type pg from "pg";
import { OPEN_STATES } from "../core/order-state.ts";
import { inTransaction, run } from "./database.ts";
import { type Act, INSERT_AUDIT } from "./operator.ts";

/** What connectors are of, as far as what came through them tells. */
export type ConnectorKind = "hl7-drop" | "csv-drop" | "mllp";

/**
 * Of what kind the connector was whose results wait, or whose orders are in work; $1 connector, $2 text[] open states.
 * Indexes: outcomes_open, deliveries_pending, deliveries_parked, outcomes_delivery, orders_connector.
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
     and o.state = any ($2))
select distinct case when m.format = 'csv' then 'csv-drop'
                     when coalesce(m.peer, first.peer) is not null then 'mllp'
                     else 'hl7-drop' end as kind
  from waiting w
  join messages m on m.id = w.message_id
  left join messages first on first.id = m.replay_of
 where m.format <> 'unreadable'
 order by kind`;

/** Of what kind a connector was by what waits of it: none where that doesn't tell, several where it changed. */
export async function findKinds(pool: pg.Pool, connector: string): Promise<ConnectorKind[]> {
  return (await run<{ kind: ConnectorKind }>(pool, KINDS, [connector, OPEN_STATES])).map(({ kind }) => kind);
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

/** What no file was made of yet, and what is composed anew when a person says so; $1 from, $2 to, $3 ids of moved deliveries. */
const MOVE_OUTCOMES = `
update outcomes
   set connector = $2
 where connector = $1
   and (not is_composed or delivery_id = any ($3))
returning is_composed`;

/** Numbers of result files go on behind both; $1 from, $2 to. */
const MOVE_NUMBERS = `
insert into result_numbers as r (connector, input_name, last_number)
select $2, n.input_name, n.last_number
  from result_numbers n
 where n.connector = $1
on conflict (connector, input_name) do update set last_number = greatest(r.last_number, excluded.last_number)`;

/** $1 from, $2 to, $3 actor. */
const NOTE_MOVE = `
insert into moved_connectors (name, moved_to, actor)
values ($1, $2, $3)
on conflict (name) do update set moved_to = excluded.moved_to, moved_at = now(), actor = excluded.actor`;

/** What went out through the one that is moved now goes on with it, and the one that takes it is there; $1 from, $2 to. */
const RENEW_MOVES = [
  "delete from moved_connectors where name = $2 and $1::text is not null",
  "update moved_connectors set moved_to = $2 where moved_to = $1",
] as const;

/** Which connector's results are to go out through which. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

/**
 * Has what the lab is still to be told of one connector go out through another one, and whatever its orders lead to later
 * as well. Files that are made already stay the same to the byte.
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
    const deliveries = (await client.query<{ id: number }>(MOVE_DELIVERIES, [from, to])).rows;
    const ids = deliveries.map(({ id }) => id);
    const outcomes = (await client.query<{ is_composed: boolean }>(MOVE_OUTCOMES, [from, to, ids])).rows;
    const results = ids.length + outcomes.filter((row) => !row.is_composed).length;
    await client.query(MOVE_NUMBERS, [from, to]);
    for (const statement of RENEW_MOVES) await client.query(statement, [from, to]);
    await client.query(NOTE_MOVE, [from, to, actor]);
    const targets = [{ target: `connector ${from}`, detail: { to, results, reason } }];
    await client.query(INSERT_AUDIT, [actor, "move", JSON.stringify(targets)]);
    return results;
  });
}

/** $1 text[] connectors that are configured. Index: outcomes_open. */
const FOLLOW = `
update outcomes t
   set connector = v.moved_to
  from moved_connectors v
 where t.connector = v.name
   and not t.is_composed
   and v.name <> all ($1)
   and v.moved_to = any ($1)`;

/** Has new facts about orders of moved connectors go where their results went. */
export async function followMoves(pool: pg.Pool, configured: readonly string[]): Promise<void> {
  await run(pool, FOLLOW, [configured]);
}

/** $1 text[] connectors that are configured. */
const FORGET = "delete from moved_connectors where name = any ($1)";

/** A connector that is configured again tells the lab by itself. */
export async function forgetMoves(pool: pg.Pool, configured: readonly string[]): Promise<void> {
  await run(pool, FORGET, [configured]);
}
