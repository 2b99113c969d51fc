import type pg from "pg";
import { inTransaction, run } from "../database.ts";
import type { Act } from "./audit.ts";

/** $1 queue, $2 actor. Nothing is returned when it is paused already. */
const PAUSE = `
insert into paused_queues (queue, actor)
values ($1, $2)
on conflict (queue) do nothing
returning queue`;

/** $1 queue. */
const RESUME = "delete from paused_queues where queue = $1 returning queue";

/** $1 actor, $2 action, $3 queue, $4 reason. */
const AUDIT = `
insert into audit (actor, action, target, detail)
values ($1, $2, $3, jsonb_strip_nulls(jsonb_build_object('reason', $4::text)))`;

/** Has nothing new handed to a queue until it is resumed; false when it is paused already. */
export async function pauseQueue(pool: pg.Pool, queue: string, act: Act): Promise<boolean> {
  return change(pool, { sql: PAUSE, values: [queue, act.actor], action: "pause", queue, act });
}

/** Lets a paused queue go on; false when it wasn't paused. */
export async function resumeQueue(pool: pg.Pool, queue: string, act: Act): Promise<boolean> {
  return change(pool, { sql: RESUME, values: [queue], action: "resume", queue, act });
}

async function change(
  pool: pg.Pool,
  {
    sql,
    values,
    action,
    queue,
    act,
  }: {
    readonly sql: string;
    readonly values: readonly string[];
    readonly action: string;
    readonly queue: string;
    readonly act: Act;
  },
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(sql, [...values]);
    if (rowCount !== 1) return false;
    await client.query(AUDIT, [act.actor, action, queue, act.reason ?? null]);
    return true;
  });
}

/** Queues that an operator has paused: nothing new is handed to them; intake goes on. */
export async function findPausedQueues(pool: pg.Pool): Promise<Set<string>> {
  return new Set(
    (await run<{ queue: string }>(pool, "select queue from paused_queues")).map((row) => row.queue),
  );
}
