import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import { run } from "../database.ts";
import { counts } from "../workers/alive.ts";
import { type CallKind, HAS_OPEN_CALL } from "./calls.ts";
import { insertOrderOutcomes } from "./change.ts";
import { recordEvents } from "./events.ts";

const TOO_OFTEN = "ORDER_TRIED_TOO_OFTEN";

/**
 * What workers that ended left in hand, and what the ledger has for this one's that it doesn't work on: it could not be given back, or the
 * claim was not answered; $1 this worker, $2 the fences of what it works on. Also what nobody has in hand and nobody looks for: there is no way
 * to that, and it would lie for ever. Indexes: orders_state, the workers' primary key, calls_order.
 */
const IS_ABANDONED = `
       o.state = 'submitting'
   and case
         when o.owner is null
         then not exists (
           select 1
             from calls k
            where k.order_id = o.id
              and k.kind <> 'cancel'
              and k.outcome is null
              and k.look_at is not null)
         else not ${counts("o.owner")} or (o.owner = $1 and o.fence <> all ($2))
       end`;

/** Locked by a statement of its own: a statement that waits for an order still sees its calls as they were before. */
const LOCK_ABANDONED = `
select o.id
  from orders o
 where ${IS_ABANDONED}
 order by o.id
   for update of o`;

/** How often in a row order `o` was interrupted: since it last moved in another way. Index: the primary key of order_events. */
const INTERRUPTIONS = `
(select count(*)
   from order_events e
  where e.order_id = o.id
    and e.kind = 'interrupted'
    and e.id > coalesce((select max(f.id)
                           from order_events f
                          where f.order_id = o.id
                            and f.to_state is not null
                            and f.kind <> 'interrupted'), 0))`;

/**
 * $3 order ids, $4 interruptions in a row after which a person is asked, since an order whose every attempt ends its worker must not go
 * round for ever, $5 the words for that person, $6 and $7 what is said of a call that was under way. Another one may have released
 * them while they were waited for. A new fence shuts out a worker that wakes up late. Indexes: the primary key, calls_order.
 */
const RELEASE_ABANDONED = `
with abandoned as materialized (
  select o.id, ${INTERRUPTIONS} + 1 >= $4 as "isTooOften", ${HAS_OPEN_CALL} as "isCalled"
    from orders o
   where o.id = any ($3)
     and ${IS_ABANDONED})
update orders o
   set state = case when a."isTooOften" then 'parked' when a."isCalled" then o.state else 'received' end,
       failure_code = case when a."isTooOften" then '${TOO_OFTEN}' when a."isCalled" then $6 else o.failure_code end,
       failure_text = case when a."isTooOften" then $5 when a."isCalled" then $7 else o.failure_text end,
       changed_at = case when a."isTooOften" or not a."isCalled" then now() else o.changed_at end,
       -- An attempt that came to its call is one.
       attempts = case when a."isCalled" then o.attempts else greatest(o.attempts - 1, 0) end,
       owner = null,
       fence = new_fence(),
       next_at = now()
  from abandoned a
 where o.id = a.id
returning o.id, o.state`;

/**
 * $1 order ids, $2 and $3 as $6 and $7 of {@link RELEASE_ABANDONED}. A worker makes no call that long after its last heartbeat, which
 * looks older than the call where the clock has jumped since. Index: calls_order.
 */
const RELEASE_CALLS = `
update calls k
   set left_by = coalesce(k.left_by, least(now(), (select greatest(k.at, w.heartbeat_at) + interval '1 minute'
                                                      from workers w
                                                     where w.id = k.worker_id)), now()),
       failure_code = $2,
       failure_text = $3,
       look_at = case when o.state = 'submitting' then now() end
  from orders o
 where o.id = any ($1)
   and k.order_id = o.id
   and k.kind <> 'cancel'
   and k.outcome is null`;

/** An order that was interrupted so often is a person's business. */
const MOST_INTERRUPTIONS = 20;
const INTERRUPTED_TEXT = "every attempt was interrupted before it came to an end";
const CALL_INTERRUPTED = ["SERVICE_NO_ANSWER", "the call was interrupted before its answer came"] as const;

interface Released {
  id: number;
  state: OrderState;
}

/**
 * Takes back what a worker doesn't work on though the ledger has it in its hands, and what workers that ended left, within a transaction of
 * the caller's; gives how many orders. Those whose call may have left are looked for; the others wait for their turn again.
 *
 * @param inHand the fences of the orders that the worker works on; without them only what workers that ended left is taken back
 */
export async function releaseAbandoned(
  client: pg.PoolClient,
  workerId: number,
  inHand?: readonly number[],
): Promise<number> {
  const whose = [workerId, inHand ?? null];
  const locked = await client.query<{ id: number }>(LOCK_ABANDONED, whose);
  if (locked.rows.length === 0) return 0;
  const values = [locked.rows.map(({ id }) => id), MOST_INTERRUPTIONS, INTERRUPTED_TEXT, ...CALL_INTERRUPTED];
  const { rows } = await client.query<Released>(RELEASE_ABANDONED, [...whose, ...values]);
  await client.query(RELEASE_CALLS, [rows.map(({ id }) => id), ...CALL_INTERRUPTED]);
  const parked = rows.filter((row) => row.state === "parked").map((row) => row.id);
  await recordEvents(
    client,
    rows.map(({ id: orderId, state }) =>
      state === "parked"
        ? { orderId, kind: "parked", toState: state, detail: { code: TOO_OFTEN, text: INTERRUPTED_TEXT } }
        : { orderId, kind: "interrupted", toState: state },
    ),
  );
  if (parked.length > 0) await insertOrderOutcomes(client, parked);
  return rows.length;
}

/** $1 id, $2 fence. Indexes: the primary key, calls_order. */
const FIND_CALL = `
select (select k.kind
          from calls k
         where k.order_id = o.id
           and k.kind <> 'cancel'
           and k.outcome is null) as kind
  from orders o
 where o.id = $1
   and o.fence = $2
   and o.state = 'submitting'`;

/** The open call of an order in this worker's hands, or "not ours" when another has it. */
export async function findCallInHand(
  pool: pg.Pool,
  orderId: number,
  fence: number | undefined,
): Promise<CallKind | undefined | "not ours"> {
  const [row] = await run<{ kind: CallKind | null }>(pool, FIND_CALL, [orderId, fence ?? null]);
  return row ? (row.kind ?? undefined) : "not ours";
}
