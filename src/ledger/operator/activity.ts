import type pg from "pg";
import { list } from "../database.ts";

/** What came and went within a while, by equal spans of time. */
export interface Activity {
  /** When the first span begins. */
  readonly from: Date;
  readonly slotMs: number;
  /** Messages that were taken, by span. */
  readonly received: readonly number[];
  /** Orders that were completed. */
  readonly completed: readonly number[];
  /** Messages that were refused, and orders that are parked, were rejected or failed. */
  readonly inTrouble: readonly number[];
  readonly byConnector: ReadonlyMap<string, ConnectorActivity>;
}

/** The same of one connector, as sums. */
interface ConnectorActivity {
  readonly received: number;
  readonly refused: number;
  readonly sent: number;
}

interface Counted {
  readonly slot: number;
  readonly count: number;
}

/** $1 from, $2 ms of a span. Index: messages_received. */
const MESSAGES = `
select m.connector, m.verdict = 'refused' as "isRefused",
       floor(extract(epoch from m.received_at - $1::timestamptz) * 1000 / $2::float8)::integer as slot, count(*)::integer as count
  from messages m
 where m.received_at >= $1
 group by 1, 2, 3`;

/** $1 from, $2 ms of a span. Index: orders_state. */
const ORDERS = `
select o.state = 'completed' as "isCompleted",
       floor(extract(epoch from o.changed_at - $1::timestamptz) * 1000 / $2::float8)::integer as slot, count(*)::integer as count
  from orders o
 where o.state in ('completed', 'parked', 'rejected', 'failed')
   and o.changed_at >= $1
 group by 1, 2`;

/** $1 from. Index: deliveries_delivered. */
const SENT = `
select d.connector, count(*)::integer as count
  from deliveries d
 where d.delivered_at >= $1
 group by d.connector`;

/** What came and went since a time. What ended before costs nothing. */
export async function readActivity(
  pool: pg.Pool,
  { from, slots, slotMs }: Pick<Activity, "from" | "slotMs"> & { readonly slots: number },
): Promise<Activity> {
  const [messages, orders, sent] = await Promise.all([
    list<Counted & { connector: string; isRefused: boolean }>(pool, MESSAGES, [from, slotMs]),
    list<Counted & { isCompleted: boolean }>(pool, ORDERS, [from, slotMs]),
    list<{ connector: string; count: number }>(pool, SENT, [from]),
  ]);
  const refused = messages.filter(({ isRefused }) => isRefused);
  const names = new Set([...messages, ...sent].map(({ connector }) => connector));
  const sumOf = (rows: readonly { connector: string; count: number }[], name: string) =>
    sum(rows.filter(({ connector }) => connector === name));
  return {
    from,
    slotMs,
    received: bySlot(messages, slots),
    completed: bySlot(
      orders.filter(({ isCompleted }) => isCompleted),
      slots,
    ),
    inTrouble: bySlot([...refused, ...orders.filter(({ isCompleted }) => !isCompleted)], slots),
    byConnector: new Map(
      [...names].map((name) => [
        name,
        { received: sumOf(messages, name), refused: sumOf(refused, name), sent: sumOf(sent, name) },
      ]),
    ),
  };
}

/** What the clock of the database is ahead by stands in the last span. */
function bySlot(rows: readonly Counted[], slots: number): number[] {
  const counts = new Array<number>(slots).fill(0);
  for (const { slot, count } of rows) {
    const at = Math.min(slots - 1, Math.max(0, slot));
    counts[at] = (counts[at] ?? 0) + count;
  }
  return counts;
}

function sum(rows: readonly { readonly count: number }[]): number {
  return rows.reduce((all, { count }) => all + count, 0);
}

/**
 * $1 text[] of connectors. Index: messages_connector, which alone serves this order: by the ids alone, all messages would be read
 * for a connector that has none.
 */
const LAST_MESSAGES = `
select c.name as connector,
       (select m.received_at
          from messages m
         where m.connector between c.name and c.name
         order by m.connector desc, m.id desc
         limit 1) as at
  from unnest($1::text[]) as c(name)`;

/** When each connector took its last message; those that took none are left out. */
export async function findLastMessages(
  pool: pg.Pool,
  connectors: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const rows = await list<{ connector: string; at: Date | undefined }>(pool, LAST_MESSAGES, [connectors]);
  return new Map(rows.flatMap(({ connector, at }) => (at === undefined ? [] : [[connector, at] as const])));
}

/** Where none of so many results was taken, none was, as far as anybody wants to know: all of a backlog would be read for more. */
const MOST_LOOKED_AT = 1_000;

/** $1 text[] of connectors. Index: deliveries_connector, from its oldest end: what lies there was taken long ago. */
const TAKERS = `
select c.name as connector
  from unnest($1::text[]) as c(name)
 where exists (
       select 1
         from (select d.delivered_at
                 from deliveries d
                where d.connector between c.name and c.name
                order by d.connector desc, d.id
                limit ${MOST_LOOKED_AT}) oldest
        where oldest.delivered_at is not null)`;

/** The connectors whose lab has ever taken a result, of the oldest thousand. */
export async function findTakers(pool: pg.Pool, connectors: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await list<{ connector: string }>(pool, TAKERS, [connectors]);
  return new Set(rows.map(({ connector }) => connector));
}
