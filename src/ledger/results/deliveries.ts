import type pg from "pg";
import type { FailureCode } from "../../core/failures.ts";
import type { SentResult } from "../../core/order-step.ts";
import { inTransaction, reportOnceCommitted, run } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";

/** A result that is to be sent to the lab now. Its name and bytes never change. */
export interface DueDelivery {
  readonly id: number;
  readonly fileName: string;
  readonly bytes: Buffer;
  /** Tries so far. */
  readonly attempts: number;
  /** When it was made, as the database writes it: a ledger that is put back to an older copy gives its id to another one. */
  readonly madeAt: string;
}

/**
 * Whether delivery `e` holds back later ones of its orders: the lab doesn't have it, and a person has not given it up. An
 * answer to a message holds back nothing once it is parked: a lab system that takes no answers still gets its results.
 */
const HOLDS_BACK = "e.state in ('pending', 'parked') and not (e.state = 'parked' and e.is_answer)";

/**
 * What is made before delivery `d` of one of its orders, and holds it back. Each order is a lane: the first of a lane is
 * sent, what follows waits. `offset 0` keeps it a search of its own for each delivery, by the index deliveries_lanes,
 * whatever the statistics say of a backlog that has just grown.
 */
const BEFORE = `
       from deliveries e
      where e.order_ids && d.order_ids
        and e.id < d.id
        and ${HOLDS_BACK}`;

/** The id of the first delivery that delivery `d` waits for, or null. */
export const WAITS_BEHIND = `(select min(e.id) ${BEFORE} and d.state = 'pending')`;

const IS_DUE = `d.state = 'pending'
   and d.next_at <= now()
   and not exists (select 1 ${BEFORE} offset 0)`;

/**
 * The first of each lane that are due; $1 connector, $2 how many. Indexes: deliveries_pending (which alone serves this order,
 * also when the statistics know of no backlog), deliveries_lanes.
 */
const DUE = `
select d.id, d.file_name as "fileName", d.bytes, d.attempts, d.created_at::text as "madeAt"
  from deliveries d
 where d.connector between $1 and $1
   and ${IS_DUE}
 order by d.connector, d.id
 limit $2`;

/**
 * The one that was tried least of those that are due; $1 connector. What fails by itself would else be tried again and again
 * while nothing else gets a turn. Index: deliveries_pending.
 */
const PROBE = `
select d.id, d.file_name as "fileName", d.bytes, d.attempts, d.created_at::text as "madeAt"
  from deliveries d
 where d.connector between $1 and $1
   and ${IS_DUE}
 order by d.attempts, d.id
 limit 1`;

/** Which of these connectors have something due; $1 text[]. Indexes: as above. */
const DUE_CONNECTORS = `
select c.name
  from unnest($1::text[]) as c(name)
 cross join lateral (
       select 1
         from deliveries d
        where d.connector between c.name and c.name
          and ${IS_DUE}
        order by d.connector, d.id
        limit 1) due`;

/** The lab has these, and the timelines say so, but for answers; $1 bigint[], $2 when they were made, $3 whether they are files. Indexes: the primary key, outcomes_delivery. */
const DELIVERED = `
with done as (
  update deliveries
     set state = 'delivered',
         attempts = attempts + 1,
         delivered_at = now(),
         failure_code = null,
         failure_text = null
   where id = any ($1)
     and created_at = any ($2::timestamptz[])
     and state = 'pending'
  returning id, connector, file_name, order_ids, is_answer, created_at),
 noted as (
  insert into order_events (order_id, kind, detail)
  select o.id, 'result_sent', jsonb_strip_nulls(
           jsonb_build_object('deliveryId', 'd' || done.id, 'file', case when $3 then done.file_name end))
    from done
   cross join lateral unnest(done.order_ids) as o(id)
   where not done.is_answer
   order by o.id, done.id)
select done.id as "deliveryId", done.connector, done.order_ids as "orderIds",
       extract(epoch from now() - coalesce(fact.at, done.created_at))::double precision as seconds,
       extract(epoch from now() - done.created_at)::double precision as "sendingSeconds"
  from done
  left join lateral (select min(t.occurred_at) as at from outcomes t where t.delivery_id = done.id) fact on true
 order by done.id`;

/** $1 id, $2 ms until the next try, $3 code, $4 text. Index: the primary key. */
const POSTPONE = `
update deliveries
   set attempts = attempts + 1,
       next_at = now() + $2 * interval '1 millisecond',
       failure_code = $3,
       failure_text = $4
 where id = $1
   and state = 'pending'`;

/** It will not go without a person; $1 id, $2 code, $3 text. Index: the primary key. */
const PARK = `
update deliveries
   set state = 'parked',
       attempts = attempts + 1,
       failure_code = $2,
       failure_text = $3
 where id = $1
   and state = 'pending'`;

/** Others got through since these failed; $1 bigint[], $2 with how many such failures one is parked. Index: the primary key. */
const COUNT_OWN_FAILURES = `
update deliveries
   set own_failures = own_failures + 1,
       state = case when own_failures + 1 >= $2 then 'parked' else state end,
       failure_code = case when own_failures + 1 >= $2 then 'DELIVERY_FAILS_ALONE' else failure_code end
 where id = any ($1)
   and state = 'pending'
returning id, state = 'parked' as is_parked`;

/** Those of these connectors that have a result due now. */
export async function findDueConnectors(pool: pg.Pool, connectors: readonly string[]): Promise<string[]> {
  return (await run<{ name: string }>(pool, DUE_CONNECTORS, [connectors])).map(({ name }) => name);
}

/** The next results of a connector, in the order in which they were made; never two of one order. */
export function listDueDeliveries(pool: pg.Pool, connector: string, limit: number): Promise<DueDelivery[]> {
  return run<DueDelivery & pg.QueryResultRow>(pool, DUE, [connector, limit]);
}

/** The result by which a lab that takes none is tried: the one that was tried least. */
export async function findProbe(pool: pg.Pool, connector: string): Promise<DueDelivery | undefined> {
  return (await run<DueDelivery & pg.QueryResultRow>(pool, PROBE, [connector]))[0];
}

/** Records that the lab has these; the log has it for each order. */
export async function recordDelivered(
  pool: pg.Pool,
  delivered: readonly Pick<DueDelivery, "id" | "madeAt">[],
  { areFiles }: { readonly areFiles: boolean },
): Promise<void> {
  if (delivered.length === 0) return;
  const sent = await run<SentResult & pg.QueryResultRow>(pool, DELIVERED, [
    delivered.map(({ id }) => id),
    delivered.map(({ madeAt }) => madeAt),
    areFiles,
  ]);
  reportOnceCommitted(pool, ({ logger, observer }) => {
    for (const { deliveryId, connector, orderIds } of sent) {
      const names = orderIds.length === 0 ? [{}] : orderIds.map((id) => ({ order: formatId("o", id) }));
      const delivery = formatId("d", deliveryId);
      for (const order of names) logger.info({ ...order, connector, delivery }, "result sent to the lab");
    }
    observer.resultsSent(sent);
  });
}

/** Records a try that failed for now. */
export async function postponeDelivery(
  pool: pg.Pool,
  failed: {
    readonly id: number;
    readonly nextInMs: number;
    readonly code: FailureCode;
    readonly text: string;
  },
): Promise<void> {
  await run(pool, POSTPONE, [failed.id, failed.nextInMs, failed.code, failed.text]);
}

/** Records a result that needs a person. */
export async function parkDelivery(
  pool: pg.Pool,
  delivery: { readonly id: number; readonly code: FailureCode; readonly text: string },
): Promise<void> {
  await run(pool, PARK, [delivery.id, delivery.code, delivery.text]);
}

/**
 * Counts a failure against each of these results, since others got through after it.
 *
 * @param parkAfter with how many of them a result is parked
 * @returns those that are parked now
 */
export async function countOwnFailures(
  pool: pg.Pool,
  ids: readonly number[],
  parkAfter: number,
): Promise<number[]> {
  if (ids.length === 0) return [];
  const rows = await run<{ id: number; is_parked: boolean }>(pool, COUNT_OWN_FAILURES, [ids, parkAfter]);
  return rows.flatMap((row) => (row.is_parked ? [row.id] : []));
}

/**
 * Locked until the act is recorded: a message that is being made of it at this moment is made before the act or after it.
 * $1 id.
 */
const LOCK_DELIVERY = "select from deliveries where id = $1 for update";

/** A delivery that waits or is parked is due now, and its failures are forgotten; $1 id. */
const DELIVER_NOW = `
update deliveries
   set state = 'pending',
       own_failures = 0,
       next_at = now()
 where id = $1
   and state in ('pending', 'parked')
   and bytes is not null
returning id`;

/**
 * An outcome that no message could be made of is composed again, and keeps its place among the deliveries; $1 id of the
 * delivery, which is parked until then.
 */
const COMPOSE_ANEW = `
update outcomes t
   set is_composed = false
  from deliveries d
 where d.id = $1
   and d.state = 'parked'
   and d.bytes is null
   and t.delivery_id = d.id
returning d.id`;

/** What was to be composed again is given up with its delivery; $1 id. */
const DROP_DELIVERY = `
with dropped as (
  update deliveries
     set state = 'dropped'
   where id = $1
     and state in ('pending', 'parked')
  returning id),
 unreported as (
  update outcomes
     set is_composed = true
    from dropped
   where delivery_id = dropped.id
     and not is_composed)
select id
  from dropped`;

/** Sends a result again that the lab doesn't have; false when there is nothing to send. */
export async function retryDelivery(pool: pg.Pool, deliveryId: number, act: Act): Promise<boolean> {
  return changeDelivery(pool, deliveryId, act, "retry", [DELIVER_NOW, COMPOSE_ANEW]);
}

/** Gives up a result that the lab doesn't have; false when there is nothing to give up. */
export async function dropDelivery(pool: pg.Pool, deliveryId: number, act: Act): Promise<boolean> {
  return changeDelivery(pool, deliveryId, act, "remove", [DROP_DELIVERY]);
}

/** Runs the first of the statements that fits the delivery, and writes the audit in the same transaction. */
async function changeDelivery(
  pool: pg.Pool,
  deliveryId: number,
  { actor, reason }: Act,
  action: string,
  statements: readonly string[],
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    await client.query(LOCK_DELIVERY, [deliveryId]);
    for (const statement of statements) {
      if ((await client.query(statement, [deliveryId])).rowCount === 0) continue;
      const targets = [{ target: formatId("d", deliveryId), detail: { reason } }];
      await recordAudit(client, { actor }, action, targets);
      return true;
    }
    return false;
  });
}
