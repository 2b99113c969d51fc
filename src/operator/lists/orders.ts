import { ORDER_STATES } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import { listOrders, searchOrders } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import {
  byConnector,
  choices,
  code,
  type FilterValues,
  isNarrowedBy,
  type ListPart,
  type ListPlace,
  list,
  search,
  since,
} from "../listing.ts";
import { ORDER_COLUMNS, stateInWords } from "../order-columns.ts";
import { withStanding } from "../order-details.ts";

/** Of what a word finds, the list knows so many. */
const MOST_FOUND = 10_001;

const FILTERS = {
  find: search({
    ...{ value: "text", label: "Number, id, container, file or control id" },
    help: "only orders with this id, order number, container label, control id or number of the service (also R1002, P2002), or of files whose names begin like this",
  }),
  state: choices(ORDER_STATES, {
    ...{ value: "states", label: "State", help: "only these states, such as parked,failed" },
    inWords: stateInWords,
  }),
  connector: byConnector("orders that came"),
  failure: code({
    ...{ value: "code", label: "Failure" },
    help: "only orders with this failure, such as SUBJECT_UNKNOWN",
  }),
  subject: code({ value: "code", help: "only orders of this subject code" }),
  since: since("orders that came in "),
};

/** Orders. */
export const ORDER_LIST = list({
  key: "orders",
  help: "List orders, newest first.",
  filters: FILTERS,
  columns: ORDER_COLUMNS,
  nothing: (values) =>
    isNarrowedBy(values, "find")
      ? `No order has the number, id, container or control id ${values.find}, or came in a file whose name begins so.`
      : isNarrowedBy(values)
        ? "No order has come in yet."
        : "No order is like that.",
  read: async (place, values, part) =>
    withStanding(place.pool, await findListedOrders(place, values, part), place.nowMs),
  page: { kind: "o", of: ({ id }) => formatId("o", id) },
});

/** The orders of the list, without what they wait for. */
export async function findListedOrders(
  { pool, connectors }: Pick<ListPlace, "pool" | "connectors">,
  values: FilterValues<typeof FILTERS>,
  { limit, after: beforeId }: ListPart,
): Promise<LedgerOrder[]> {
  const { find, state: states, connector, failure: failureCode, subject: subjectCode, since } = values;
  const ids =
    find === undefined ? undefined : await searchOrders(pool, find, { connectors, limit: MOST_FOUND });
  return listOrders(pool, { ids, states, connector, failureCode, subjectCode, since, beforeId, limit });
}
