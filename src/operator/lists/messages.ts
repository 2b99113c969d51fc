import { placeText } from "../../core/place.ts";
import { listMessages, type MessageView } from "../../ledger/messages/views.ts";
import { ageColumn, type Column, type Paint } from "../column.ts";
import { byConnector, choice, isNarrowedOnlyBy, list, search, since } from "../list.ts";
import { problemsColumn } from "../message-words.ts";

/** How a message's verdict is coloured; every verdict has its place here. */
export const PAINT_BY_VERDICT: Readonly<Record<MessageView["verdict"], Paint>> = {
  accepted: "green",
  duplicate: "yellow",
  refused: "red",
  ignored: "dim",
  waiting: "yellow",
};

/** A message may have thousands; people are shown this many ids. */
const ORDERS = 20;

/** Where a message stands in its file. */
export const MESSAGE_PLACE: Column<MessageView> = {
  key: "place",
  title: "place",
  value: ({ place }) => placeText(place),
};

/** The values of a message that lists show too. */
export const MESSAGE_COLUMNS: readonly Column<MessageView>[] = [
  {
    key: "messageId",
    title: "id",
    only: "list",
    link: ({ messageId }) => `/messages/${messageId}`,
  },
  { key: "connector", title: "connector" },
  {
    key: "fileName",
    title: "file",
    isFlexible: true,
    show: ({ fileName, replayOf }) => fileName ?? (replayOf && `replay of ${replayOf}`),
    link: ({ fileId, replayOf }) =>
      fileId === undefined ? replayOf && `/messages/${replayOf}` : `/files/${fileId}`,
  },
  { key: "fileId" },
  MESSAGE_PLACE,
  { key: "messageType", title: "type" },
  { key: "messageControlId", title: "control id", isFlexible: true },
  { key: "verdict", title: "verdict", only: "list", paint: ({ verdict }) => PAINT_BY_VERDICT[verdict] },
  { key: "receivedAt", title: "received" },
  ageColumn(({ receivedAt }) => receivedAt),
  {
    key: "duplicateOf",
    title: "duplicate of",
    only: "details",
    link: ({ duplicateOf }) => duplicateOf && `/messages/${duplicateOf}`,
  },
  {
    key: "replayOf",
    title: "replay of",
    only: "details",
    link: ({ replayOf }) => replayOf && `/messages/${replayOf}`,
  },
  {
    key: "orderIds",
    title: "orders",
    isFlexible: true,
    show: ({ orderIds }) =>
      [
        ...orderIds.slice(0, ORDERS),
        orderIds.length > ORDERS && `and ${orderIds.length - ORDERS} more`,
      ].filter(Boolean),
    link: ({ messageId, orderIds: [first, ...others] }) =>
      first && (others.length > 0 ? `/messages/${messageId}` : `/orders/${first}`),
  },
  problemsColumn(),
];

/** What every message of a file has alike. */
const OF_THE_FILE = ["connector", "fileName"];

/** The values of a message in the list of its file. */
export const FILE_MESSAGE_COLUMNS = MESSAGE_COLUMNS.filter(
  ({ key }) => key === undefined || !OF_THE_FILE.includes(key),
);

/** Messages that came in. */
export const MESSAGE_LIST = list({
  key: "messages",
  help: "List messages, newest first.",
  filters: {
    find: search({
      ...{ value: "text", label: "Control id, file, id or number" },
      help: "only messages with this control id, or of files whose names begin like this; of what became no order, those with this order number or container label",
    }),
    verdict: choice(Object.keys(PAINT_BY_VERDICT), {
      ...{ value: "verdict", label: "Verdict", help: "only messages with this verdict" },
    }),
    connector: byConnector("messages that came"),
    since: since("messages that came in "),
  },
  columns: MESSAGE_COLUMNS,
  nothing: (values) =>
    isNarrowedOnlyBy(values, "find")
      ? `No message has the id, control id or file ${values.find}, or the number or container ${values.find} without an order of it.`
      : "No messages.",
  read: ({ pool }, { find: word, ...filter }, { limit, after: beforeId }) =>
    listMessages(pool, { word, ...filter, beforeId, limit }),
  page: { kind: "m", of: ({ messageId }) => messageId },
});
