import type pg from "pg";
import type { AlertLevel } from "../../core/alert.ts";
import type { AlertCondition } from "../../core/condition.ts";
import type { AlertKind } from "../../core/condition-kinds.ts";
import { inTransaction, list, type Queryable, run } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { forgetSilences } from "./silences.ts";

/** An alert of the ledger. */
export interface Alert {
  readonly id: number;
  readonly kind: AlertKind;
  /** What distinguishes it from others of its kind; empty for all. */
  readonly about: string;
  readonly level: AlertLevel;
  readonly text: string;
  readonly hint: string | undefined;
  /** Since when its condition was seen to hold. */
  readonly since: Date;
  /** When the condition had held long enough; undefined until then. */
  readonly startedAt: Date | undefined;
  readonly announcedAt: Date | undefined;
  readonly goneSince: Date | undefined;
  readonly overAt: Date | undefined;
  readonly acknowledgedAt: Date | undefined;
  readonly acknowledgedBy: string | undefined;
  readonly acknowledgedReason: string | undefined;
  /** Until when a person silenced it, or all of its kind. */
  readonly silencedUntil: Date | undefined;
}

/** What becomes of alerts, by their ids. */
export interface AlertChanges {
  /** Conditions that were not known. */
  readonly begun: readonly AlertCondition[];
  readonly started: readonly number[];
  readonly announced: readonly number[];
  /** Those whose condition holds again. */
  readonly back: readonly number[];
  readonly gone: readonly number[];
  /** Those whose condition has other words than it had, or is more urgent or less. */
  readonly restated: readonly (Pick<AlertCondition, "level" | "text" | "hint"> & { readonly id: number })[];
  readonly over: readonly number[];
  /** Those that end without a message. */
  readonly dropped: readonly number[];
  /** Those that were over before they had held long enough. */
  readonly forgotten: readonly number[];
}

/** {@link Alert}s. Index: alert_silences_until. */
const ALERTS = `
select a.id, a.kind, a.about, a.level, a.text, a.hint, a.since, a.started_at as "startedAt",
       a.announced_at as "announcedAt", a.gone_since as "goneSince", a.over_at as "overAt",
       a.acknowledged_at as "acknowledgedAt", a.acknowledged_by as "acknowledgedBy",
       a.acknowledged_reason as "acknowledgedReason",
       (select max(s.until_at)
          from alert_silences s
         where s.until_at > now()
           and s.kind = a.kind
           and (s.about is null or s.about = a.about)) as "silencedUntil"
  from alerts a`;

/** All that are not over. Index: alerts_open. */
const OPEN_ALERTS = `${ALERTS} where a.over_at is null order by a.id`;

/**
 * The same for those that have started, and those that ended within $1 ms; $2 limit, $3 the last alert of the page before or null.
 * Indexes: alerts_open, alerts_over.
 */
const RECENT_ALERTS = `
${ALERTS}
 where (a.over_at is null or a.over_at > now() - $1 * interval '1 millisecond')
   and a.started_at is not null
   and ($3::bigint is null
        or (coalesce(a.over_at, 'infinity'), a.id) < (select coalesce(b.over_at, 'infinity'), b.id from alerts b where b.id = $3))
 order by a.over_at desc nulls first, a.id desc
 limit $2`;

const ALERT_BY_ID = `${ALERTS} where a.id = $1 and a.started_at is not null`;

/** $1 JSON array of {kind, about, level, text, hint}. */
const BEGIN = `
insert into alerts (kind, about, level, text, hint)
select x.kind, x.about, x.level, x.text, x.hint
  from jsonb_to_recordset($1::jsonb) as x(kind text, about text, level text, text text, hint text)
    on conflict do nothing`;

/** $1 JSON array of {id, level, text, hint}. */
const RESTATE = `
update alerts a
   set level = x.level,
       text = x.text,
       hint = x.hint
  from jsonb_to_recordset($1::jsonb) as x(id bigint, level text, text text, hint text)
 where a.id = x.id`;

/** $1 to $6 ids, of those that end ($5) the ones that are announced in $8; $7 names of the places that are sent something. */
const CHANGE = `
with started as (
  update alerts set started_at = coalesce(started_at, now()),
                    announced_at = case when id = any($2::bigint[]) then now() else announced_at end,
                    gone_since = case when id = any($4::bigint[]) then now()
                                      when id = any($3::bigint[]) then null
                                      else gone_since end,
                    over_at = case when id = any($5::bigint[]) then now() end
   where id = any($1::bigint[])
  returning id
), others as (
  update alerts set gone_since = case when id = any($4::bigint[]) then now() end
   where (id = any($3::bigint[]) or id = any($4::bigint[]))
     and not id = any($1::bigint[])
), forgotten as (
  delete from alerts where id = any($6::bigint[])
)
insert into alert_messages (alert_id, place, event)
select m.id, p.place, m.event
  from (select unnest($2::bigint[]) as id, 'started' as event
         union all
        select a.id, 'over' from alerts a where a.id = any($8::bigint[]) and a.announced_at is not null) m
 cross join unnest($7::text[]) as p(place)
 order by m.id, p.place
    on conflict do nothing`;

/** A daemon may still judge though another one goes on, which waits for its changes then. */
const LOCK_ALERTS = "lock table alerts in share row exclusive mode";

/**
 * Changes alerts in one transaction, and makes what the places are sent of it.
 * @param decide is given all that are not over, and the database's time
 */
export function changeAlerts(
  pool: pg.Pool,
  places: readonly string[],
  decide: (open: readonly Alert[], now: Date) => AlertChanges,
): Promise<AlertChanges> {
  return inTransaction(pool, async (client) => {
    await client.query(LOCK_ALERTS);
    const [time] = await list<{ now: Date }>(client, "select now()");
    const changes = decide(await listOpenAlerts(client), time?.now ?? new Date());
    const { begun, started, announced, back, gone, restated, over, dropped, forgotten } = changes;
    const ended = [...over, ...dropped];
    const touched = [...new Set([...started, ...announced, ...ended])];
    if (begun.length > 0) await client.query(BEGIN, [JSON.stringify(begun)]);
    if (restated.length > 0) await client.query(RESTATE, [JSON.stringify(restated)]);
    if (touched.length + back.length + gone.length + forgotten.length > 0)
      await client.query(CHANGE, [touched, announced, back, gone, ended, forgotten, places, over]);
    return changes;
  });
}

/** All that are not over, also those that have not held long enough yet. */
export function listOpenAlerts(pool: Queryable): Promise<Alert[]> {
  return list<Alert>(pool, OPEN_ALERTS);
}

/**
 * Alerts that have started: first those that hold, then those that ended lately.
 * @param beforeId the last alert of the page before
 */
export function listRecentAlerts(
  pool: pg.Pool,
  endedWithinMs: number,
  limit: number,
  beforeId?: number,
): Promise<Alert[]> {
  return list<Alert>(pool, RECENT_ALERTS, [endedWithinMs, limit, beforeId ?? null]);
}

/** An alert that has started; undefined when there is none of that number. */
export async function findAlert(pool: pg.Pool, id: number): Promise<Alert | undefined> {
  return (await list<Alert>(pool, ALERT_BY_ID, [id]))[0];
}

/** $1 id, $2 actor, $3 reason. */
const ACKNOWLEDGE = `
update alerts set acknowledged_at = now(), acknowledged_by = $2, acknowledged_reason = $3
 where id = $1
   and over_at is null
   and acknowledged_at is null
returning id`;

/** Writes down that a person sees to an alert; false when it is over, or somebody does already. */
export function acknowledgeAlert(pool: pg.Pool, id: number, act: Act): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const done = await client.query(ACKNOWLEDGE, [id, act.actor, act.reason ?? null]);
    if (done.rowCount !== 1) return false;
    const target = formatId("a", id);
    await recordAudit(client, act, "alert-acknowledge", [{ target, detail: { reason: act.reason ?? null } }]);
    return true;
  });
}

/** $1 ms. Index: alerts_over; messages go with their alerts. */
const FORGET = "delete from alerts where over_at < now() - $1 * interval '1 millisecond'";

/** Forgets alerts that ended long ago. */
export async function forgetAlerts(pool: pg.Pool, keptMs: number): Promise<void> {
  await run(pool, FORGET, [keptMs]);
  await forgetSilences(pool, keptMs);
}
