import {
  DELIVERY_STATES,
  findOrders,
  listDeliveries,
  listOrders,
  searchOrders,
} from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { byConnector, choice, list, search, since } from "../list.ts";
import { DELIVERY_COLUMNS } from "../order-columns.ts";
import { connectorNames, type Place } from "../place.ts";

/** So many orders that a word means are named. */
export const MOST_NAMED = 20;

/** What goes and went to the lab. */
export const RESULT_LIST = list({
  key: "results",
  help: "List what goes and went to the lab, newest first.",
  filters: {
    order: search({
      ...{ value: "id", label: "Order number, id or label" },
      help: "only what is about this order: o17, its order number, or a label",
    }),
    state: choice(DELIVERY_STATES, { value: "state", label: "State", help: "only results in this state" }),
    connector: byConnector("what goes"),
    since: since("what was made "),
  },
  columns: DELIVERY_COLUMNS,
  nothing: () => "No results.",
  read: async (place, { order: word, ...filter }, { limit, after: beforeId }) => {
    const [order] = word === undefined ? [] : await findMeantOrders(place, word);
    if (word !== undefined && order === undefined) return [];
    return listDeliveries(place.pool, { ...filter, orderId: order?.id, beforeId, limit });
  },
  page: { kind: "d", of: ({ deliveryId }) => deliveryId },
});

/** The orders that a word means, the newest first; the list has the results about the first one. */
export async function findMeantOrders({ pool, config }: Place, word: string): Promise<LedgerOrder[]> {
  const named = await findOrders(pool, word);
  if (named.length > 0) return named;
  const ids = await searchOrders(pool, word, { connectors: connectorNames(config), limit: MOST_NAMED });
  return listOrders(pool, { ids, limit: MOST_NAMED });
}
