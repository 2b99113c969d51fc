import type pg from "pg";
import type { AlertEvent, AlertLevel } from "../../core/alert.ts";
import type { AlertKind } from "../../core/condition-kinds.ts";
import { list, run } from "../database.ts";

/** What one place is to be sent of an alert. */
export interface AlertMessage {
  readonly id: number;
  readonly alertId: number;
  readonly event: Exclude<AlertEvent, "test">;
  /** With this one. */
  readonly attempts: number;
  readonly kind: AlertKind;
  readonly about: string;
  readonly level: AlertLevel;
  readonly text: string;
  readonly hint: string | undefined;
  readonly since: Date;
  readonly overAt: Date | undefined;
  /** The ledger's, so that no other ledger's message has the same id. */
  readonly instanceCode: string;
}

/** What a place was, or is to be, sent of an alert, for people. */
export interface AlertDelivery {
  readonly alertId: number;
  readonly place: string;
  readonly event: AlertEvent;
  readonly attempts: number;
  readonly sentAt: Date | undefined;
  readonly givenUpAt: Date | undefined;
  readonly failure: string | undefined;
}

/**
 * The first message that is due for a place: $1 the place, $2 the pauses after the first attempts, ms; the last for all that follow. A
 * place hears in order what begins and ends about one thing, so that the last it heard of that is how it is; what it does not take of
 * one thing holds up no other one. Indexes: alert_messages_due, the primary key of alerts.
 */
const BEGIN = `
with due as (
  update alert_messages m
     set attempts = m.attempts + 1,
         next_at = now() + ($2::float8[])[least(m.attempts + 1, cardinality($2::float8[]))] * interval '1 millisecond'
   where m.id = (select f.id
                   from alert_messages f
                   join alerts a on a.id = f.alert_id
                  where f.place = $1
                    and f.sent_at is null
                    and f.given_up_at is null
                    and f.next_at <= now()
                    and not exists (select
                                      from alert_messages e
                                      join alerts b on b.id = e.alert_id
                                     where e.place = f.place
                                       and b.kind = a.kind
                                       and b.about = a.about
                                       and e.id < f.id
                                       and e.sent_at is null
                                       and e.given_up_at is null)
                  order by f.id
                  limit 1)
     and m.next_at <= now()
     and m.sent_at is null
     and m.given_up_at is null
  returning m.id, m.alert_id, m.event, m.attempts)
select d.id, d.alert_id as "alertId", d.event, d.attempts,
       a.kind, a.about, a.level, a.text, a.hint, a.since, a.over_at as "overAt",
       g.instance_code as "instanceCode"
  from due d
  join alerts a on a.id = d.alert_id
 cross join ledger g`;

/**
 * Begins an attempt to send a place its next message; undefined when none is due. It is written down first: what is not recorded as
 * sent, because the daemon died or the ledger takes nothing, is tried again after a pause and not at once.
 */
export async function beginAlertMessage(
  pool: pg.Pool,
  place: string,
  pausesMs: readonly number[],
): Promise<AlertMessage | undefined> {
  return (await list<AlertMessage>(pool, BEGIN, [place, pausesMs]))[0];
}

const SENT = "update alert_messages set sent_at = now(), failure = null where id = $1";

/** Writes down that a message got to its place. */
export async function recordAlertSent(pool: pg.Pool, id: number): Promise<void> {
  await run(pool, SENT, [id]);
}

/** $1 id, $2 why, $3 ms from when it was made until it is given up. Index: the primary key. */
const FAILED = `
update alert_messages
   set failure = $2,
       given_up_at = case when created_at < now() - $3 * interval '1 millisecond' then now() end
 where id = $1
returning given_up_at is not null as "isGivenUp"`;

/**
 * Writes down that a message did not get to its place.
 *
 * @returns whether it is given up, since it was made longer ago than that
 */
export async function recordAlertFailed(
  pool: pg.Pool,
  id: number,
  failure: string,
  giveUpAfterMs: number,
): Promise<boolean> {
  const [row] = await run<{ isGivenUp: boolean }>(pool, FAILED, [id, failure, giveUpAfterMs]);
  return row?.isGivenUp === true;
}

/** $1 alert ids. Index: alert_messages_alert_id_place_event_key. */
const DELIVERIES = `
select m.alert_id as "alertId", m.place, m.event, m.attempts, m.sent_at as "sentAt",
       m.given_up_at as "givenUpAt", m.failure
  from alert_messages m
 where m.alert_id = any($1::bigint[])
 order by m.id`;

/** What was sent of alerts, in order. */
export function listAlertDeliveries(pool: pg.Pool, alertIds: readonly number[]): Promise<AlertDelivery[]> {
  return list<AlertDelivery>(pool, DELIVERIES, [alertIds]);
}

/** $1 places. Index: alert_messages_due. */
const DROP_OTHERS = `
update alert_messages
   set given_up_at = now(), failure = 'the configuration no longer names this place'
 where sent_at is null
   and given_up_at is null
   and not place = any($1::text[])`;

/** Gives up what waits for places that the configuration does not name. */
export async function giveUpOtherPlaces(pool: pg.Pool, places: readonly string[]): Promise<void> {
  await run(pool, DROP_OTHERS, [places]);
}
