import { FAILURES, type FailureCode } from "../../core/failures.ts";
import { movesContainers } from "../../core/order.ts";
import { isTerminal, mayMove } from "../../core/order-state.ts";
import type { Surface } from "../../core/surface.ts";
import { formatId } from "../../ledger/ids.ts";
import type { MessageView } from "../../ledger/messages/views.ts";
import { listOrders, type OrderEvent } from "../../ledger/operator/views.ts";
import { overrideOf } from "../../ledger/orders/acts.ts";
import type { ControlRequestView } from "../../ledger/orders/control-requests.ts";
import { lostCallOf } from "../../ledger/orders/end-reconciling.ts";
import { type LedgerOrder, readOrders } from "../../ledger/orders/row.ts";
import type { Override } from "../../ledger/orders/same-containers.ts";
import type { KeptOrderAnswer } from "../../ledger/orders/service-answers.ts";
import type { FoundAtService, OrderAct } from "../acts.ts";
import { CALL_COLUMNS, describeCall } from "../calls.ts";
import { type Column, forPrograms, recordJson, type Viewer } from "../column.ts";
import { hideRecord } from "../hide-record.ts";
import { MESSAGE_PLACE } from "../lists/messages.ts";
import { DELIVERY_COLUMNS } from "../lists/results.ts";
import { TASK_COLUMNS } from "../lists/tasks.ts";
import {
  CONTAINER_COLUMNS,
  describeAnswer,
  describeControl,
  hintForControl,
  ORDER_DETAIL_COLUMNS,
  readOrderDetails,
  whyEnded,
} from "../order-details.ts";
import { PAINT_BY_STATE, stateInWords, subjectJson } from "../order-words.ts";
import { type Details, fieldsPart, type Remark, tablePart } from "../parts.ts";
import type { Place } from "../place.ts";
import { type DeclaredAct, onEach, type Thing } from "../thing.ts";
import { describeEvent } from "../timeline.ts";
import { nameOf } from "../why-waiting.ts";

const LAB_HEARS = "the lab hears it where `results.send` of its profile has discarded.";
const AT_ONCE = "At once where nothing has left for the service; else the service is asked.";

/** An order: all that is known of it, and what a person can do to it. */
export const ORDERS = {
  ...{ kind: "o", noun: "order", path: "/orders" },
  find: async (pool, id) => (await readOrders(pool, [id]))[0],
  findAll: async (pool, ids) => (await listOrders(pool, { ids, limit: ids.length })).reverse(),
  numberOf: ({ id }) => id,
  nameOf,
  stateOf,
  describe: (order) => `${nameOf(order)} · ${order.operation} · ${stateOf(order)}`,
  details: {
    help: "Show all that is known of an order: by its id, such as o17, or its placer order number; else by the label of a container, a control id or the beginning of a file's name.",
    read,
    seen: (_place, { id }) => [formatId("o", id)],
  },
  acts: {
    release: {
      ...{ command: "orders release", asks: ["Release", "acting on"], button: "Release", reason: "optional" },
      help: "Have orders go on that the lab put on hold, as the lab itself can with ORC-1 RL.",
      example: 'cryobridge orders release o17 --reason "the ward rang"',
      explains: "It goes on, though the lab put it on hold.",
      suits: ({ heldAt, state }) => heldAt !== undefined && !isTerminal(state),
      start: toEach("release"),
    },
    retry: {
      ...{ command: "orders retry", asks: ["Retry", "acting on"], button: "Try now", reason: "optional" },
      help: "Have orders tried now: parked and failed ones from where they stood (a failed one becomes a new request), others before their next planned time.",
      example: "cryobridge orders retry o17 o18\n  cryobridge orders retry --state parked --yes",
      reasonHelp: "why, for the audit (required with --override and --not-at-service)",
      explains: ({ state }) =>
        state === "failed" ? "A new request is made for it." : "It is tried now, from where it stood.",
      many: {
        ...{ verb: "Try", done: "will be tried now" },
        explains: "They are tried now, from where they stood; of one that failed a new request is made.",
      },
      suits: ({ state, heldAt }) =>
        state === "failed" || !(isTerminal(state) || (state === "received" && heldAt !== undefined)),
      start: toEach("retry"),
    },
    override: {
      ...{ command: "orders retry", asks: ["Retry", "acting on"], reason: "required", isDangerous: true },
      flag: {
        name: "override",
        help: "have it done although another order asks for the same container or has its number; with --reason",
      },
      button: "Have it done although it matches another",
      explains: (order) => OVERRIDE_WORDS[overrideOf(order) ?? "number"],
      suits: (order) => overrideOf(order) !== undefined,
      start: toEach("override"),
    },
    "send-again": {
      ...{ command: "orders retry", asks: ["Retry", "acting on"], reason: "required", isDangerous: true },
      flag: {
        name: "not-at-service",
        help: "you have looked and the service has nothing of it: end the search for its lost call and send it again; with --reason",
      },
      button: "It is not at the service: send it again",
      explains:
        "Look at the service first. A last check is made; when it finds nothing, the order is sent again.",
      suits: (order) => lostCallOf(order) !== undefined,
      start: toEach("sendAgain"),
    },
    resolve: {
      ...{
        command: "orders resolve",
        button: "Link it to what you found at the service",
        reason: "optional",
      },
      help: "Link a parked order to the procedure request that you found at the service, or on the external surface to the procedure.",
      example:
        "cryobridge orders resolve o17 --request-id 1001\n  cryobridge orders resolve o18 --procedure-id 2002",
      input: {
        name: "number",
        label: ({ surface }) =>
          surface === undefined ? "Procedure request or procedure" : NAME_BY_SURFACE[surface],
        parse: (text) => (/^\d{1,15}$/.test(text) ? { id: Number(text) } : undefined),
        missing: "is linked by a number of the service: nothing was done",
      },
      suits: (order) => (order.state === "parked" || isForgotten(order)) && movesContainers(order.operation),
      start: onEach(({ acts }, order, by, found) => acts.resolve(order, found, by)),
    } satisfies DeclaredAct<LedgerOrder, FoundAtService>,
    cancel: {
      ...{ command: "orders cancel", asks: ["Cancel", "acting on"], reason: "required", isDangerous: true },
      ...{ button: "Cancel", opened: "Cancel the order" },
      help: "Cancel orders: at once what nothing has left of, at the service where its cancel call is configured.",
      example: 'cryobridge orders cancel o17 --reason "the patient withdrew"',
      explains: AT_ONCE,
      many: { verb: "Cancel", explains: AT_ONCE, done: "will be cancelled, unless the service refuses" },
      suits: (order, acts) => acts.mayCancel(order),
      start: toEach("cancel"),
    },
    discard: {
      ...{ command: "orders discard", asks: ["Discard", "acting on"], reason: "usual", isDangerous: true },
      button: "Discard",
      help: "Decide that orders will not be done; the lab hears it where `results.send` of its profile has discarded.",
      example: 'cryobridge orders discard o17 --reason "sent twice by the lab"',
      reasonHelp: "why, for the audit (required for an order that the service may have)",
      explains: (order) =>
        `It is not carried out; ${LAB_HEARS}${isForgotten(order) ? ` Of it ${FORGOTTEN}` : ""}`,
      many: {
        ...{ verb: "Discard", done: "discarded" },
        explains: explainDiscards,
      },
      suits: (order) => mayMove(order.state, "discarded") || isForgotten(order),
      start: toEach("discard"),
    },
  },
} as const satisfies Thing<LedgerOrder>;

function toEach(name: OrderAct) {
  return onEach<LedgerOrder>(({ acts }, order, by) => acts.order(name, order, by));
}

/** Whether the service no longer knows what it made of an order. */
function isForgotten({ missingSince, state }: LedgerOrder): boolean {
  return missingSince !== undefined && !isTerminal(state);
}

const FORGOTTEN =
  "the service had a request and does not know it any more, or does not let it be read: look there first, since nothing is taken back there.";

/** Names of this many, and the number of the others. */
const NAMED = 5;

function named(orders: readonly LedgerOrder[]): string {
  const more = orders.length - NAMED;
  return `${orders.slice(0, NAMED).map(nameOf).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function explainDiscards(orders: readonly LedgerOrder[]): string {
  const forgotten = orders.filter(isForgotten);
  const plain = `They are not carried out; ${LAB_HEARS}`;
  return forgotten.length === 0 ? plain : `${plain} Of ${named(forgotten)} ${FORGOTTEN}`;
}

function stateOf({ state, heldAt }: LedgerOrder): string {
  return `${stateInWords(state)}${heldAt ? " (on hold)" : ""}`;
}

const BOTH_MEANT =
  "Only when you know that both orders are meant: it is sent although another order asks for the same container or has its number.";

/** What a person should know before an order goes past what it matches. */
const OVERRIDE_WORDS: Readonly<Record<Override, string>> = {
  number: BOTH_MEANT,
  containers: BOTH_MEANT,
  label: "Only when you know whose container it is: it is sent although a label belongs to another subject.",
  restored:
    "Only when you know that the request at the service is not this order's: the order is sent besides it.",
};

/** What an order becomes at the service. */
const NAME_BY_SURFACE: Readonly<Record<Surface, string>> = {
  request: "Procedure request",
  external: "Procedure",
};

/** What is about the order alone needs not name it to people. */
const RESULT_COLUMNS = DELIVERY_COLUMNS.map((column) =>
  column.key === "orderIds" ? ({ key: "orderIds" } as const) : column,
);

async function read(place: Place, order: LedgerOrder, viewer: Viewer): Promise<Details> {
  const { operation, state, changedAt, containers } = order;
  const details = await readOrderDetails({ ...place, nowMs: viewer.clock.now() }, order);
  const { message, why, around, calls, answers, requests, tasks, events, deliveries, traceId } = details;
  const ended = whyEnded(order, details);
  const shown = calls.map((call) => ({ ...call, sent: hideRecord(call.sent, "order", viewer.mayShowPhi) }));
  const sent = shown.findLast((call) => call.sent !== undefined)?.sent;
  const json = <Row>(columns: readonly Column<Row>[], rows: readonly Row[]) =>
    rows.map((row) => recordJson(columns, row, viewer));
  const remarks: Remark[] = [];
  if (why) remarks.push({ title: "Why is it waiting?", text: why, isAct: state === "parked" });
  if (ended) remarks.push({ title: "Reason:", text: ended.reason, hint: ended.hint });
  return {
    heading: {
      ...{ name: `Order ${nameOf(order)}`, what: operation, since: changedAt },
      ...{ state: stateInWords(state), paint: PAINT_BY_STATE[state] },
    },
    remarks,
    parts: [
      fieldsPart(ORDER_DETAIL_COLUMNS, { ...order, message, traceId, around }, viewer, "What was asked"),
      {
        ...{ kind: "json", name: "besides" },
        json: {
          subject: subjectJson(order, viewer),
          whyWaiting: why ?? null,
          message: message ? recordJson(MESSAGE, message, viewer) : null,
        },
      },
      tablePart(
        "containers",
        { title: "Containers", columns: CONTAINER_COLUMNS, rows: containers, nothing: "None." },
        viewer,
      ),
      {
        ...{ kind: "entries", name: "calls", title: "Calls to the service" },
        json: { sent: sent ?? null, calls: json(CALL_COLUMNS, shown) },
        entries: shown.map((call) => ({
          ...{ at: call.at, text: describeCall(call) },
          body: call.sent === undefined ? undefined : JSON.stringify(call.sent, null, 2),
        })),
      },
      {
        ...{ kind: "entries", name: "answers", title: "Answers of the service" },
        json: { answers: json(ANSWER, answers) },
        entries: answers.map((answer) => ({
          ...{ at: answer.firstAt, text: describeAnswer(answer) },
          ...bodyOf(answer, viewer),
        })),
      },
      {
        ...{ kind: "entries", name: "controls", title: "Order control requests" },
        json: { orderControls: json(ORDER_CONTROL, requests) },
        entries: requests.map((request) => ({
          ...{ at: request.askedAt, text: describeControl(request) },
          hint: hintForControl(request, order, details),
        })),
      },
      tablePart("tasks", { title: "For a person to do", columns: TASK_COLUMNS, rows: tasks }, viewer),
      {
        ...{ kind: "timeline", name: "timeline", title: "Timeline", events },
        json: { timeline: json(EVENT, events) },
      },
      tablePart(
        "results",
        {
          ...{ key: "deliveries", title: "Results for the lab", columns: RESULT_COLUMNS, rows: deliveries },
          nothing: "Nothing yet.",
        },
        viewer,
      ),
    ],
  };
}

const MESSAGE = [
  ...forPrograms<MessageView>("messageId", "fileName"),
  MESSAGE_PLACE,
  ...forPrograms<MessageView>("messageControlId", "messageType", "receivedAt"),
];

const EVENT: readonly Column<OrderEvent>[] = [
  ...forPrograms<OrderEvent>("at", "kind", "toState", "detail"),
  { key: "text", value: describeEvent },
];

/** An answer of the service. What it says may be about another patient than the order's. */
const ANSWER: readonly Column<KeptOrderAnswer>[] = [
  ...forPrograms<KeptOrderAnswer>("firstAt", "lastAt", "times", "method", "route"),
  ...forPrograms<KeptOrderAnswer>("status", "shape", "contentType", "errorCode"),
  { key: "takenAs", value: ({ failureCode }) => failureCode },
  { key: "takenAsClass", value: ({ failureCode }) => FAILURES[failureCode as FailureCode]?.class },
  { key: "body" },
];

/** What an answer said, where that may be shown. */
function bodyOf({ body, shape }: KeptOrderAnswer, { mayShowPhi }: Viewer) {
  if (body) return mayShowPhi ? { body: body.reveal() } : { isHidden: true };
  return { body: shape === "empty" ? "(no body)" : "(a body that can't be read)" };
}

const ORDER_CONTROL = forPrograms<ControlRequestView>(
  ...(["control", "actor", "reason", "state", "attempts", "failure", "askedAt", "decidedAt"] as const),
);
