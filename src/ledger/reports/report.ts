import type pg from "pg";
import { inTransaction, list } from "../database.ts";

/** A while, from its first moment until right before its last. */
export interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** How orders stand that came in within a period: `open` is every state before an end, but for `parked`. */
export const ENDS = ["completed", "rejected", "cancelled", "failed", "discarded", "parked", "open"] as const;
type End = (typeof ENDS)[number];

/** Orders of one connector and operation, by how they stand. */
export interface ReportedOrders extends Readonly<Record<End, number>> {
  readonly connector: string;
  readonly operation: string;
  readonly all: number;
}

/** The parts of an order's way that are timed. */
const STAGES = ["submit", "accept", "complete", "send", "whole"] as const;
export type Stage = (typeof STAGES)[number];

/** How long orders took for a stage, ms. Orders that have not passed it, or skipped its beginning, do not count. */
export interface StageTimes {
  readonly stage: Stage;
  readonly count: number;
  readonly medianMs: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** What was refused, or did not come to its end, for one reason. */
export interface Refusals {
  /** A file or message that was refused, or an order in this state. */
  readonly what: "file" | "message" | "rejected" | "failed" | "parked";
  readonly code: string;
  readonly count: number;
}

/** What came in within a period, and what became of it until now. */
export interface Report {
  readonly orders: readonly ReportedOrders[];
  readonly stages: readonly StageTimes[];
  readonly refusals: readonly Refusals[];
}

/** $1 from, $2 to. Index: orders_received. */
export const REPORTED_ORDERS = `
select o.connector, o.operation, count(*)::integer as "all",
       count(*) filter (where o.state = 'completed')::integer as completed,
       count(*) filter (where o.state = 'rejected')::integer as rejected,
       count(*) filter (where o.state = 'cancelled')::integer as cancelled,
       count(*) filter (where o.state = 'failed')::integer as failed,
       count(*) filter (where o.state = 'discarded')::integer as discarded,
       count(*) filter (where o.state = 'parked')::integer as parked,
       count(*) filter (where o.state in ('received', 'submitting', 'submitted', 'accepted', 'in_progress'))::integer
         as open
  from orders o
 where o.received_at >= $1
   and o.received_at < $2
 group by o.connector, o.operation
 order by o.connector, o.operation`;

/**
 * The first and last id of the orders of a period; $1 from, $2 to. Index: orders_received, which alone is as short as the period
 * is: for the least id alone, all earlier orders would be read.
 */
export const SPAN_OF_IDS = `
select min(o.id + 0) as first, max(o.id + 0) as last
  from orders o
 where o.received_at >= $1
   and o.received_at < $2`;

/**
 * The first time that each order came to a state counts, also where it was done again later; what a device runs was
 * accepted before. It was sent when the lab had the first result after its completion. $1 from, $2 to, $3 and $4 the first and last id of the period's orders, since timelines are read by
 * ranges of ids. Indexes: orders_received, the primary key of order_events.
 */
export const STAGE_TIMES = `
with reached as (
  select e.order_id,
         min(e.at) filter (where e.to_state = 'submitted') as submitted,
         min(e.at) filter (where e.to_state in ('accepted', 'in_progress')) as accepted,
         min(e.at) filter (where e.to_state = 'completed') as completed,
         min(e.at) filter (where e.kind = 'result_sent') as first_sent,
         array_agg(e.at) filter (where e.kind = 'result_sent') as sent
    from order_events e
   where e.order_id between $3 and $4
   group by e.order_id),
 steps as materialized (
  select o.received_at as received, r.submitted, r.accepted, r.completed,
         case when r.first_sent >= r.completed then r.first_sent
              when r.first_sent < r.completed then (select min(s.at) from unnest(r.sent) as s(at) where s.at >= r.completed)
         end as sent
    from orders o
    join reached r on r.order_id = o.id
   where o.received_at >= $1
     and o.received_at < $2),
 times as (
  select case when s.submitted >= s.received then date_part('epoch', s.submitted - s.received) end as submit,
         case when s.accepted >= s.submitted then date_part('epoch', s.accepted - s.submitted) end as accept,
         case when s.completed >= s.accepted then date_part('epoch', s.completed - s.accepted) end as complete,
         date_part('epoch', s.sent - s.completed) as send,
         case when s.completed >= s.received then date_part('epoch', coalesce(s.sent, s.completed) - s.received) end as whole
    from steps s),
 stages as (
  select ${STAGES.map(
    (stage) =>
      `count(t.${stage})::integer as ${stage}_count, max(t.${stage}) as ${stage}_max,
         percentile_cont(array[0.5, 0.9, 0.99]) within group (order by t.${stage}) as ${stage}_parts`,
  ).join(",\n         ")}
    from times t)
select x.stage, x.count, round(x.parts[1] * 1000) as "medianMs", round(x.parts[2] * 1000) as "p90Ms",
       round(x.parts[3] * 1000) as "p99Ms", round(x.most * 1000) as "maxMs"
  from stages s
 cross join lateral (values ${STAGES.map(
   (stage, n) => `(${n}, '${stage}', s.${stage}_count, s.${stage}_max, s.${stage}_parts)`,
 ).join(",\n                            ")}) as x(nth, stage, count, most, parts)
 where x.count > 0
 order by x.nth`;

/** Each message or file counts once for a reason. $1 from, $2 to. Indexes: messages_unaccepted, files_status, orders_received. */
export const REFUSALS = `
select x.what, x.code, count(*)::integer as count
  from (select 'file' as what, f.id, p.problem->>'code' as code
          from files f
         cross join lateral jsonb_array_elements(f.problems) as p(problem)
         where f.status = 'refused'
           and f.received_at >= $1
           and f.received_at < $2
         group by 1, 2, 3
         union all
        select 'message', m.id, p.problem->>'code'
          from messages m
         cross join lateral jsonb_array_elements(m.problems) as p(problem)
         where m.verdict = 'refused'
           and m.received_at >= $1
           and m.received_at < $2
         group by 1, 2, 3
         union all
        select o.state, o.id, o.failure_code
          from orders o
         where o.state in ('rejected', 'failed', 'parked')
           and o.received_at >= $1
           and o.received_at < $2) x
 where x.code is not null
 group by x.what, x.code
 order by array_position(array['file', 'message', 'rejected', 'failed', 'parked'], x.what), count desc, x.code`;

/**
 * A month of a busy site is some hundred thousand orders, which are joined and sorted in memory: elsewhere the ledger's statements
 * go from a few keys.
 */
const FOR_MANY =
  "set local work_mem = '64MB'; set local enable_hashjoin = on; set local enable_mergejoin = on";

/** What came in within a period, and what became of it. One snapshot: its numbers fit each other. */
export function readReport(pool: pg.Pool, { from, to }: Period): Promise<Report> {
  const refusalsOf = (client: pg.PoolClient) => list<Refusals>(client, REFUSALS, [from, to]);
  return inTransaction(pool, async (client) => {
    await client.query("set transaction isolation level repeatable read, read only");
    await client.query(FOR_MANY);
    const [span] = await list<{ first: number; last: number }>(client, SPAN_OF_IDS, [from, to]);
    if (span?.first === undefined) return { orders: [], stages: [], refusals: await refusalsOf(client) };
    return {
      orders: await list<ReportedOrders>(client, REPORTED_ORDERS, [from, to]),
      stages: await list<StageTimes>(client, STAGE_TIMES, [from, to, span.first, span.last]),
      refusals: await refusalsOf(client),
    };
  });
}
