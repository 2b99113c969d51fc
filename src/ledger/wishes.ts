import type pg from "pg";
import { type CancelFacts, type CancelRefusal, decideCancel, type FillerNumber } from "../core/cancel.ts";
import { fromOrderRow, ORDER_COLUMNS, type OrderRow, snapshotOrder } from "./order-row.ts";

/** Open wishes to cancel these orders, with the orders as they stand; $1 bigint[]. Index: cancellations_open. */
const OPEN_WISHES = `
select c.order_id, c.message_id, o.state, o.intent is not null as has_intent,
       (o.request_id is not null or (o.surface = 'external' and o.procedure_id is not null)) as is_at_service
  from cancellations c
  join orders o on o.id = c.order_id
 where c.order_id = any ($1)
   and c.state in ('asked', 'under_way')
 order by c.id`;

/** Decides all open wishes of orders; $1 JSON array of {order_id, code, text}, granted without a code. Index: cancellations_open. */
const END_WISHES = `
update cancellations c
   set state = case when x.code is null then 'done' else 'unable' end,
       failure_code = x.code,
       failure_text = x.text,
       decided_at = now()
  from jsonb_to_recordset($1::jsonb) as x(order_id bigint, code text, text text)
 where c.order_id = x.order_id
   and c.state in ('asked', 'under_way')
returning c.order_id, c.message_id`;

/** Timeline entries of refusals; $1 JSON array of {order_id, code, text}. */
const INSERT_REFUSED = `
insert into order_events (order_id, kind, detail)
select x.order_id, 'cancel_refused', jsonb_build_object('code', x.code, 'text', x.text)
  from jsonb_to_recordset($1::jsonb) as x(order_id bigint, code text, text text)`;

/** Things for a person to do, each asked for once; $1 JSON array of {order_id, text}. Index: tasks_once. */
const OPEN_TASKS = `
insert into tasks (order_id, kind, text)
select x.order_id, 'cancel', x.text
  from jsonb_to_recordset($1::jsonb) as x(order_id bigint, text text)
on conflict (order_id, kind) where closed_at is null do nothing`;

/** Decided wishes of messages that the lab has not been told about; $1 bigint[]. Index: cancellations (message_id, position). */
const UNANSWERED = `
select c.id, c.message_id, c.connector, c.order_id, c.placer_order_number, c.filler_kind, c.filler_id, c.failure_code,
       c.failure_text
  from cancellations c
 where c.message_id = any ($1)
   and c.decided_at is not null
   and c.answered_at is null
 order by c.message_id, c.position
   for update`;

/** $1 bigint[]. */
const MARK_ANSWERED = "update cancellations set answered_at = now() where id = any ($1)";

/** $1 bigint[]. Index: the primary key. */
const WISHED_ORDERS = `
select ${ORDER_COLUMNS}
  from orders o
 where o.id = any ($1)`;

/** $1 JSON array of {connector, message_id, order_id, payload}. */
const INSERT_ANSWERS = `
insert into outcomes (connector, message_id, order_id, kind, payload)
select x.connector, x.message_id, x.order_id, 'cancellation', x.payload
  from rows from (jsonb_to_recordset($1::jsonb) as (connector text, message_id bigint, order_id bigint, payload jsonb))
       with ordinality as x(connector, message_id, order_id, payload, n)
 order by x.n`;

/** What the wishes to cancel some orders came to. */
export interface DecidedWishes {
  /** Orders that nothing has left of and that are wished away: the caller cancels them. */
  readonly cancellable: readonly number[];
  /** The messages of the wishes, for {@link answerWishes}. */
  readonly messageIds: readonly number[];
}

/**
 * Decides the open wishes to cancel these orders, as far as the orders' states do that: one that has ended can't be
 * cancelled any more, one that nothing has left of can. The rest stays open. The caller holds the orders' rows locked.
 */
export async function decideWishes(
  client: pg.PoolClient,
  orderIds: readonly number[],
): Promise<DecidedWishes> {
  const { rows } = await client.query<{
    order_id: number;
    message_id: number | null;
    state: CancelFacts["state"];
    has_intent: boolean;
    is_at_service: boolean;
  }>(OPEN_WISHES, [orderIds]);
  const cancellable = new Set<number>();
  const ends = new Map<number, CancelRefusal | undefined>();
  for (const { order_id: orderId, state, has_intent, is_at_service } of rows) {
    // Whether the call is offered is the configuration's word; the job that makes it asks there.
    const decision = decideCancel({ state, hasIntent: has_intent, isAtService: is_at_service }, true);
    if (decision.kind === "cancel") cancellable.add(orderId);
    if (decision.kind === "done") ends.set(orderId, undefined);
    if (decision.kind === "unable") ends.set(orderId, decision.refusal);
  }
  await endWishes(client, ends);
  return { cancellable: [...cancellable], messageIds: rows.flatMap((row) => row.message_id ?? []) };
}

/**
 * Ends the open wishes to cancel these orders, granted or refused. What is refused is a person's task, since the order
 * is not what the lab wants.
 *
 * @returns the messages of the wishes, for {@link answerWishes}
 */
export async function endWishes(
  client: pg.PoolClient,
  ends: ReadonlyMap<number, CancelRefusal | undefined>,
): Promise<number[]> {
  if (ends.size === 0) return [];
  const list = [...ends].map(([orderId, refusal]) => ({ order_id: orderId, ...refusal }));
  const { rows } = await client.query<{ order_id: number; message_id: number | null }>(END_WISHES, [
    JSON.stringify(list),
  ]);
  const ended = new Set(rows.map((row) => row.order_id));
  await recordRefusals(
    client,
    [...ends].flatMap(([orderId, refusal]) => (refusal && ended.has(orderId) ? [{ orderId, refusal }] : [])),
  );
  return rows.flatMap((row) => row.message_id ?? []);
}

/** Writes refused wishes into their orders' timelines and gives a person the task to see to them. */
export async function recordRefusals(
  client: pg.PoolClient,
  refused: readonly { readonly orderId: number; readonly refusal: CancelRefusal }[],
): Promise<void> {
  if (refused.length === 0) return;
  const events = refused.map(({ orderId, refusal }) => ({ order_id: orderId, ...refusal }));
  await client.query(INSERT_REFUSED, [JSON.stringify(events)]);
  const tasks = events.map(({ order_id, text }) => ({
    order_id,
    text: `this order was to be cancelled, and was not: ${text}`,
  }));
  await client.query(OPEN_TASKS, [JSON.stringify(tasks)]);
}

/** Records what the lab is to be told of decided wishes: one answer for what a message asked and is decided by now. */
export async function answerWishes(client: pg.PoolClient, messageIds: readonly number[]): Promise<void> {
  if (messageIds.length === 0) return;
  const { rows } = await client.query<WishRow>(UNANSWERED, [messageIds]);
  if (rows.length === 0) return;
  const orderIds = [...new Set(rows.flatMap((row) => row.order_id ?? []))];
  const orders = await client.query<OrderRow>(WISHED_ORDERS, [orderIds]);
  const snapshots = new Map(orders.rows.map((row) => [row.id, snapshotOrder(fromOrderRow(row))]));
  const outcomes = [...Map.groupBy(rows, (row) => row.message_id)].map(([messageId, wishes]) => {
    const named = new Set(wishes.map((wish) => wish.order_id));
    const answers = wishes.map((wish) => ({
      placerOrderNumber: wish.placer_order_number ?? undefined,
      fillerNumber: toFiller(wish),
      refusal:
        wish.failure_code === null ? undefined : { code: wish.failure_code, text: wish.failure_text ?? "" },
      // Another subject's order is not described to whoever asked for it.
      order: wish.failure_code === "CANCEL_ORDER_DIFFERS" ? undefined : snapshots.get(wish.order_id ?? 0),
    }));
    return {
      connector: wishes[0]?.connector,
      message_id: messageId,
      order_id: named.size === 1 ? [...named][0] : null,
      payload: { answers },
    };
  });
  await client.query(INSERT_ANSWERS, [JSON.stringify(outcomes)]);
  await client.query(MARK_ANSWERED, [rows.map((row) => row.id)]);
}

interface WishRow {
  id: number;
  message_id: number;
  connector: string;
  order_id: number | null;
  placer_order_number: string | null;
  filler_kind: FillerNumber["kind"] | null;
  filler_id: number | null;
  failure_code: string | null;
  failure_text: string | null;
}

function toFiller({
  filler_kind,
  filler_id,
}: Pick<WishRow, "filler_kind" | "filler_id">): FillerNumber | undefined {
  return filler_kind === null || filler_id === null ? undefined : { kind: filler_kind, id: filler_id };
}
