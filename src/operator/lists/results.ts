import { FAILURES, type FailureCode } from "../../core/failures.ts";
import {
  DELIVERY_STATES,
  type DeliveryDetails,
  type DeliveryView,
  findOrders,
  listDeliveries,
  listOrders,
  searchOrders,
} from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import type { Column, Paint, Viewer } from "../column.ts";
import { byConnector, choice, list, search, since } from "../list.ts";
import { REASON, stateInWords } from "../order-words.ts";
import { connectorNames, type Place } from "../place.ts";
import { readyHint } from "../ready-hint.ts";
import { withHint } from "../text.ts";
import { relativeTime } from "../times.ts";

/** What a result says of an order or a message; `control` answers what the lab asked of an earlier order. */
function factInWords(says: string): string {
  return says === "control" ? "answer to order control" : stateInWords(says);
}

/** How the state of a result is coloured. */
export const PAINT_BY_DELIVERY_STATE: Readonly<Record<DeliveryView["state"], Paint>> = {
  pending: "yellow",
  delivered: "green",
  parked: "red",
  dropped: "dim",
};

/** What a person does about a result that the lab doesn't have, with its id in the commands. */
function hintForResult({ deliveryId, failure }: Pick<DeliveryView, "deliveryId" | "failure">) {
  const hint = failure && FAILURES[failure.code as FailureCode]?.hint;
  return hint && readyHint(hint, { result: deliveryId });
}

/** The values of a result for the lab, in lists and in its details. */
export const DELIVERY_COLUMNS: readonly Column<DeliveryView>[] = [
  {
    key: "deliveryId",
    title: "id",
    only: "list",
    link: ({ deliveryId }) => `/results/${deliveryId}`,
  },
  { key: "connector", title: "connector" },
  { key: "fileName", title: "name", isFlexible: true },
  {
    key: "orderIds",
    title: "about",
    only: "list",
    isFlexible: true,
    show: ({ orderIds, orderNames }) => {
      const more = orderIds.length - orderNames.length;
      return `${orderNames.join(" ")}${more > 0 ? ` and ${more} more` : ""}` || "a message";
    },
    link: ({ deliveryId, orderIds: [first, ...others] }) =>
      first && (others.length > 0 ? `/results/${deliveryId}` : `/orders/${first}`),
  },
  { key: "says", title: "says", isFlexible: true, show: ({ says }) => says.map(factInWords).join(", ") },
  { key: "state", title: "state", only: "list", paint: ({ state }) => PAINT_BY_DELIVERY_STATE[state] },
  { key: "createdAt", title: "made", only: "details" },
  { key: "attempts", title: "attempts", isRight: true },
  { key: "deliveredAt", title: "delivered" },
  { title: "when", only: "list", isAge: true, show: whenOf },
  { key: "nextAt", title: "next try", only: "details", show: nextTryOf },
  { key: "waitsBehind" },
  {
    ...REASON,
    only: "list",
    value: (result) => result.failure && withHint({ ...result.failure, hint: hintForResult(result) }),
  },
];

/** What only the details of a result say. */
export const DELIVERY_DETAILS: readonly Column<DeliveryDetails>[] = [
  ...DELIVERY_COLUMNS,
  {
    key: "sizeBytes",
    title: "size",
    show: ({ sizeBytes }) => (sizeBytes === undefined ? "pruned by retention" : `${sizeBytes} bytes`),
  },
  {
    key: "orderIds",
    title: "about",
    show: ({ orderIds }) => orderIds.join(" ") || "a message as a whole",
  },
];

function whenOf(delivery: DeliveryView, { clock }: Viewer): string {
  const now = clock.now();
  if (delivery.deliveredAt) return relativeTime(delivery.deliveredAt, now);
  if (delivery.state !== "pending") return "";
  if (delivery.waitsBehind !== undefined) return `waits for ${delivery.waitsBehind}`;
  return delivery.nextAt.getTime() <= now ? "due now" : `tried ${relativeTime(delivery.nextAt, now)}`;
}

function nextTryOf({ state, nextAt, waitsBehind }: DeliveryView): string | Date {
  if (state !== "pending") return "";
  return waitsBehind === undefined
    ? nextAt
    : `once ${waitsBehind}, which came before it, is delivered or given up`;
}

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
