import type pg from "pg";
import { inTransaction, list, run } from "../database.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { changeOrdersWithin } from "../orders/change.ts";

/** A ledger that was found to be an older copy of itself. */
export interface Restored {
  /** When that was noticed. */
  readonly at: Date;
  /** How, for people. */
  readonly by: string;
  /** Since when facts may be missing. */
  readonly forgottenSince: Date;
  /** Open orders that there were to compare with the service, and those of them that still are. */
  readonly open: number;
  readonly uncompared: number;
  /** How comparisons ended: the service has the order's request, may have it, or has nothing of it. */
  readonly adopted: number;
  readonly parked: number;
  readonly free: number;
  /** Until when each order is compared with the service before its first call. */
  readonly watchedUntil: Date;
}

/** For so long after a restore the lab may send again what the ledger has forgotten. */
const WATCH_DAYS = 30;
/** Numbers that were given since the copy was made can't be known; nobody gives that many meanwhile. */
const GAP = 1_000_000;
/** Of the numbers of result files for one input file. */
const FILE_GAP = 1_000;

/**
 * The restore that is still seen to; nothing once it was lifted or its time is over. $1 days. Index: orders_compare.
 */
const FIND_RESTORED = `
select l.restored_at as at, l.restored_by as by, l.forgotten_since as "forgottenSince", l.restored_open as open,
       l.restored_adopted as adopted, l.restored_parked as parked, l.restored_free as free,
       l.restored_at + $1 * interval '1 day' as "watchedUntil",
       (select count(*)::integer from orders o where o.compare_at is not null) as uncompared
  from ledger l
 where l.restored_at is not null
   and l.restore_lifted_at is null
   and (l.restored_at > now() - $1 * interval '1 day'
        or exists (select 1 from orders o where o.compare_at is not null))`;

/**
 * What the ledger knows last is as old as the copy. $1 epoch at least, $2 restores before, at least, $3 how it was noticed,
 * $4 since when facts are missing at the latest, $5 restores when that was noticed.
 */
const ENTER = `
update ledger
   set epoch = greatest(epoch, $1),
       restores = greatest(restores, $2) + 1,
       restored_at = now(),
       restored_by = $3,
       forgotten_since = least(
         case when restore_lifted_at is null then forgotten_since end,
         $4,
         greatest(created_at,
                  (select e.at from order_events e order by e.id desc limit 1),
                  (select m.received_at from messages m order by m.id desc limit 1))),
       restore_lifted_at = null,
       -- A mark of ours that no order has then proves that the ledger went back once more.
       mark_prefix = random_code(4)
 where restores = $5
returning epoch, restores`;

/** Whoever writes calls down changes orders first and the ledger's row then: in the other order both would wait for each other. */
const LOCK_ORDERS = "lock table orders in share row exclusive mode";

/** Every id that people and other systems see comes from one of these. $1 by how much. */
const JUMP_SEQUENCES = `
select setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + $1)
  from pg_sequences
 where schemaname = current_schema()`;

const JUMP_RESULT_NUMBERS = "update result_numbers set last_number = last_number + $1";

/**
 * Open orders that the service isn't known to have: it may have them by now. What a worker has in hand is taken back from it,
 * so that nothing is sent that wasn't compared. Index: orders_state.
 */
const MARK_OPEN = `
with marked as (
  update orders
     set compare_at = now(),
         state = case when state = 'queued' or (state = 'submitting' and intent is null) then 'received' else state end,
         owner = null,
         handed_over_at = null,
         fence = case when state in ('queued', 'submitting') then nextval('fences') else fence end
   where operation in ('STORE', 'RETRIEVAL')
     and state in ('received', 'queued', 'submitting', 'parked')
     and request_id is null
     and (surface is distinct from 'external' or procedure_id is null)
  returning id)
update ledger
   set restored_open = (select count(*) from marked),
       restored_adopted = 0,
       restored_parked = 0,
       restored_free = 0
returning restored_open`;

/** What the service is known to have is asked about at once. Index: orders_state. */
const FOLLOW_LINKED = `
update orders
   set next_at = now()
 where state in ('submitted', 'accepted', 'in_progress')`;

/** The restore that is seen to right now; undefined when there is none. */
export async function findRestored(pool: pg.Pool): Promise<Restored | undefined> {
  return (await list<Restored>(pool, FIND_RESTORED, [WATCH_DAYS]))[0];
}

/** Index: orders_state. */
const MAY_BE_THERE = `
select count(*)::integer as count
  from orders o
 where o.state = 'parked'
   and o.request_id is null
   and o.failure_code in ('SUBMIT_FORGOTTEN_REQUEST', 'ORDER_CONTAINER_STORED_ALREADY', 'SUBMIT_UNCERTAIN')`;

/** How many orders are parked since what they ask for may be at the service already. */
export async function countMayBeThere(pool: pg.Pool): Promise<number> {
  const [row] = await run<{ count: number }>(pool, MAY_BE_THERE, []);
  return row?.count ?? 0;
}

/** How it was noticed that a ledger is an older copy. */
export interface NoticedRestore {
  readonly text: string;
  readonly forgottenSince?: Date | undefined;
  /** As the file has them, 0 without one; the ledger's own, if higher, count. */
  readonly epoch: number;
  readonly restores: number;
  /** How many restores the ledger itself knew of when it was noticed. */
  readonly after: number;
}

/** The ledger's epoch and count of restores from now on, and the orders to compare. */
interface EnteredRestore {
  readonly epoch: number;
  readonly restores: number;
  readonly open: number;
}

/**
 * Has the ledger go on as the older copy that it was found to be: no number that it may have given before is given again,
 * each open order is to be compared with the service before anything is submitted, and what the service is known to have is
 * asked about.
 *
 * @returns undefined when another worker was first, and nothing was done
 */
export async function enterRestored(
  pool: pg.Pool,
  noticed: NoticedRestore,
): Promise<EnteredRestore | undefined> {
  return inTransaction(pool, async (client) => {
    await client.query(LOCK_ORDERS);
    return enterRestoredWithin(client, noticed);
  });
}

/** The same within a transaction that has locked the orders. */
export async function enterRestoredWithin(
  client: pg.PoolClient,
  { epoch, restores, text, forgottenSince, after }: NoticedRestore,
): Promise<EnteredRestore | undefined> {
  const entered = await client.query<{ epoch: number; restores: number }>(ENTER, [
    epoch,
    restores,
    text,
    forgottenSince ?? null,
    after,
  ]);
  const now = entered.rows[0];
  if (!now) return undefined;
  await client.query(JUMP_SEQUENCES, [GAP * now.restores]);
  await client.query(JUMP_RESULT_NUMBERS, [FILE_GAP * now.restores]);
  const marked = await client.query<{ restored_open: number }>(MARK_OPEN);
  await client.query(FOLLOW_LINKED);
  const audit = [{ target: "ledger", detail: { reason: text, restores: now.restores } }];
  await recordAudit(client, { actor: "cryobridge" }, "restore-noticed", audit);
  return { ...now, open: marked.rows[0]?.restored_open ?? 0 };
}

const LIFT = `
update ledger
   set restore_lifted_at = now()
 where restored_at is not null
   and restore_lifted_at is null
returning restored_at`;

/** Orders to compare of which the lab wants something that isn't decided yet. Indexes: orders_compare, control_requests_open. */
const UNCOMPARED_WITH_REQUEST = `
select o.id
  from orders o
 where o.compare_at is not null
   and exists (select 1 from control_requests c where c.order_id = o.id and c.state = 'open')
 order by o.id
   for update`;

/** Index: orders_compare. */
const COMPARE_NONE = "update orders set compare_at = null where compare_at is not null returning id";

/**
 * A person has made sure that nothing is done twice: nothing more is compared with the service on account of the restore.
 *
 * @returns how many orders were not compared; undefined when there is no restore to lift
 */
export async function liftRestored(pool: pg.Pool, act: Act): Promise<number | undefined> {
  return inTransaction(pool, async (client) => {
    if ((await client.query(LIFT)).rowCount !== 1) return undefined;
    // A cancellation that waited for the comparison is decided now.
    const { rows } = await client.query<{ id: number }>(UNCOMPARED_WITH_REQUEST);
    await changeOrdersWithin(
      client,
      rows.map(({ id }) => ({ orderId: id, isCompared: true })),
    );
    const { rowCount } = await client.query(COMPARE_NONE);
    const uncompared = (rowCount ?? 0) + rows.length;
    const audit = [{ target: "ledger", detail: { reason: act.reason, uncompared } }];
    await recordAudit(client, act, "release-after-restore", audit);
    return uncompared;
  });
}

/** Index: orders_compare. */
const IS_UNCOMPARED = "select exists (select 1 from orders where compare_at is not null) as is_there";

/** Whether an order is still to be compared with the service before anything may be submitted. */
export async function isUncompared(pool: pg.Pool): Promise<boolean> {
  const [row] = await run<{ is_there: boolean }>(pool, IS_UNCOMPARED);
  return row?.is_there === true;
}
