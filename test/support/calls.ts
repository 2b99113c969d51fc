import type pg from "pg";
import { findDueLooks } from "../../src/ledger/orders/looks.ts";

interface Given {
  /** Columns of the call, as SQL: `look_at = now()`, joined by commas. */
  readonly set?: string;
  /** Which orders, as SQL; by default all. */
  readonly where?: string;
}

/** Gives orders a call to create their requests of which nobody knows what it did. */
export async function openCalls(pool: pg.Pool, { set, where = "true" }: Given = {}): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into calls (order_id, kind, surface, mark)
     select o.id, 'request', 'request', o.mark from orders o where ${where} returning id`,
  );
  if (set === undefined) return;
  await pool.query(`update calls set ${set} where id = any ($1)`, [rows.map(({ id }) => id)]);
}

/** Presumes such a call of each order that has none, as a restore of the ledger does. */
export async function presumeAll(pool: pg.Pool, where = "true"): Promise<void> {
  await pool.query(
    `update ledger set restored_at = coalesce(restored_at, now()), forgotten_since = coalesce(forgotten_since, now()),
            copy_order_id = (select max(id) from orders), copy_call_id = (select coalesce(max(id), 0) from calls)`,
  );
  await pool.query(
    `insert into calls (order_id, kind, is_presumed, mark, at, since, left_by, look_at)
     select o.id, 'request', true, o.mark, l.restored_at, l.forgotten_since, l.restored_at, now()
       from orders o, ledger l
      where ${where}
        and not exists (select 1 from calls k where k.order_id = o.id and k.outcome is null)`,
  );
  await pool.query(
    `update orders o set state = 'submitting', owner = null where o.state in ('received', 'queued') and ${where}`,
  );
}

/** Lets calls have left longer ago. */
export async function agedBy(pool: pg.Pool, interval: string): Promise<void> {
  await pool.query(
    `update calls set at = at - interval '${interval}', left_by = left_by - interval '${interval}' where outcome is null`,
  );
}

/** Calls to cancel that may leave now. */
export async function dueCancels(pool: pg.Pool): Promise<{ orderId: number; callId: number }[]> {
  const due = await findDueLooks(pool, 100, "cancels");
  const { rows } = await pool.query<{ id: number }>(
    "select id from calls where kind = 'cancel' and worker_id is null and id = any ($1)",
    [due.map(({ callId }) => callId)],
  );
  return due.filter(({ callId }) => rows.some(({ id }) => id === callId));
}
