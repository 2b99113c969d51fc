import type pg from "pg";
import type { MessageVerdict } from "../core/intake.ts";
import type { Operation } from "../core/order.ts";
import { formatId, parseId } from "./ids.ts";
import type { MessageDraft } from "./message-drafts.ts";
import { type OrderSnapshot, readOrders, snapshotOrder } from "./order-row.ts";

/** Orders of messages; $1 bigint[]. Index: orders (message_id, position). */
const ORDER_IDS_BY_MESSAGE = `
select o.id, o.message_id, o.operation, o.placer_order_number
  from orders o
 where o.message_id = any ($1)
 order by o.id`;

/** The orders that came of each of these messages, by message id; a message without any is left out. */
export async function ordersByMessage(
  client: pg.PoolClient,
  messageIds: readonly number[],
): Promise<Map<number, MessageVerdict["orders"]>> {
  if (messageIds.length === 0) return new Map();
  const { rows } = await client.query<{
    id: number;
    message_id: number;
    operation: Operation;
    placer_order_number: string | null;
  }>(ORDER_IDS_BY_MESSAGE, [messageIds]);
  const byMessage = Map.groupBy(rows, (row) => row.message_id);
  return new Map(
    [...byMessage].map(([messageId, orders]) => [
      messageId,
      orders.map((row) => ({
        orderId: formatId("o", row.id),
        operation: row.operation,
        placerOrderNumber: row.placer_order_number ?? undefined,
      })),
    ]),
  );
}

/** The orders of an earlier time that each draft names again, as they stand now, by the draft's message id. */
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
      return [draft.messageId, [...draft.repeatedOrderIds, ...ids]];
    }),
  );
  const wanted = [...idsByDraft.values()].flat();
  if (wanted.length === 0) return new Map();
  const orders = await readOrders(client, wanted);
  const snapshots = new Map(orders.map((order) => [order.id, snapshotOrder(order)]));
  return new Map(
    [...idsByDraft].map(([messageId, ids]) => [messageId, ids.flatMap((id) => snapshots.get(id) ?? [])]),
  );
}
