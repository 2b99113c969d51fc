import type pg from "pg";
import { list } from "../database.ts";
import { type LedgerOrder, listOrderRows, ORDER_COLUMNS } from "../orders/row.ts";
import { listStoredMessages, type StoredMessage } from "./views.ts";

/**
 * Ids of a connector's newest messages that still have their bytes, newest first: no repeats and no replays; $1 connector,
 * $2 how many. Index: messages_connector.
 */
const NEWEST_KEPT = `
select m.id
  from messages m
 where m.connector = $1
   and m.raw is not null
   and m.verdict <> 'duplicate'
   and m.replay_of is null
 order by m.id desc
 limit $2`;

/**
 * What messages made and nobody changed since; $1 bigint[] message ids. Indexes: orders (message_id, position), the primary key of
 * order_events.
 */
const UNCHANGED_ORDERS = `
select ${ORDER_COLUMNS}
  from orders o
 where o.message_id = any ($1)
   and not exists (select from order_events e where e.order_id = o.id and e.kind in ('changed', 'corrected'))
 order by o.message_id, o.position`;

/** A message of the ledger with the orders that it made, as they were made. */
export interface KeptMessage {
  readonly message: StoredMessage;
  readonly orders: readonly LedgerOrder[];
}

const A_PAGE = 100;

/** The newest messages of a connector that can be mapped again, a page at a time. @param most how many in all */
export async function* listKeptMessages(
  pool: pg.Pool,
  connector: string,
  most: number,
): AsyncGenerator<readonly KeptMessage[]> {
  const ids = (await list<{ id: number }>(pool, NEWEST_KEPT, [connector, most])).map(({ id }) => id);
  for (let at = 0; at < ids.length; at += A_PAGE) {
    const some = ids.slice(at, at + A_PAGE);
    const messages = await listStoredMessages(pool, some);
    const orders = await listOrderRows(pool, UNCHANGED_ORDERS, [some]);
    yield messages.map((message) => ({
      message,
      orders: orders.filter(({ messageId }) => `m${messageId}` === message.messageId),
    }));
  }
}
