import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import type { Surface } from "../../core/surface.ts";
import { type Queryable, run } from "../database.ts";
import { insertOrderOutcomes } from "./change.ts";
import { recordEvents } from "./events.ts";
import { type Intent, type LedgerOrder, listOrderRows, ORDER_COLUMNS } from "./row.ts";

/**
 * $1 batch, $2 the worker. Nothing is returned for a stale job or orders in other hands: an order that is to be reconciled
 * is there only where it was handed over again, since its lane may have another one in hand by now. To reconcile
 * is no further attempt: what is tried after it has failed no more often. Index: orders_batch.
 */
const CLAIM = `
update orders o
   set state = 'submitting',
       owner = $2,
       fence = nextval('fences'),
       handed_over_at = null,
       attempts = o.attempts + case when o.intent is null then 1 else 0 end
 where o.batch = $1
   and (o.state = 'queued' or (o.state = 'submitting' and o.owner is null and o.handed_over_at is not null))
returning ${ORDER_COLUMNS}`;

/**
 * Intents before their calls; $1 JSON array of {@link NewIntent}s; an order that is sent again is looked for once more after
 * `recheckMs`. Index: the primary key.
 */
const RECORD_INTENTS = `
update orders o
   set intent = x.intent,
       intent_at = now(),
       left_by = null,
       checks = 0,
       failed_checks = 0,
       is_refused = false,
       -- Of a try before: what is kept of this one is said of its call.
       failure_code = null,
       failure_text = null,
       is_repost_approved = false,
       is_changed = o.is_changed and x.intent <> 'request',
       -- What was there before the first call shows for good what a call may have made, until the surface or the content is another one.
       known_request_ids = case when x.intent <> 'request' or (o.called_at is not null and o.surface = x.surface and not o.is_changed)
                                then o.known_request_ids
                                else x."knownRequestIds" end,
       called_at = case when x.intent <> 'request' or (o.called_at is not null and o.surface = x.surface and not o.is_changed) then o.called_at
                        else now() end,
       -- A person who has it sent as it was changed has seen what its former call made.
       recheck_at = case when x.intent = 'request' and o.is_changed and o.is_repost_approved then null
                         when x.intent = 'request' and o.called_at is not null and o.surface = x.surface and not o.is_changed
                         then now() + x."recheckMs" * interval '1 millisecond'
                         else o.recheck_at end,
       -- The two surfaces number what they make each in their own way.
       former_ids = case when x.surface is null or x.surface = o.surface then o.former_ids else '{}' end,
       surface = coalesce(x.surface, o.surface),
       subject_id = case when x.intent = 'request' then x."subjectId" else o.subject_id end,
       sent = coalesce(x.body, o.sent)
  from jsonb_to_recordset($1::jsonb) as x("orderId" bigint, fence bigint, intent text, "knownRequestIds" bigint[], body jsonb,
                                              surface text, "recheckMs" double precision,
                                              "subjectId" bigint)
 where o.id = x."orderId"
   and o.fence = x.fence
   and o.state = 'submitting'
returning o.id, o.intent_at`;

const TOO_OFTEN = "ORDER_TRIED_TOO_OFTEN";

/**
 * What workers that ended left in hand, and what this one has given up; $1 fences that this one's jobs gave up, $2 interruptions
 * in a row after which a person is asked, since an order whose every
 * attempt ends its worker must not go round for ever, $3 the words for that person, $4 this worker, $5 its batches whose claim
 * was not answered. A new fence shuts out a worker that wakes up late. Indexes: orders_in_hand, the workers' primary key.
 */
const RELEASE_ABANDONED = `
update orders
   set state = case when interruptions + 1 >= $2 then 'parked' when intent is null then 'received' else state end,
       failure_code = case when interruptions + 1 >= $2 then '${TOO_OFTEN}' else failure_code end,
       failure_text = case when interruptions + 1 >= $2 then $3 else failure_text end,
       changed_at = case when interruptions + 1 >= $2 or intent is null then now() else changed_at end,
       interruptions = interruptions + 1,
       -- An attempt that came to its call is one; and a look that was interrupted had not been counted as any.
       attempts = case when intent is null then greatest(attempts - 1, 0) else attempts end,
       -- A worker makes no call that long after its last heartbeat.
       left_by = case when intent is null then null
                      else coalesce(left_by, least(now(), (select w.heartbeat_at + interval '1 minute'
                                                             from workers w
                                                            where w.id = owner)), now()) end,
       owner = null,
       fence = nextval('fences'),
       next_at = now()
 where state = 'submitting'
   and owner is not null
   and (not exists (
          select 1
            from workers w
           where w.id = owner
             and w.ended_at is null)
        or fence = any ($1)
        or (owner = $4 and batch = any ($5)))
returning id, state`;

/** An order that was interrupted so often is a person's business. */
const MOST_INTERRUPTIONS = 20;
const INTERRUPTED_TEXT = "every attempt was interrupted before it came to an end";

/** Takes what of a batch still waits for this worker, in ascending order of the orders' ids. */
export async function claimBatch(pool: pg.Pool, batch: number, workerId: number): Promise<LedgerOrder[]> {
  const orders = await listOrderRows(pool, CLAIM, [batch, workerId]);
  return orders.sort((a, b) => a.id - b.id);
}

/** A call that changes the service and is about to leave. */
export interface NewIntent {
  readonly orderId: number;
  readonly fence: number;
  readonly intent: Intent;
  readonly knownRequestIds: readonly number[];
  /** What is sent, for the record; undefined for a subject. */
  readonly body: unknown;
  /** The service's id of the request's subject, as far as it was asked for. */
  readonly subjectId?: number | undefined;
  /** Where a request goes; a lost call is reconciled there, whatever the configuration says by then. */
  readonly surface?: Surface | undefined;
  /** When an order that is sent again is looked for once more, ms from now. */
  readonly recheckMs?: number | undefined;
  /** Whether it is only written down while no label of the order is another subject's. */
  readonly needsFreeLabels?: boolean | undefined;
}

/**
 * Writes down that calls which change the service are about to leave, in a transaction of the caller's.
 *
 * @returns when, by the database's clock, by order id. An order that isn't there is no longer this worker's: nothing may
 * be sent for it.
 */
export async function recordIntents(
  client: Queryable,
  intents: readonly NewIntent[],
): Promise<ReadonlyMap<number, Date>> {
  if (intents.length === 0) return new Map();
  const { rows } = await client.query<{ id: number; intent_at: Date }>(RECORD_INTENTS, [
    JSON.stringify(intents),
  ]);
  return new Map(rows.map(({ id, intent_at }) => [id, intent_at]));
}

/** What a worker has in hand that none of its jobs works on: by fence, or by batch where the claim was not answered. */
export interface AbandonedOrders {
  readonly fences: readonly number[];
  readonly claims: readonly number[];
}

interface Released {
  id: number;
  state: OrderState;
}

/**
 * Takes back what a worker's jobs gave up, and what workers that ended left in hand, within a transaction of the caller's; gives
 * how many orders. Those whose call may have left are reconciled; the others wait for their turn again.
 */
export async function releaseAbandoned(
  client: pg.PoolClient,
  workerId: number,
  { fences, claims }: AbandonedOrders = { fences: [], claims: [] },
): Promise<number> {
  const values = [fences, MOST_INTERRUPTIONS, INTERRUPTED_TEXT, workerId, claims];
  const { rows } = await client.query<Released>(RELEASE_ABANDONED, values);
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

/** The order's intent as it stands; $1 id, $2 fence. */
const FIND_INTENT = `
select intent
  from orders
 where id = $1
   and fence = $2
   and state = 'submitting'`;

/** The intent of an order in this worker's hands, or "not ours" when another has it. */
export async function findIntent(
  pool: pg.Pool,
  orderId: number,
  fence: number | undefined,
): Promise<Intent | undefined | "not ours"> {
  const [row] = await run<{ intent: Intent | null }>(pool, FIND_INTENT, [orderId, fence ?? null]);
  return row ? (row.intent ?? undefined) : "not ours";
}
