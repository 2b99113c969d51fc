import type { OrderState } from "../../core/order-state.ts";
import type { LedgerOrder } from "../../ledger/order-row.ts";
import { orderJson } from "../order-json.ts";
import type { LedgerView } from "./ledger-view.ts";
import { readResults } from "./results.ts";
import { nameOfOrder } from "./words.ts";

/** How many orders are in each state; `names` tells which, where they are few. */
export function countByState(
  orders: readonly LedgerOrder[],
): readonly { state: OrderState; count: number; names: readonly string[] }[] {
  const namesByState = new Map<OrderState, string[]>();
  for (const order of orders) {
    namesByState.set(order.state, [...(namesByState.get(order.state) ?? []), nameOfOrder(order)]);
  }
  return [...namesByState]
    .map(([state, names]) => ({ state, count: names.length, names }))
    .sort((a, b) => b.count - a.count);
}

/** The whole outcome as a program reads it. */
export async function summaryJson(folder: string, { orders, files, waiting }: LedgerView): Promise<object> {
  return {
    orders: orders.map((order) => orderJson(order, false)),
    refusedFiles: files
      .filter(({ problems }) => problems.length > 0)
      .map(({ connector, fileName, status, problems }) => ({ connector, fileName, status, problems })),
    waiting,
    results: await readResults(folder),
  };
}
