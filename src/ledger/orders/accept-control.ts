import type pg from "pg";
import { isControlOnly } from "../../core/mapped-message.ts";
import type { Order } from "../../core/order.ts";
import { type ControlAct, decideControl } from "../../core/order-control.ts";
import { isReportedByReply, type MessageDraft } from "../messages/record.ts";
import { recordOutcomes } from "../results/outcomes.ts";
import { cancelledHere, changeOrdersWithin, LOOKED_FOR_FIRST, type OrderChange } from "./change.ts";
import { answerRequests, insertRequests, type NewControlRequest } from "./control-requests.ts";
import { type ControlledOrder, chooseOrders, type PlacedRequest } from "./controlled-orders.ts";
import { recordEvents } from "./events.ts";
import { planCancels } from "./new-calls.ts";
import { digestOrder, replaceContent } from "./row.ts";

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
    from again a),
referred as (
  insert into outcome_orders (outcome_id, order_id)
  select a.id, s.order_id
    from again a
    join outcome_orders s on s.outcome_id = a.first_id
   order by s.order_id, a.id)
select distinct a.message_id as id
  from again a`;

/** The orders that messages named; $1 bigint[]. Index: control_requests (message_id, position). */
const NAMED_ORDERS = `
select distinct c.message_id as "messageId", c.order_id as "orderId"
  from control_requests c
 where c.message_id = any ($1)
   and c.order_id is not null`;

const requestsOf = ({ record }: Pick<MessageDraft, "record">) => record.controlRequests ?? [];

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
  const answered = new Set<number>();
  if (fresh.length > 0) for (const id of await carryOut(client, connector, fresh)) answered.add(id);
  if (repeated.length > 0) {
    const repeats = repeated.map((draft) => ({ message_id: draft.messageId, first_id: draft.duplicateOf }));
    const { rows } = await client.query<{ id: number }>(REPEAT_ANSWERS, [JSON.stringify(repeats)]);
    for (const { id } of rows) answered.add(id);
  }
  await acknowledge(
    client,
    connector,
    asking.filter((draft) => !answered.has(draft.messageId)),
  );
}

/** Messages that bring nothing else and of which all stays open. */
async function acknowledge(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly MessageDraft[],
): Promise<void> {
  // Over a connection, or in the response to a batch, the message itself is acknowledged there.
  const unanswered = drafts.filter(
    (draft) => isControlOnly(draft.record) && !draft.record.isAnsweredInBatch && !isReportedByReply(draft),
  );
  if (unanswered.length === 0) return;
  const sourceOf = ({ duplicateOf, messageId }: MessageDraft) => duplicateOf ?? messageId;
  const { rows } = await client.query<{ messageId: number; orderId: number }>(NAMED_ORDERS, [
    unanswered.map(sourceOf),
  ]);
  await recordOutcomes(
    client,
    unanswered.map((draft) => ({
      connector,
      message_id: draft.messageId,
      order_ids: rows.filter((row) => row.messageId === sourceOf(draft)).map(({ orderId }) => orderId),
      kind: "acknowledged",
      payload: { orders: [], isDuplicate: draft.duplicateOf !== undefined },
    })),
  );
}

/** What requests do to one order, in their sequence, and how it then stands. */
interface Effects {
  readonly before: ControlledOrder;
  now: ControlledOrder;
  readonly acts: ControlAct[];
  /** The service is to be looked at for it first. */
  isForgotten: boolean;
  readonly contents: Order[];
}

/**
 * Decides requests in the sequence in which they came, each by what those before it lead to, and does what they ask for.
 *
 * @returns the messages of which something is decided, and so answered
 */
async function carryOut(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly MessageDraft[],
): Promise<number[]> {
  const placed = drafts.flatMap((draft) =>
    requestsOf(draft).map(
      (request, index): PlacedRequest => ({ request, messageId: draft.messageId, position: index + 1 }),
    ),
  );
  const effectsById = new Map<number, Effects>();
  const decided: NewControlRequest[] = [];
  const toCall = new Set<number>();
  for (const { request, messageId, position, order, refusal } of await chooseOrders(
    client,
    connector,
    placed,
  )) {
    const { control, placerOrderNumber, fillerNumber, content } = request;
    const effects =
      order &&
      (effectsById.get(order.id) ?? {
        ...{ before: order, now: order, acts: [], contents: [], isForgotten: false },
      });
    const digest = content && digestOrder(content);
    const facts = effects && { ...effects.now, isSame: digest === effects.now.digest };
    // Whether the cancel call is offered is the configuration's word; the job that makes it asks there.
    const decision = refusal ? { kind: "unable" as const, refusal } : decideControl(control, facts, true);
    if (effects && decision.kind === "act") {
      effects.acts.push(decision.act);
      if (decision.act === "change" && content) effects.contents.push(content);
      effects.now = after(effects.now, decision.act, digest);
      effectsById.set(effects.before.id, effects);
    } else if (effects && "isForgotten" in decision) {
      effects.isForgotten = true;
      effects.now = { ...effects.now, isCalled: true };
      effectsById.set(effects.before.id, effects);
    }
    if (effects && decision.kind === "call") toCall.add(effects.before.id);
    decided.push({
      ...{ connector, messageId, position, control, placerOrderNumber, fillerNumber, orderId: order?.id },
      refusal: decision.kind === "unable" ? decision.refusal : undefined,
      isOpen: decision.kind === "wait" || decision.kind === "call",
    });
  }
  await insertRequests(client, `connector ${connector}`, decided);
  await planCancels(client, [...toCall]);
  const all = [...effectsById.values()];
  for (const { before, contents } of all) {
    for (const content of contents) await replaceContent(client, before.id, content);
  }
  await recordEvents(
    client,
    all.flatMap(({ before: { id: orderId }, acts }) =>
      acts.flatMap((act) => (act === "cancel" ? [] : [{ orderId, ...EVENT_BY_ACT[act] }])),
    ),
  );
  await changeOrdersWithin(client, all.map(toChange));
  const closed = decided.filter(({ isOpen }) => !isOpen);
  await answerRequests(client, closed);
  return closed.flatMap(({ messageId }) => messageId ?? []);
}

const EVENT_BY_ACT = {
  hold: { kind: "held" },
  release: { kind: "released" },
  change: { kind: "changed", toState: "received" },
} as const;

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
function toChange({ before, now, acts, isForgotten }: Effects): OrderChange {
  const common = { orderId: before.id, from: [before.state], isHeld: now.isHeld };
  if (isForgotten) return { ...common, ...LOOKED_FOR_FIRST };
  if (now.state === "cancelled") return { ...cancelledHere(before.id), ...common };
  if (acts.includes("change")) {
    return { ...common, to: "received", failure: null, attempts: 0, nextInMs: 0, isTakenBack: true };
  }
  if (now.isHeld && !before.isHeld) {
    return { ...common, ...(now.state === "received" ? { to: "received", isTakenBack: true } : {}) };
  }
  return { ...common, nextInMs: 0 };
}
