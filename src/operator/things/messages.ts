import { placeText } from "../../core/place.ts";
import { numberOfId, parseId } from "../../ledger/ids.ts";
import {
  findMessage,
  findMessageAnswer,
  listMessagesById,
  type MessageAnswer,
  type MessageView,
  type StoredMessage,
} from "../../ledger/messages/views.ts";
import { listMessageDeliveries } from "../../ledger/operator/views.ts";
import { readOrders } from "../../ledger/orders/row.ts";
import type { Column, Viewer } from "../column.ts";
import { filledByAny, hideHl7 } from "../hl7-tree.ts";
import { isHl7, messageText, resultText } from "../kept-text.ts";
import { MESSAGE_COLUMNS, PAINT_BY_VERDICT } from "../lists/messages.ts";
import { ORDER_COLUMNS } from "../lists/orders.ts";
import { DELIVERY_COLUMNS } from "../lists/results.ts";
import { knownOf } from "../message-words.ts";
import { type Details, fieldsPart, type Part, tablePart } from "../parts.ts";
import type { Place } from "../place.ts";
import type { ListedOrder } from "../surroundings.ts";
import { cleanLines, HIDDEN } from "../text.ts";
import type { Thing } from "../thing.ts";

const UNLESS = "unless its profile leaves refusals out (results.send)";

/** A message that came in. */
export const MESSAGES = {
  ...{ kind: "m", noun: "message", path: "/messages" },
  find: findMessage,
  findAll: listMessagesById,
  numberOf,
  stateOf: ({ verdict }) => verdict,
  describe: ({ messageId, connector, fileName, place, messageControlId }) => {
    const from = fileName === undefined ? `through ${connector}` : `${fileName}, ${placeText(place)}`;
    return [messageId, messageControlId, from].filter((each) => each !== undefined).join(" · ");
  },
  details: {
    help: "Show a message: where it came from, its verdict with every mistake, its orders, and its text.",
    read,
    // A table as answer may be about others, too.
    seen: async ({ pool }, message) => {
      const answer = await findMessageAnswer(pool, numberOf(message));
      return [message.messageId, ...(answer?.deliveryId ? [answer.deliveryId] : [])];
    },
  },
  acts: {
    replay: {
      ...{ command: "messages replay", asks: ["Replay", "replaying"], button: "Replay", reason: "optional" },
      help: "Map messages again with the present profile, as after a code was added to a table.",
      example: "cryobridge messages replay m12 m13 --yes",
      explains:
        "It is mapped again by the configuration that runs, as a new message; orders that exist already are not made twice.",
      many: {
        ...{ verb: "Replay", done: "mapped again" },
        explains:
          "They are mapped again by the configuration that runs, in the order in which they were received. Each becomes a new message; orders that exist already are not made twice.",
        leftOut: "a message that waits is not replayed but released, once its code is known",
      },
      suits: (message) => message.verdict !== "waiting" && !("raw" in message && message.raw === undefined),
      start: ({ acts }, by) => acts.replay(by),
    },
    discard: {
      ...{ command: "messages discard", asks: ["Discard", "discarding"], reason: "required" },
      ...{ button: "Discard", isDangerous: true },
      help: `Give up messages that wait; the lab is sent a refusal, ${UNLESS}.`,
      example: 'cryobridge messages discard m12 --reason "the clinic sends it again"',
      explains: `It is given up, and the lab is sent a refusal, ${UNLESS}.`,
      many: {
        ...{ verb: "Discard", done: "discarded" },
        explains: `They are given up, and the lab is sent a refusal of each, ${UNLESS}.`,
        leftOut: "only a message that waits can be discarded",
      },
      suits: ({ verdict }) => verdict === "waiting",
      start: ({ acts }, by) => acts.discardMessages(by),
    },
  },
} as const satisfies Thing<MessageView, StoredMessage>;

function numberOf({ messageId }: MessageView): number {
  return numberOfId("m", messageId);
}

/** Rows of a list within the details. */
const A_LIST = 50;

/** What has room beside the message. */
const BESIDE = ["orderId", "placerOrderNumber", "operation", "facilityCode", "state"];
const ORDERS_BESIDE: readonly Column<ListedOrder>[] = [
  ...ORDER_COLUMNS.filter(({ key = "" }) => BESIDE.includes(key)),
  {
    title: "containers",
    isFlexible: true,
    show: ({ containers }) => containers.map(({ label }) => label).join(", "),
  },
];

async function read({ pool }: Place, message: StoredMessage, viewer: Viewer): Promise<Details> {
  const { messageId, verdict, messageType, orderIds, format, raw, problems } = message;
  const ids = orderIds.slice(0, A_LIST).flatMap((id) => parseId("o", id) ?? []);
  const [orders, deliveries, answer] = await Promise.all([
    readOrders(pool, ids),
    listMessageDeliveries(pool, numberOf(message), A_LIST),
    findMessageAnswer(pool, numberOf(message)),
  ]);
  const text = raw && (viewer.mayShowPhi ? messageText(message, raw) : HIDDEN);
  return {
    heading: {
      ...{
        name: `Message ${messageId}`,
        what: messageType,
        state: verdict,
        paint: PAINT_BY_VERDICT[verdict],
      },
    },
    parts: [
      fieldsPart(MESSAGE_COLUMNS, message, viewer, "About it"),
      {
        ...{ kind: "problems", name: "problems", problems, known: knownOf(message) },
        title: verdict === "waiting" ? "Why is it waiting?" : "What is wrong with it",
      },
      {
        ...{ kind: "text", name: "text", title: "The message", sizeBytes: raw?.length },
        nothing: "Its text was pruned by retention.",
        json: { format, isTextKept: raw !== undefined, text: text ?? null },
        lines: text !== undefined && viewer.mayShowPhi ? cleanLines(text) : undefined,
      },
      tablePart<ListedOrder>(
        "orders",
        {
          title:
            orderIds.length > A_LIST
              ? `The first ${A_LIST} of its ${orderIds.length} orders`
              : "Orders that came of it",
          ...{ columns: ORDERS_BESIDE, rows: orders, nothing: "No order came of it." },
        },
        viewer,
      ),
      answerPart(answer, viewer),
      tablePart(
        "results",
        {
          ...{ title: "Sent to the lab about it", columns: DELIVERY_COLUMNS, rows: deliveries },
          nothing: "Nothing yet.",
        },
        viewer,
      ),
    ],
  };
}

/** What the lab was answered, as far as it may be seen. */
function answerPart(answer: MessageAnswer | undefined, { mayShowPhi }: Viewer): Part {
  const nothing = "Nothing was answered, or it is not kept any more.";
  const part = { kind: "text", name: "answer", title: "The answer", nothing } as const;
  if (answer === undefined)
    return { ...part, json: { answer: null }, sizeBytes: undefined, lines: undefined };
  const { bytes, isReply, deliveryId } = answer;
  const text = resultText(bytes);
  const shown = mayShowPhi ? cleanLines(text) : undefined;
  const lines = isHl7(bytes) ? hideHl7(text, mayShowPhi, filledByAny) : shown;
  return {
    ...part,
    note: isReply ? "Answered on the connection that it came by." : `Sent as result ${deliveryId}.`,
    json: { answer: { isReply, deliveryId: deliveryId ?? null, text: lines?.join("\n") ?? HIDDEN } },
    link: isReply ? undefined : `/results/${deliveryId}`,
    ...{ sizeBytes: bytes.length, lines },
  };
}
