import { ORDER_STATES, type OrderState } from "../../core/order-state.ts";
import { parseId } from "../../ledger/ids.ts";
import { listOrders, searchOrders } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { MOST_AT_ONCE } from "../bulk.ts";
import type { Records } from "../deps.ts";
import type { Words } from "../site.ts";

/** The orders that a list's filter finds, newest first; none for a search that is not kept any more. */
export async function findFiltered(
  query: URLSearchParams,
  words: Words,
  { pool, connectors }: Pick<Records, "pool" | "connectors">,
  limit: number,
): Promise<LedgerOrder[]> {
  const word = words.of(query);
  if (word === undefined) return [];
  const states = statesOf(query);
  return listOrders(pool, {
    states: states.length === 0 ? undefined : states,
    connector: query.get("connector") || undefined,
    failureCode: query.get("failure") || undefined,
    beforeId: parseId("o", query.get("before") ?? ""),
    ids: word === "" ? undefined : await searchOrders(pool, word, { connectors, limit: MOST_AT_ONCE + 1 }),
    limit,
  });
}

/** The states that a list is asked for; empty for any. */
export function statesOf(query: URLSearchParams): OrderState[] {
  return query
    .getAll("state")
    .flatMap((each) => each.split(","))
    .filter((each): each is OrderState => ORDER_STATES.includes(each as OrderState));
}
