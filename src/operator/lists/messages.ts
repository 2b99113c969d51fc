import { listMessages } from "../../ledger/messages/views.ts";
import { byConnector, choice, isNarrowedOnlyBy, list, search, since } from "../list.ts";
import { MESSAGE_COLUMNS } from "../message-columns.ts";
import { PAINT_BY_VERDICT } from "../order-columns.ts";

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
