import type pg from "pg";
import {
  type Control,
  DONE,
  decideWish,
  type FillerNumber,
  isCancelling,
  type WishAct,
  type WishFacts,
  type WishRefusal,
} from "../core/wish.ts";
import type { OrderContent } from "./order-content.ts";
import { fromOrderRow, ORDER_COLUMNS, type OrderRow, snapshotOrder } from "./order-row.ts";
import { type NewOutcome, recordOutcomes } from "./record-outcomes.ts";
import { openTasks } from "./tasks.ts";

/** Open wishes about these orders, with the orders as they stand; $1 bigint[]. Index: wishes_open. */
const OPEN_WISHES = `
select w.id, w.order_id, w.message_id, w.control, w.content, o.state, o.intent is not null as has_intent,
       (o.request_id is not null or (o.surface = 'external' and o.procedure_id is not null)) as is_at_service,
       o.held_at is not null as is_held, encode(o.content_digest, 'hex') as content_digest
  from wishes w
  join orders o on o.id = w.order_id
 where w.order_id = any ($1)
   and w.state in ('asked', 'under_way')
 order by w.id`;

/** Open wishes to cancel an order; $1 order id. Index: wishes_open. */
const OPEN_CANCELS = `
select w.id
  from wishes w
 where w.order_id = $1
   and w.control in ('cancel', 'discontinue')
   and w.state in ('asked', 'under_way')`;

/** Decides wishes; $1 JSON array of {id, code, text}, granted without a code. Index: the primary key. */
const END_WISHES = `
update wishes w
   set state = case when x.code is null then 'done' else 'unable' end,
       failure_code = x.code,
       failure_text = x.text,
       content = null,
       decided_at = now()
  from jsonb_to_recordset($1::jsonb) as x(id bigint, code text, text text)
 where w.id = x.id
   and w.state in ('asked', 'under_way')
returning w.id, w.order_id, w.message_id, w.control`;

/** Timeline entries of refusals; $1 JSON array of {order_id, kind, detail}. */
const INSERT_REFUSED = `
insert into order_events (order_id, kind, detail)
select x.order_id, x.kind, x.detail
  from jsonb_to_recordset($1::jsonb) as x(order_id bigint, kind text, detail jsonb)`;

/** Decided wishes of messages that the lab has not been told about; $1 bigint[]. Index: wishes (message_id, position). */
const UNANSWERED = `
select w.id, w.message_id, w.connector, w.control, w.order_id, w.placer_order_number, w.filler_kind, w.filler_id,
       w.failure_code, w.failure_text
  from wishes w
 where w.message_id = any ($1)
   and w.decided_at is not null
   and w.answered_at is null
 order by w.message_id, w.position
   for update`;

/** $1 bigint[]. */
const MARK_ANSWERED = "update wishes set answered_at = now() where id = any ($1)";

/** $1 bigint[]. Index: the primary key. */
const WISHED_ORDERS = `
select ${ORDER_COLUMNS}
  from orders o
 where o.id = any ($1)`;

/** What is to be done to an order that the service doesn't have. */
export type WishEffect =
  | { readonly orderId: number; readonly act: Exclude<WishAct, "change">; readonly isInHand: boolean }
  | { readonly orderId: number; readonly act: "change"; readonly content: OrderContent };

/** What the wishes about some orders came to. */
export interface DecidedWishes {
  /** What the caller does to the orders; those of one order in this order. */
  readonly effects: readonly WishEffect[];
  /** The messages of the wishes, for {@link answerWishes}. */
  readonly messageIds: readonly number[];
}

interface OpenWishRow {
  id: number;
  order_id: number;
  message_id: number | null;
  control: Control;
  content: OrderContent | null;
  state: WishFacts["state"];
  has_intent: boolean;
  is_at_service: boolean;
  is_held: boolean;
  content_digest: string;
}

/**
 * Decides the open wishes about these orders, as far as the orders' states do that, in the order in which they came and
 * each by what those before it lead to. The rest stays open. The caller holds the orders' rows locked.
 */
export async function decideWishes(
  client: pg.PoolClient,
  orderIds: readonly number[],
): Promise<DecidedWishes> {
  const { rows } = await client.query<OpenWishRow>(OPEN_WISHES, [orderIds]);
  const standing = new Map<number, Standing>();
  const effects: WishEffect[] = [];
  const ends = new Map<number, WishRefusal | undefined>();
  for (const row of rows) {
    const now = standing.get(row.order_id) ?? standingOf(row);
    const isSame = row.content !== null && row.content.digest === now.digest;
    // Whether the cancel call is offered is the configuration's word; the job that makes it asks there.
    const decision = decideWish(row.control, { ...now.facts, isSame }, true);
    if (decision.kind === "unable") ends.set(row.id, decision.refusal);
    if (decision.kind === "done") ends.set(row.id, undefined);
    if (decision.kind !== "act") continue;
    const effect = toEffect(row, decision.act, now.facts);
    effects.push(effect);
    ends.set(row.id, undefined);
    standing.set(row.order_id, standingAfter(now, effect));
  }
  await endWishes(client, ends);
  return { effects, messageIds: rows.flatMap((row) => row.message_id ?? []) };
}

/** An order as the wishes so far leave it. */
interface Standing {
  readonly facts: WishFacts;
  readonly digest: string;
}

function standingOf(row: OpenWishRow): Standing {
  const { state, has_intent, is_at_service, is_held, content_digest: digest } = row;
  return { facts: { state, hasIntent: has_intent, isAtService: is_at_service, isHeld: is_held }, digest };
}

function toEffect(
  { id, order_id: orderId, content }: OpenWishRow,
  act: WishAct,
  { state }: WishFacts,
): WishEffect {
  if (act !== "change") return { orderId, act, isInHand: state === "queued" || state === "submitting" };
  if (content === null) throw new TypeError(`wish ${id} has nothing to change order o${orderId} to`);
  return { orderId, act, content };
}

function standingAfter({ facts, digest }: Standing, effect: WishEffect): Standing {
  switch (effect.act) {
    case "cancel":
      return { facts: { ...facts, state: "cancelled" }, digest };
    case "hold":
      return { facts: { ...facts, state: effect.isInHand ? "received" : facts.state, isHeld: true }, digest };
    case "release":
      return { facts: { ...facts, isHeld: false }, digest };
    case "change":
      return { facts: { ...facts, state: "received" }, digest: effect.content.digest };
  }
}

/** The open wishes to cancel an order: its call to the service stands for all of them. */
export async function findOpenCancels(client: pg.PoolClient, orderId: number): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>(OPEN_CANCELS, [orderId]);
  return rows.map((row) => row.id);
}

/**
 * Ends open wishes, granted or refused. What is refused is a person's task, since the order is not what the lab wants.
 *
 * @returns the messages of the wishes, for {@link answerWishes}
 */
export async function endWishes(
  client: pg.PoolClient,
  ends: ReadonlyMap<number, WishRefusal | undefined>,
): Promise<number[]> {
  if (ends.size === 0) return [];
  const list = [...ends].map(([id, refusal]) => ({ id, ...refusal }));
  const { rows } = await client.query<{
    id: number;
    order_id: number;
    message_id: number | null;
    control: Control;
  }>(END_WISHES, [JSON.stringify(list)]);
  await recordRefusals(
    client,
    rows.flatMap(({ id, order_id: orderId, control }) => {
      const refusal = ends.get(id);
      return refusal ? [{ orderId, control, refusal }] : [];
    }),
  );
  return rows.flatMap((row) => row.message_id ?? []);
}

/** A wish that was not granted. */
export interface RefusedWish {
  readonly orderId: number;
  readonly control: Control;
  readonly refusal: WishRefusal;
}

/** Writes refused wishes into their orders' timelines and gives a person the task to see to them. */
export async function recordRefusals(client: pg.PoolClient, refused: readonly RefusedWish[]): Promise<void> {
  // Who asked how an order stands wanted nothing of it.
  const wanted = refused.flatMap(({ control, ...rest }) =>
    control === "status" ? [] : [{ control, ...rest }],
  );
  if (wanted.length === 0) return;
  const events = wanted.map(({ orderId, control, refusal }) => ({
    order_id: orderId,
    kind: isCancelling(control) ? "cancel_refused" : "control_refused",
    detail: { control, ...refusal },
  }));
  await client.query(INSERT_REFUSED, [JSON.stringify(events)]);
  const tasks = wanted.map(({ orderId, control, refusal }) => ({
    orderId,
    kind: TASK_BY_CONTROL[control],
    text: `this order was to be ${DONE[control]}, and was not: ${refusal.text}`,
  }));
  await openTasks(client, tasks);
}

const TASK_BY_CONTROL = {
  cancel: "cancel",
  discontinue: "cancel",
  hold: "hold",
  release: "release",
  change: "change",
  replace: "change",
} as const;

/** Records what the lab is to be told of decided wishes: one answer for what a message asked and is decided by now. */
export async function answerWishes(client: pg.PoolClient, messageIds: readonly number[]): Promise<void> {
  if (messageIds.length === 0) return;
  const { rows } = await client.query<WishRow>(UNANSWERED, [messageIds]);
  if (rows.length === 0) return;
  const orderIds = [...new Set(rows.flatMap((row) => row.order_id ?? []))];
  const orders = await client.query<OrderRow>(WISHED_ORDERS, [orderIds]);
  const snapshots = new Map(orders.rows.map((row) => [row.id, snapshotOrder(fromOrderRow(row))]));
  const outcomes = [...Map.groupBy(rows, (row) => row.message_id)].map(([messageId, wishes]): NewOutcome => {
    const answers = wishes.map((wish) => ({
      control: wish.control,
      placerOrderNumber: wish.placer_order_number ?? undefined,
      fillerNumber: toFiller(wish),
      refusal:
        wish.failure_code === null ? undefined : { code: wish.failure_code, text: wish.failure_text ?? "" },
      // Another subject's order is not described to whoever asked for it, nor one of several that may be meant.
      order: /_ORDER_(DIFFERS|AMBIGUOUS)$/.test(wish.failure_code ?? "")
        ? undefined
        : snapshots.get(wish.order_id ?? 0),
    }));
    return {
      connector: (wishes[0] as WishRow).connector,
      message_id: messageId,
      order_ids: [...new Set(wishes.flatMap((wish) => wish.order_id ?? []))],
      kind: "wishes",
      payload: { answers },
    };
  });
  await recordOutcomes(client, outcomes);
  await client.query(MARK_ANSWERED, [rows.map((row) => row.id)]);
}

interface WishRow {
  id: number;
  message_id: number;
  connector: string;
  control: Control;
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
