import type pg from "pg";
import { isNumberTaken } from "../../core/failures.ts";
import type { MessageVerdict } from "../../core/intake.ts";
import { isControlOnly } from "../../core/mapped-message.ts";
import { endedWithoutEffect } from "../../core/order-state.ts";
import { type OrderAsRead, withCodes } from "../../core/outcome.ts";
import { list } from "../database.ts";
import { parseId } from "../ids.ts";
import { LOCK_ORDERS, type OrderSnapshot, readOrders, snapshotOrder } from "../orders/row.ts";
import { type NewOutcome, recordOutcomes } from "../results/outcomes.ts";
import { draftSnapshot, isReportedByReply, type MessageDraft } from "./record.ts";

/** Orders that messages brought or corrected; $1 bigint[]. Indexes: orders (message_id, position), the primary keys. */
const ORDER_IDS_BY_MESSAGE = `
select x."messageId", 'o' || o.id as "orderId", o.operation, o.placer_order_number as "placerOrderNumber"
  from (select message_id as "messageId", id from orders where message_id = any ($1)
         union
        select message_id, order_id from corrections where message_id = any ($1)) x
  join orders o on o.id = x.id
 order by o.id`;

/** The orders that each of these messages brought or corrected, by message id; a message without any is left out. */
export async function ordersByMessage(
  client: pg.PoolClient,
  messageIds: readonly number[],
): Promise<Map<number, MessageVerdict["orders"]>> {
  if (messageIds.length === 0) return new Map();
  type Row = MessageVerdict["orders"][number] & { readonly messageId: number };
  const byMessage = new Map<number, MessageVerdict["orders"][number][]>();
  for (const { messageId, ...order } of await list<Row>(client, ORDER_IDS_BY_MESSAGE, [messageIds])) {
    const others = byMessage.get(messageId);
    if (others === undefined) byMessage.set(messageId, [order]);
    else others.push(order);
  }
  return byMessage;
}

/**
 * The orders of an earlier time that each draft names again or corrects, by the draft's message id. They stand still until the transaction
 * ends: else the lab could be told last how an order stood before a change that it heard of already.
 */
export async function earlierOrders(
  client: pg.PoolClient,
  drafts: readonly MessageDraft[],
): Promise<Map<number, OrderSnapshot[]>> {
  const sourceIds = drafts.flatMap((draft) => (draft.duplicateOf === undefined ? [] : [draft.duplicateOf]));
  const byMessage = await ordersByMessage(client, sourceIds);
  const idsByDraft = new Map(
    drafts.map((draft) => {
      const orders = draft.duplicateOf === undefined ? [] : (byMessage.get(draft.duplicateOf) ?? []);
      const ids = orders.flatMap(({ orderId }) => parseId("o", orderId) ?? []);
      const corrected = draft.corrections.map(({ orderId }) => orderId);
      return [draft.messageId, [...corrected, ...draft.repeatedOrderIds, ...ids]];
    }),
  );
  const wanted = [...idsByDraft.values()].flat();
  if (wanted.length === 0) return new Map();
  await client.query(LOCK_ORDERS, [wanted]);
  const orders = await readOrders(client, wanted);
  const snapshots = new Map(orders.map((order) => [order.id, snapshotOrder(order)]));
  return new Map(
    [...idsByDraft].map(([messageId, ids]) => [messageId, ids.flatMap((id) => snapshots.get(id) ?? [])]),
  );
}

/** Records what answers each message; `earlier` are the orders that it names again, by message id. */
export async function insertAnswers(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly MessageDraft[],
  earlier: ReadonlyMap<number, OrderSnapshot[]>,
): Promise<void> {
  const outcomes = drafts.flatMap((draft): NewOutcome[] => {
    const answer = { connector, message_id: draft.messageId };
    // Nothing is made of it; but a sender that was promised an application acknowledgement waits for that.
    if (draft.verdict === "ignored" && draft.record.replyTo === undefined) return [];
    const ended = repeatedEnds(draft, earlier.get(draft.messageId) ?? []);
    const changes = ended.map((end) => ({ ...answer, ...end }));
    if (draft.record.isAnsweredInBatch || isReportedByReply(draft)) return changes;
    // That it waits was reported when it came.
    if (draft.verdict === "waiting" && draft.record.waitedAs !== undefined) return [];
    if (draft.verdict === "refused" || draft.verdict === "waiting") {
      const { placerOrderNumber, asRead, orders } = draft.record;
      const isTaken = isNumberTaken(draft.problems);
      return [
        {
          ...answer,
          order_ids: draft.orders.map(({ orderId }) => orderId),
          kind: draft.verdict,
          payload: {
            problems: draft.problems,
            placerOrderNumber: isTaken ? undefined : (placerOrderNumber ?? orders[0]?.placerOrderNumber),
            asRead: asRead && withCodes(isTaken ? withoutNumbers(asRead) : asRead, (code) => code?.reveal()),
          },
        },
      ];
    }
    // Its requests about earlier orders are answered each for itself.
    if (isControlOnly(draft.record)) return [];
    const fresh = draft.orders.map(draftSnapshot);
    const all = [...fresh, ...(earlier.get(draft.messageId) ?? [])];
    const acknowledged: NewOutcome = {
      ...answer,
      order_ids: all.flatMap(({ orderId }) => parseId("o", orderId) ?? []),
      kind: "acknowledged",
      payload: { orders: all, isDuplicate: draft.verdict === "duplicate" },
    };
    return [acknowledged, ...changes];
  });
  await recordOutcomes(client, outcomes);
}

/**
 * That an order came again starts nothing. The end of one that was ended without effect is reported once more, since whoever
 * places it again expects it to be done.
 */
function repeatedEnds(
  { repeatedOrderIds, verdict }: MessageDraft,
  earlier: readonly OrderSnapshot[],
): Pick<NewOutcome, "order_ids" | "kind" | "payload">[] {
  // Its answer says so already.
  if (verdict === "refused") return [];
  return earlier.flatMap((order) => {
    const id = parseId("o", order.orderId);
    if (id === undefined || !repeatedOrderIds.includes(id) || !endedWithoutEffect(order.state)) return [];
    return [{ order_ids: [id], kind: "changed", payload: { order } }];
  });
}

/** The number is another order's: none of the rows may carry it. */
function withoutNumbers({ rows, ...asRead }: OrderAsRead): OrderAsRead {
  return { ...asRead, rows: rows?.map((row) => ({ ...row, placerOrderNumber: undefined })) };
}
