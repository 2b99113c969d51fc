import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import { inTransaction, list, run } from "../database.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { HAS_OPEN_CALL } from "../orders/calls.ts";
import { changeOrdersWithin } from "../orders/change.ts";
import {
  COUNT_UNCOMPARED,
  IS_RESTORED,
  IS_UNCOMPARED,
  presumeCalls,
  WATCH_DAYS,
} from "../orders/forgotten-calls.ts";

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

/** Numbers that were given since the copy was made can't be known; nobody gives that many meanwhile. */
const GAP = 1_000_000;
/** Of the numbers of result files for one input file. */
const FILE_GAP = 1_000;

/** The restore that is still seen to; nothing once it was lifted or its time is over. Index: calls_look. */
const FIND_RESTORED = `
select l.restored_at as at, l.restored_by as by, l.forgotten_since as "forgottenSince", l.restored_open as open,
       l.restored_adopted as adopted, l.restored_parked as parked, l.restored_free as free,
       l.restored_at + interval '${WATCH_DAYS} days' as "watchedUntil",
       ${COUNT_UNCOMPARED} as uncompared
  from ledger l
 where ${IS_RESTORED}`;

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
       copy_order_id = (select coalesce(max(o.id), 0) from orders o),
       copy_call_id = (select coalesce(max(k.id), 0) from calls k),
       forgotten_since = least(
         case when restore_lifted_at is null then forgotten_since end,
         $4,
         greatest(created_at,
                  (select t.occurred_at from outcomes t order by t.id desc limit 1),
                  (select k.at from calls k order by k.id desc limit 1),
                  (select m.received_at from messages m order by m.id desc limit 1))),
       restore_lifted_at = null,
       -- A mark of ours that no order has then proves that the ledger went back once more.
       mark_prefix = random_code(4)
 where restores = $5
returning epoch, restores`;

/** Whoever writes calls down comes to the ledger's row last: in the other order both would wait for each other. */
const LOCK_ORDERS = "lock table orders, calls in share row exclusive mode";

/** Every id that people and other systems see comes from one of these. $1 by how much. */
const JUMP_SEQUENCES = `
select setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + $1)
  from pg_sequences
 where schemaname = current_schema()`;

const JUMP_RESULT_NUMBERS = "update result_numbers set last_number = last_number + $1";

/**
 * Open orders that the service isn't known to have: it may have them by now. What a worker has in hand is taken back from it,
 * so that nothing is sent before the service was looked at. Index: orders_state.
 */
const TAKE_BACK_OPEN = `
update orders o
   set state = case when o.state = 'parked' then o.state else 'submitting' end,
       owner = null,
       fence = case when o.state = 'submitting' then new_fence() else o.fence end
 where o.operation in ('STORE', 'RETRIEVAL')
   and o.state in ('received', 'submitting', 'parked')
   and o.request_id is null
   and o.procedure_id is null
returning o.id, ${HAS_OPEN_CALL} as "isCalled"`;

/**
 * What calls that were open in the copy made is searched for at once, whatever was done about them since; $1 order ids. What was called for
 * something else than the order asks for now is a person's, and never adopted. Index: calls_order.
 */
const LOOK_FOR_OPEN = `
update calls k
   set look_at = now(),
       since = case when k.is_presumed then least(k.since, l.forgotten_since) else k.since end,
       left_by = case when k.is_presumed then l.restored_at else coalesce(k.left_by, l.restored_at) end
  from ledger l
 cross join orders o
 where o.id = any ($1)
   and k.order_id = o.id
   and k.mark = o.mark
   and k.kind <> 'cancel'
   and k.outcome is null`;

/** $1 how many open orders there are to look for. */
const COUNT_OPEN = `
update ledger
   set restored_open = $1,
       restored_adopted = 0,
       restored_parked = 0,
       restored_free = 0`;

/** What the service is known to have is asked about at once. Index: orders_state. */
const FOLLOW_LINKED = `
update orders
   set next_at = now()
 where state in ('submitted', 'accepted', 'in_progress')`;

/** The restore that is seen to right now; undefined when there is none. */
export async function findRestored(pool: pg.Pool): Promise<Restored | undefined> {
  return (await list<Restored>(pool, FIND_RESTORED, []))[0];
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
  const { rows: open } = await client.query<{ id: number; isCalled: boolean }>(TAKE_BACK_OPEN);
  const idsOf = (isCalled: boolean) => open.flatMap((each) => (each.isCalled === isCalled ? [each.id] : []));
  await client.query(LOOK_FOR_OPEN, [idsOf(true)]);
  await presumeCalls(client, idsOf(false));
  await client.query(COUNT_OPEN, [open.length]);
  await client.query(FOLLOW_LINKED);
  const audit = [{ target: "ledger", detail: { reason: text, restores: now.restores } }];
  await recordAudit(client, { actor: "cryobridge" }, "restore-noticed", audit);
  return { ...now, open: open.length };
}

const LIFT = `
update ledger
   set restore_lifted_at = now()
 where restored_at is not null
   and restore_lifted_at is null
returning restored_at`;

/**
 * Orders with a presumed call. Locked by a statement of its own before anything is decided, since a look or another person may be about to
 * move them on. No index: it is rare.
 */
const LOCK_PRESUMED = `
select o.id
  from orders o
 where exists (select 1
                 from calls k
                where k.order_id = o.id
                  and k.is_presumed
                  and k.outcome is null)
 order by o.id
   for update`;

/** A person says that nothing is there of all that a restored ledger may have forgotten; $1 order ids. Index: calls_order. */
const END_PRESUMED = `
update calls k
   set outcome = 'nothing',
       ended_at = now(),
       look_at = null,
       is_approved = true
  from orders o
 where o.id = any ($1)
   and k.order_id = o.id
   and k.is_presumed
   and k.outcome is null
returning o.id, o.state`;

/**
 * A person has made sure that nothing is done twice: nothing more is compared with the service on account of the restore.
 *
 * @returns how many orders were not compared; undefined when there is no restore to lift
 */
export async function liftRestored(pool: pg.Pool, act: Act): Promise<number | undefined> {
  return inTransaction(pool, async (client) => {
    const { rows: counted } = await client.query<{ uncompared: number }>(
      `select ${COUNT_UNCOMPARED} as uncompared`,
    );
    if ((await client.query(LIFT)).rowCount !== 1) return undefined;
    const locked = await client.query<{ id: number }>(LOCK_PRESUMED);
    const { rows } = await client.query<{ id: number; state: OrderState }>(END_PRESUMED, [
      locked.rows.map(({ id }) => id),
    ]);
    // A cancellation that waited for this is decided now.
    await changeOrdersWithin(
      client,
      rows.map(({ id: orderId, state }) =>
        state === "submitting"
          ? { orderId, from: ["submitting"], to: "received", nextInMs: 0 }
          : { orderId, from: [state] },
      ),
    );
    const uncompared = counted[0]?.uncompared ?? 0;
    const audit = [{ target: "ledger", detail: { reason: act.reason, uncompared } }];
    await recordAudit(client, act, "release-after-restore", audit);
    return uncompared;
  });
}

/** Whether an order of the copy is still to be looked for at the service before anything may be submitted. */
export async function isUncompared(pool: pg.Pool): Promise<boolean> {
  const [row] = await run<{ is_there: boolean }>(pool, `select ${IS_UNCOMPARED} as is_there`);
  return row?.is_there === true;
}
