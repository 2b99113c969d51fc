import type pg from "pg";
import type { Order } from "../../core/order.ts";
import { type ControlAct, decideControl } from "../../core/order-control.ts";
import { cancelledHere, changeOrdersWithin, type OrderChange } from "../change-orders.ts";
import { isToldByReply, type MessageDraft } from "../message-drafts.ts";
import { digestOrder, replaceContent } from "../order-content.ts";
import { recordOutcomes } from "../record-outcomes.ts";
import { answerRequests, insertRequests, type NewControlRequest } from "./control-requests.ts";
import { type ControlledOrder, chooseOrders, type PlacedRequest } from "./controlled-orders.ts";
import { recordEvents } from "./events.ts";

/**
 * Messages that bring requests alone, and of whose requests none is answered yet, with the orders that these name; $1 bigint[].
 * Indexes: outcomes_message, control_requests (message_id, position).
 */
const UNACKNOWLEDGED = `
select m.id, m.connector,
       (select coalesce(array_agg(distinct c.order_id), '{}')
          from control_requests c
         where c.message_id = coalesce(m.duplicate_of, m.id)
           and c.order_id is not null) as order_ids
  from messages m
 where m.id = any ($1)
   and not exists (select 1
                     from outcomes t
                    where t.message_id = m.id
                      and t.kind in ('acknowledged', 'control'))
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
            join outcomes t on t.message_id = x.first_id and t.kind = 'control'
           order by x.message_id, t.id) a),
recorded as (
  insert into outcomes (id, connector, message_id, order_id, kind, payload, occurred_at)
  select a.id, a.connector, a.message_id, a.order_id, a.kind, a.payload, a.occurred_at
    from again a)
insert into outcome_orders (outcome_id, order_id)
select a.id, s.order_id
  from again a
  join outcome_orders s on s.outcome_id = a.first_id
 order by s.order_id, a.id`;

const requestsOf = ({ record }: Pick<MessageDraft, "record">) => record.controlRequests ?? [];

/** Whether a message brings nothing but requests about earlier orders: then their answers answer it. */
export function isControlOnly(draft: Pick<MessageDraft, "record">): boolean {
  return draft.record.orders.length === 0 && requestsOf(draft).length > 0;
}

/**
 * Decides what messages ask of earlier orders, in the transaction that accepts them and after their own orders. All is
 * answered at once but a cancellation that stays open, which is acknowledged. A message that was accepted before gets the
 * answers of that time again, and does nothing.
 */
export async function acceptControlRequests(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly MessageDraft[],
): Promise<void> {
  const asking = drafts.filter(
    (draft) =>
      requestsOf(draft).length > 0 && (draft.verdict === "accepted" || draft.verdict === "duplicate"),
  );
  const fresh = asking.filter((draft) => draft.duplicateOf === undefined);
  const repeated = asking.filter((draft) => draft.duplicateOf !== undefined);
  if (fresh.length > 0) await carryOut(client, connector, fresh);
  const repeats = repeated.map((draft) => ({ message_id: draft.messageId, first_id: draft.duplicateOf }));
  if (repeats.length > 0) await client.query(REPEAT_ANSWERS, [JSON.stringify(repeats)]);
  await acknowledge(client, fresh, false);
  await acknowledge(client, repeated, true);
}

async function acknowledge(
  client: pg.PoolClient,
  drafts: readonly MessageDraft[],
  isDuplicate: boolean,
): Promise<void> {
  // Over a connection, or in the response to a batch, the message itself is acknowledged there.
  const unanswered = drafts.filter(
    (draft) => isControlOnly(draft) && !draft.record.isAnsweredInBatch && !isToldByReply(draft),
  );
  if (unanswered.length === 0) return;
  const { rows } = await client.query<{ id: number; connector: string; order_ids: number[] }>(
    UNACKNOWLEDGED,
    [unanswered.map((draft) => draft.messageId)],
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

/** What requests do to one order, in their sequence, and how it then stands. */
interface Effects {
  readonly before: ControlledOrder;
  now: ControlledOrder;
  readonly acts: ControlAct[];
  readonly contents: Order[];
}

/** Decides requests in the sequence in which they came, each by what those before it lead to, and does what they ask for. */
async function carryOut(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly MessageDraft[],
): Promise<void> {
  const placed = drafts.flatMap((draft) =>
    requestsOf(draft).map(
      (request, index): PlacedRequest => ({ request, messageId: draft.messageId, position: index + 1 }),
    ),
  );
  const effectsById = new Map<number, Effects>();
  const decided: NewControlRequest[] = [];
  for (const { request, messageId, position, order, refusal } of await chooseOrders(
    client,
    connector,
    placed,
  )) {
    const { control, placerOrderNumber, fillerNumber, content } = request;
    const effects =
      order && (effectsById.get(order.id) ?? { before: order, now: order, acts: [], contents: [] });
    const digest = content && digestOrder(content);
    const facts = effects && { ...effects.now, isSame: digest === effects.now.digest };
    // Whether the cancel call is offered is the configuration's word; the job that makes it asks there.
    const decision = refusal ? { kind: "unable" as const, refusal } : decideControl(control, facts, true);
    if (effects && decision.kind === "act") {
      effects.acts.push(decision.act);
      if (decision.act === "change" && content) effects.contents.push(content);
      effects.now = after(effects.now, decision.act, digest);
      effectsById.set(effects.before.id, effects);
    }
    decided.push({
      ...{ connector, messageId, position, control, placerOrderNumber, fillerNumber, orderId: order?.id },
      refusal: decision.kind === "unable" ? decision.refusal : undefined,
      isOpen: decision.kind === "wait" || decision.kind === "call",
    });
  }
  await insertRequests(client, `connector ${connector}`, decided);
  const all = [...effectsById.values()];
  for (const { before, contents } of all) {
    for (const content of contents) await replaceContent(client, before.id, content);
  }
  await recordEvents(
    client,
    all.flatMap(({ before: { id: orderId }, acts }) =>
      acts.flatMap((act) => (act === "cancel" ? [] : [{ orderId, kind: EVENT_BY_ACT[act] }])),
    ),
  );
  await changeOrdersWithin(client, all.map(toChange));
  await answerRequests(
    client,
    decided.filter(({ isOpen }) => !isOpen),
  );
}

const EVENT_BY_ACT = { hold: "held", release: "released", change: "changed" } as const;

function after(order: ControlledOrder, act: ControlAct, digest: string | undefined): ControlledOrder {
  switch (act) {
    case "cancel":
      return { ...order, state: "cancelled" };
    case "hold":
      return { ...order, state: order.state === "parked" ? "parked" : "received", isHeld: true };
    case "release":
      return { ...order, isHeld: false };
    case "change":
      return { ...order, state: "received", digest: digest ?? order.digest };
  }
}

/** A worker that has the order in hand loses it where it is held or changed, and can neither send nor park it any more. */
function toChange({ before, now, acts }: Effects): OrderChange {
  const common = { orderId: before.id, from: [before.state], isHeld: now.isHeld };
  if (now.state === "cancelled") return { ...cancelledHere(before.id), ...common };
  if (acts.includes("change")) {
    return { ...common, to: "received", failure: null, attempts: 0, nextInMs: 0, isTakenBack: true };
  }
  if (now.isHeld && !before.isHeld) {
    return { ...common, ...(now.state === "received" ? { to: "received", isTakenBack: true } : {}) };
  }
  return { ...common, nextInMs: 0 };
}
