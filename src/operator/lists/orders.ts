import { ORDER_STATES } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import { listOrders, searchOrders } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { ageColumn, type Column, forPrograms } from "../column.ts";
import { byConnector, choices, code, isNarrowedOnlyBy, list, search, since } from "../list.ts";
import { authorityOf, PAINT_BY_STATE, REASON, showNumber, stateInWords } from "../order-words.ts";
import { connectorNames } from "../place.ts";
import { type ListedOrder, withSurroundings } from "../surroundings.ts";
import { withHint } from "../text.ts";
import { hintFor, whyWaiting } from "../why-waiting.ts";

const waitsFor = (order: ListedOrder) => order.around && whyWaiting(order, order.around)?.brief;

/** What an order waits for, or why it ended as it did, for people; a program has the two apart. */
export const ORDER_REASON = {
  ...REASON,
  value: (order: LedgerOrder) => order.failure && withHint({ ...order.failure, hint: hintFor(order) }),
  show: (order: ListedOrder) => waitsFor(order) ?? REASON.show(order),
} as const;

/** The values of an order that lists show too. */
export const ORDER_COLUMNS: readonly Column<ListedOrder>[] = [
  {
    key: "orderId",
    title: "id",
    only: "list",
    value: ({ id }) => formatId("o", id),
    link: ({ id }) => `/orders/${formatId("o", id)}`,
  },
  { key: "placerOrderNumber", title: "order number", only: "list", isFlexible: true, show: showNumber },
  { key: "placerAuthority", title: "numbered by", only: "details", value: authorityOf },
  { key: "operation", title: "operation", only: "list" },
  { key: "facilityCode", title: "facility", only: "list", isFlexible: true },
  {
    key: "facilityId",
    title: "facility",
    only: "details",
    show: ({ facilityCode, facilityId }) => `${facilityCode} (${facilityId} at the service)`,
  },
  { key: "connector" },
  { key: "messageId", value: ({ messageId }) => formatId("m", messageId) },
  { key: "subjectCode", title: "subject", isFlexible: true, value: ({ subject }) => subject.code },
  {
    title: "name",
    only: "details",
    show: ({ subject }) => [subject.firstName, subject.lastName].filter((name) => name !== undefined),
  },
  { title: "born", only: "details", show: ({ subject }) => subject.dateOfBirth },
  {
    key: "state",
    title: "state",
    only: "list",
    show: ({ state, heldAt }) => `${stateInWords(state)}${heldAt ? " (on hold)" : ""}`,
    paint: ({ state, heldAt }) => (heldAt ? "yellow" : PAINT_BY_STATE[state]),
  },
  { key: "changedAt", title: "since", only: "list" },
  ageColumn(({ changedAt }) => changedAt),
  { key: "receivedAt", title: "received", only: "details" },
  ...forPrograms<LedgerOrder>("submittedAt", "nextAt", "attempts"),
  {
    key: "surface",
    title: "surface",
    only: "details",
    show: ({ surface }) => (surface === "external" ? "external: the procedure was created directly" : ""),
  },
  { key: "requestId", title: "request", isRight: true, isLesser: true },
  { key: "procedureId", title: "procedure", only: "list", isRight: true, isLesser: true },
  {
    key: "procedureCode",
    title: "procedure",
    only: "details",
    show: ({ procedureId, procedureCode }) => [procedureId, procedureCode].filter(Boolean).join(" "),
  },
  { key: "remoteStatus", title: "service says", only: "details" },
  { key: "heldAt" },
  { key: "waitsFor", value: waitsFor },
  { ...ORDER_REASON, only: "list" },
];

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
