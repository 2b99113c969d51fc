import type pg from "pg";
import { run } from "../database.ts";

/** Results that the lab doesn't have although they were tried, of one connector and with one failure. */
export interface FailingDeliveries {
  readonly connector: string;
  /** `pending` is tried again by itself, `parked` waits for a person. */
  readonly state: "pending" | "parked";
  readonly count: number;
  /** When the oldest of them was made. */
  readonly since: Date;
  readonly code: string;
  readonly text: string;
}

/** A queue that an operator has paused. */
export interface PausedQueue {
  readonly queue: string;
  readonly pausedAt: Date;
  readonly actor: string;
}

/** Refused messages among the last ones. */
export interface RecentRefusals {
  readonly connector: string;
  readonly count: number;
  readonly latestAt: Date;
}

/** What a person should know of beside orders, tasks and codes. */
export interface LedgerAttention {
  readonly deliveries: readonly FailingDeliveries[];
  readonly pausedQueues: readonly PausedQueue[];
  readonly refusals: readonly RecentRefusals[];
}

/** $1 how many groups. Indexes: deliveries_pending, deliveries_parked. */
export const FAILING_DELIVERIES = `
select d.connector, d.state, d.failure_code as code, min(d.failure_text) as text, count(*)::integer as count,
       min(d.created_at) as since
  from deliveries d
 where (d.state = 'pending' or d.state = 'parked')
   and d.failure_code is not null
 group by d.connector, d.state, d.failure_code
 order by min(d.created_at), d.connector
 limit $1`;

const PAUSED_QUEUES = "select queue, paused_at, actor from paused_queues order by queue";

/**
 * Refusals of the last day among the latest $1 messages, so that it costs the same however many there are. Index: the
 * primary key.
 */
export const RECENT_REFUSALS = `
select m.connector, count(*)::integer as count, max(m.received_at) as latest_at
  from (select connector, verdict, received_at from messages order by id desc limit $1) m
 where m.verdict = 'refused'
   and m.received_at > now() - interval '1 day'
 group by m.connector
 order by m.connector`;

const GROUPS = 50;
/** How many of the latest messages are looked through for refused ones. */
export const MESSAGES_LOOKED_AT = 1_000;

/** What stands still or was refused, for whoever looks. */
export async function readAttention(pool: pg.Pool): Promise<LedgerAttention> {
  const [deliveries, paused, refusals] = await Promise.all([
    run<{
      connector: string;
      state: FailingDeliveries["state"];
      code: string;
      text: string | null;
      count: number;
      since: Date;
    }>(pool, FAILING_DELIVERIES, [GROUPS]),
    run<{ queue: string; paused_at: Date; actor: string }>(pool, PAUSED_QUEUES),
    run<{ connector: string; count: number; latest_at: Date }>(pool, RECENT_REFUSALS, [MESSAGES_LOOKED_AT]),
  ]);
  return {
    deliveries: deliveries.map((row) => ({ ...row, text: row.text ?? "" })),
    pausedQueues: paused.map((row) => ({ queue: row.queue, pausedAt: row.paused_at, actor: row.actor })),
    refusals: refusals.map((row) => ({
      connector: row.connector,
      count: row.count,
      latestAt: row.latest_at,
    })),
  };
}
