import { ORDER_STATES } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import { listOrders, searchOrders } from "../../ledger/operator/views.ts";
import { byConnector, choices, code, isNarrowedOnlyBy, list, search, since } from "../list.ts";
import { ORDER_COLUMNS, stateInWords } from "../order-columns.ts";
import { withSurroundings } from "../order-details.ts";
import { connectorNames } from "../place.ts";

/** Of what a word finds, the list knows so many. */
const MOST_FOUND = 10_001;

/** Orders. */
export const ORDER_LIST = list({
  key: "orders",
  help: "List orders, newest first.",
  filters: {
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
  },
  columns: ORDER_COLUMNS,
  seen: ({ id }) => formatId("o", id),
  nothing: (values) =>
    isNarrowedOnlyBy(values, "find")
      ? `No order has the number, id, container or control id ${values.find}, or came in a file whose name begins so.`
      : isNarrowedOnlyBy(values)
        ? "No order has come in yet."
        : "No order is like that.",
  read: async (place, values, { limit, after: beforeId }) => {
    const { pool, config } = place;
    const { find, state: states, connector, failure: failureCode, subject: subjectCode, since } = values;
    const ids =
      find === undefined
        ? undefined
        : await searchOrders(pool, find, { connectors: connectorNames(config), limit: MOST_FOUND });
    const filter = { ids, states, connector, failureCode, subjectCode, since, beforeId, limit };
    return withSurroundings(place, await listOrders(pool, filter));
  },
  page: { kind: "o", of: ({ id }) => formatId("o", id) },
});
