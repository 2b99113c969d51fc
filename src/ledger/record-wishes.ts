import type pg from "pg";
import { isCancelling, type Wish } from "../core/wish.ts";
import { settleWishesWithin } from "./change-orders.ts";
import { formatId } from "./ids.ts";
import { isToldByReply, type MessageDraft } from "./message-drafts.ts";
import { contentOf } from "./order-content.ts";
import { recordOutcomes } from "./record-outcomes.ts";
import { chooseForWishes } from "./refuse-wishes.ts";
import type { PlacedWish } from "./wished-orders.ts";
import { answerWishes, recordRefusals } from "./wishes.ts";

/** $1 connector, $2 actor, $3 JSON array of wishes. */
const INSERT_WISHES = `
insert into wishes (message_id, position, connector, control, content, order_id, placer_order_number, placer_authority,
                    filler_kind, filler_id, actor, state, failure_code, failure_text, decided_at)
select x.message_id, x.position, $1, x.control, case when x.code is null then x.content end, x.order_id,
       x.placer_order_number, x.placer_authority, x.filler_kind, x.filler_id, $2,
       case when x.code is null then 'asked' else 'unable' end, x.code, x.text,
       case when x.code is null then null else now() end
  from jsonb_to_recordset($3::jsonb)
       as x(message_id bigint, position integer, control text, content jsonb, order_id bigint, placer_order_number text,
            placer_authority jsonb, filler_kind text, filler_id bigint, code text, text text)`;

/** That somebody asked; $1 JSON array of {order_id, kind, detail}. */
const INSERT_ASKED = `
insert into order_events (order_id, kind, detail)
select x.order_id, x.kind, x.detail
  from jsonb_to_recordset($1::jsonb) as x(order_id bigint, kind text, detail jsonb)`;

/** $1 actor, $2 JSON array of {action, target, detail}. */
const INSERT_AUDIT = `
insert into audit (actor, action, target, detail)
select $1, x.action, x.target, x.detail
  from jsonb_to_recordset($2::jsonb) as x(action text, target text, detail jsonb)`;

/**
 * Messages that bring wishes alone, and of whose wishes none is answered yet, with the orders that these name; $1 bigint[].
 * Indexes: outcomes_message, wishes (message_id, position).
 */
const UNACKNOWLEDGED = `
select m.id, m.connector,
       (select coalesce(array_agg(distinct w.order_id), '{}')
          from wishes w
         where w.message_id = coalesce(m.duplicate_of, m.id)
           and w.order_id is not null) as order_ids
  from messages m
 where m.id = any ($1)
   and not exists (select 1
                     from outcomes t
                    where t.message_id = m.id
                      and t.kind in ('acknowledged', 'wishes'))
 order by m.id`;

/**
 * The answers that a message got are given to its repetition as well, as of then; $1 JSON array of {message_id, first_id}.
 * Indexes: outcomes_message, the primary key of outcome_orders.
 */
const REPEAT_ANSWERS = `
with again as materialized (
  select nextval(pg_get_serial_sequence('outcomes', 'id')) as id, a.*
    from (select x.message_id, t.id as first_id, t.connector, t.order_id, t.kind, t.payload, t.occurred_at
            from jsonb_to_recordset($1::jsonb) as x(message_id bigint, first_id bigint)
            join outcomes t on t.message_id = x.first_id and t.kind = 'wishes'
           order by x.message_id, t.id) a),
told as (
  insert into outcomes (id, connector, message_id, order_id, kind, payload, occurred_at)
  select a.id, a.connector, a.message_id, a.order_id, a.kind, a.payload, a.occurred_at
    from again a)
insert into outcome_orders (outcome_id, order_id)
select a.id, s.order_id
  from again a
  join outcome_orders s on s.outcome_id = a.first_id
 order by s.order_id, a.id`;

/** Whether a message brings nothing but wishes about earlier orders: then their answers answer it. */
export function onlyWishes({ record }: Pick<MessageDraft, "record">): boolean {
  return record.orders.length === 0 && (record.wishes ?? []).length > 0;
}

/**
 * Takes up what messages want of earlier orders, in the transaction that takes them in and after their own orders: what can be
 * decided is decided and answered at once, the rest is acknowledged. A message that was had before gets the answers of
 * that time again, and does nothing.
 */
export async function recordWishes(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly MessageDraft[],
): Promise<void> {
  const asking = drafts.filter(
    ({ record, verdict }) =>
      (record.wishes ?? []).length > 0 && (verdict === "accepted" || verdict === "duplicate"),
  );
  if (asking.length === 0) return;
  const [fresh, repeated] = [
    asking.filter((draft) => draft.duplicateOf === undefined),
    asking.filter((draft) => draft.duplicateOf !== undefined),
  ];
  if (fresh.length > 0) await takeWishes(client, connector, fresh);
  const repeats = repeated.map((draft) => ({ message_id: draft.messageId, first_id: draft.duplicateOf }));
  if (repeats.length > 0) await client.query(REPEAT_ANSWERS, [JSON.stringify(repeats)]);
  for (const [list, isRepeat] of [
    [fresh, false],
    [repeated, true],
  ] as const) {
    // Over a connection, or in the response to a batch, the message itself is acknowledged there.
    const unanswered = list.filter(
      (draft) => onlyWishes(draft) && !draft.record.isAnsweredInBatch && !isToldByReply(draft),
    );
    const messageIds = unanswered.map((draft) => draft.messageId);
    if (messageIds.length > 0) await acknowledge(client, messageIds, isRepeat);
  }
}

async function acknowledge(
  client: pg.PoolClient,
  messageIds: readonly number[],
  isDuplicate: boolean,
): Promise<void> {
  const { rows } = await client.query<{ id: number; connector: string; order_ids: number[] }>(
    UNACKNOWLEDGED,
    [messageIds],
  );
  await recordOutcomes(
    client,
    rows.map(({ id, connector, order_ids }) => ({
      ...{ connector, order_ids },
      message_id: id,
      kind: "acknowledged",
      payload: { orders: [], isDuplicate },
    })),
  );
}

async function takeWishes(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly MessageDraft[],
): Promise<void> {
  const wishes = drafts.flatMap(({ record, messageId }) =>
    (record.wishes ?? []).map((wish, index): PlacedWish => ({ wish, messageId, position: index + 1 })),
  );
  const placed = await chooseForWishes(client, connector, wishes);
  const actor = `connector ${connector}`;
  const rows = placed.map(({ wish, messageId, position, orderId, refusal }) => ({
    message_id: messageId,
    position,
    control: wish.control,
    content: wish.content && contentOf(wish.content),
    order_id: orderId,
    placer_order_number: wish.placerOrderNumber,
    placer_authority: wish.placerAuthority,
    filler_kind: wish.fillerNumber?.kind,
    filler_id: wish.fillerNumber?.id,
    ...refusal,
  }));
  await client.query(INSERT_WISHES, [connector, actor, JSON.stringify(rows)]);
  const known = placed.flatMap((each) =>
    each.orderId === undefined ? [] : [{ ...each, orderId: each.orderId }],
  );
  await recordAsked(
    client,
    actor,
    known.map(({ wish, orderId, messageId }) => ({
      orderId,
      control: wish.control,
      detail: { by: actor, messageId: formatId("m", messageId) },
    })),
  );
  await recordRefusals(
    client,
    known.flatMap(({ wish, orderId, refusal }) =>
      refusal ? [{ orderId, control: wish.control, refusal }] : [],
    ),
  );
  await settleWishesWithin(
    client,
    known.map(({ orderId }) => orderId),
  );
  await answerWishes(
    client,
    drafts.map((draft) => draft.messageId),
  );
}

/** Notes in timelines and audit what is wanted of orders; a question for their state is not noted. */
export async function recordAsked(
  client: pg.PoolClient,
  actor: string,
  asked: readonly {
    readonly orderId: number;
    readonly control: Wish["control"];
    readonly detail: Readonly<Record<string, unknown>>;
  }[],
): Promise<void> {
  const wanted = asked.filter(({ control }) => control !== "status");
  if (wanted.length === 0) return;
  const events = wanted.map(({ orderId, control, detail }) => ({
    order_id: orderId,
    kind: isCancelling(control) ? "cancel_asked" : "control_asked",
    detail: { ...detail, control },
  }));
  await client.query(INSERT_ASKED, [JSON.stringify(events)]);
  const targets = wanted.map(({ orderId, control, detail: { by: _by, ...detail } }) => ({
    action: control,
    target: formatId("o", orderId),
    detail,
  }));
  await client.query(INSERT_AUDIT, [actor, JSON.stringify(targets)]);
}
