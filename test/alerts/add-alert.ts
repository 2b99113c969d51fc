import type pg from "pg";

/** Adds an alert to the ledger that started a minute ago and was announced to `hook`, which did not take it. */
export async function addAlert(pool: pg.Pool, kind: string, about: string): Promise<void> {
  await pool.query(
    `with a as (insert into alerts (kind, about, level, text, since, started_at, announced_at)
                values ($1, $2, 'act', $1 || ' of ' || $2, now() - interval '1 minute', now(), now()) returning id)
     insert into alert_messages (alert_id, place, event, attempts, failure)
     select id, 'hook', 'started', 2, 'status 500' from a`,
    [kind, about],
  );
}
