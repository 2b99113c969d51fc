import type pg from "pg";
import { formatId } from "../ids.ts";
import { changeOrdersWithin } from "../orders/change.ts";
import { replaceContent } from "../orders/row.ts";
import type { MessageDraft } from "./record.ts";

/** $1 message ids, $2 the order that each of them corrects. */
const INSERT_CORRECTIONS = `
insert into corrections (message_id, order_id)
select x.message_id, x.order_id
  from unnest($1::bigint[], $2::bigint[]) as x(message_id, order_id)`;

/**
 * Has parked orders ask for what the lab sends under their numbers now, and go on: with a new mark and a new fence, as after
 * a change by order control. One that is on hold stays so. The drafts' messages are in the ledger, the orders' rows locked.
 */
export async function correctOrders(client: pg.PoolClient, drafts: readonly MessageDraft[]): Promise<void> {
  const corrections = drafts.flatMap(({ messageId, corrections }) =>
    corrections.map((correction) => ({ messageId, ...correction })),
  );
  if (corrections.length === 0) return;
  for (const { orderId, order } of corrections) await replaceContent(client, orderId, order);
  await client.query(INSERT_CORRECTIONS, [
    corrections.map(({ messageId }) => messageId),
    corrections.map(({ orderId }) => orderId),
  ]);
  await changeOrdersWithin(
    client,
    corrections.map(({ orderId, messageId }) => ({
      orderId,
      from: ["parked"],
      to: "received",
      failure: null,
      attempts: 0,
      nextInMs: 0,
      isTakenBack: true,
      event: { kind: "corrected", detail: { messageId: formatId("m", messageId) } },
    })),
  );
}
