import { FAILURES, Failure, type FailureCode } from "../../core/failures.ts";
import { DONE } from "../../core/order-control.ts";
import type { ContainerLocation } from "../../core/outcome.ts";
import { formatId } from "../../ledger/ids.ts";
import { findMessage, type MessageView } from "../../ledger/messages/views.ts";
import { listOrderTasks } from "../../ledger/operator/tasks.ts";
import {
  findOrders,
  findSent,
  listEvents,
  listOrderDeliveries,
  type OrderEvent,
} from "../../ledger/operator/views.ts";
import { type ControlRequestView, listOrderRequests } from "../../ledger/orders/control-requests.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { type KeptOrderAnswer, listOrderAnswers } from "../../ledger/orders/service-answers.ts";
import { type Column, forPrograms, recordJson } from "../../operator/column.ts";
import {
  DELIVERY_COLUMNS,
  ORDER_COLUMNS,
  PAINT_BY_STATE,
  subjectJson,
  TASK_COLUMNS,
} from "../../operator/order-columns.ts";
import { findSurroundings } from "../../operator/surroundings.ts";
import { clean, counted, hideBody } from "../../operator/text.ts";
import { describeEvent } from "../../operator/timeline.ts";
import { localTime, timeWithAge } from "../../operator/times.ts";
import { nameOf, whyWaiting } from "../../operator/why-waiting.ts";
import { type OpenSite, recordShown, withLedger } from "../open.ts";
import { detailsJson, fields, printSections, type Section, table } from "../output/details.ts";
import type { Session } from "../session.ts";

/** `orders show`. A placer order number that several orders carry shows all of them. */
export async function showOrder(session: Session, word: string): Promise<undefined> {
  await withLedger(session, (site) => showOrders(session, site, word));
}

/** Shows the orders that a word names. @throws Failure CLI_NOT_FOUND */
export async function showOrders(session: Session, site: OpenSite, word: string): Promise<void> {
  const orders = await findOrders(site.pool, word);
  if (orders.length === 0) throw new Failure("CLI_NOT_FOUND", `no order ${word}`);
  const ids = orders.map(({ id }) => formatId("o", id));
  await recordShown(session, site.pool, ids);
  const all: Details[] = [];
  for (const order of orders) all.push(await readDetails(order, site, session));
  if (session.isJson) {
    session.json({ orders: all.map(({ sections }) => detailsJson(sections)) });
    return;
  }
  for (const [index, { heading, sections }] of all.entries()) {
    if (index > 0) session.line();
    printSections(session, heading, sections);
  }
}

interface Details {
  readonly heading: readonly string[];
  readonly sections: readonly Section[];
}

/** An order with the message that it came in. */
interface WithMessage extends LedgerOrder {
  readonly message: MessageView | undefined;
}

const DETAILS: readonly Column<WithMessage>[] = [
  ...ORDER_COLUMNS,
  { title: "message", only: "details", show: originOf },
  {
    title: "attempts",
    only: "details",
    show: ({ attempts, failure }) => (failure !== undefined || attempts > 0 ? attempts : ""),
  },
  { key: "sources" },
];

const MESSAGE = forPrograms<MessageView>(
  ...(["messageId", "fileName", "place", "messageControlId", "messageType", "receivedAt"] as const),
);

const CONTAINERS: readonly Column<LedgerOrder["containers"][number]>[] = [
  { key: "position" },
  { key: "label", title: "label" },
  { key: "description", title: "description", isFlexible: true, isPhi: true },
  { key: "containerId", title: "container id", isRight: true },
  {
    key: "location",
    title: "location",
    isFlexible: true,
    show: ({ location }) => location && describeLocation(location),
  },
];

async function readDetails(
  order: LedgerOrder,
  { config, pool }: OpenSite,
  session: Session,
): Promise<Details> {
  const { id, containers, failure } = order;
  const nowMs = session.clock.now();
  const message = await findMessage(pool, order.messageId);
  const sent = hideBody(await findSent(pool, id), session.mayShowPhi);
  const answers = await listOrderAnswers(pool, id);
  const requests = await listOrderRequests(pool, id);
  const events = await listEvents(pool, id);
  const deliveries = await listOrderDeliveries(pool, id);
  const doesParkedBlock = config.lanes.parkedBlocks;
  const why = whyWaiting(order, await findSurroundings(pool, order, { nowMs, doesParkedBlock }));
  const paint = PAINT_BY_STATE[order.state];
  const state = session.paint(paint === undefined ? "bold" : ["bold", paint], order.state);
  const since = timeWithAge(order.changedAt, nowMs);
  const reported = table(["deliveries", "Sent to the lab"], DELIVERY_COLUMNS, deliveries, session);
  return {
    heading: [
      `Order ${clean(nameOf(order))}: ${order.operation}, ${state} since ${since}`,
      ...(why ? [`Why is it waiting? ${clean(why)}`] : []),
      ...(!why && failure ? [`Reason: ${clean(failure.text)} (${failure.code})`] : []),
    ],
    sections: [
      fields(DETAILS, { ...order, message }, session),
      {
        json: {
          subject: subjectJson(order, session),
          whyWaiting: why ?? null,
          message: message ? recordJson(MESSAGE, message, session) : null,
        },
        lines: [],
      },
      table(["containers", "Containers"], CONTAINERS, containers, session),
      {
        title: "Sent to the service",
        json: { sent: sent ?? null },
        lines: sent === undefined ? [] : JSON.stringify(sent, null, 2).split("\n").map(clean),
      },
      {
        title: "Answers of the service",
        json: { answers: answers.map((answer) => recordJson(ANSWER, answer, session)) },
        lines: answers.flatMap((answer) => answerLines(answer, session)),
      },
      {
        title: "Order control requests",
        json: { orderControls: requests.map((request) => recordJson(ORDER_CONTROL, request, session)) },
        lines: requests.map(orderControlLine),
      },
      table(["tasks", "For a person to do"], TASK_COLUMNS, await listOrderTasks(pool, id), session),
      {
        title: "Timeline",
        json: { timeline: events.map((event) => recordJson(EVENT, event, session)) },
        lines: events.map((event) => `${localTime(event.at)}  ${clean(describeEvent(event))}`),
      },
      deliveries.length === 0 ? { ...reported, lines: ["nothing yet"] } : reported,
    ],
  };
}

function originOf({ message, messageId, connector }: WithMessage): string {
  const parts = message ? [message.fileName, message.place, message.messageType] : [];
  const origin = parts.filter(Boolean).join(", ");
  return `${formatId("m", messageId)} through ${connector}${origin ? `: ${origin}` : ""}`;
}

/** Where a container stands, in one line. */
function describeLocation({ storageName, storageId, canister, cane, position }: ContainerLocation): string {
  const storage = storageName ?? (storageId === undefined ? undefined : `storage ${storageId}`);
  const parts = [storage, canister && `canister ${canister}`, cane && `cane ${cane}`, position];
  return parts.filter(Boolean).join(", ");
}

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

/** An answer of the service for people: what it was, what it was taken to mean, and its body where that may be shown. */
function answerLines(answer: KeptOrderAnswer, { mayShowPhi }: Session): string[] {
  const { method, route, status, contentType, errorCode, failureCode, times } = answer;
  const what = [`status ${status}`, errorCode, contentType].filter(Boolean).join(", ");
  const often = times > 1 ? `, ${times} times, last at ${localTime(answer.lastAt)}` : "";
  const missing = answer.shape === "empty" ? "(no body)" : "(a body that can't be read)";
  const hidden = answer.body && "(what it says is shown with --show-phi)";
  const body = (mayShowPhi ? answer.body?.reveal() : hidden) ?? missing;
  return [
    `${localTime(answer.firstAt)}  ${method} ${route}: ${clean(what)}; taken as ${failureCode}${often}`,
    ...body.split("\n").map((line) => `  ${clean(line)}`),
  ];
}

const ORDER_CONTROL = forPrograms<ControlRequestView>(
  ...(["control", "actor", "reason", "state", "attempts", "failure", "askedAt", "decidedAt"] as const),
);

const CONTROL_STATES = {
  open: "not decided yet",
  done: "done",
  unable: "not possible",
} as const satisfies Record<ControlRequestView["state"], string>;

const CONTROL_WORDS = { ...DONE, status: "asked how it stands" } as const;

/** An order control request in words. */
function orderControlLine(request: ControlRequestView): string {
  const { control, actor, reason, state, attempts, failure, askedAt } = request;
  const why = reason === undefined ? "" : ` (${reason})`;
  const calls = attempts === 0 ? "" : `; ${counted(attempts, "call")} to the service`;
  const words = failure === undefined || state === "done" ? "" : `: ${failure.text} (${failure.code})`;
  const what = `${CONTROL_WORDS[control]} by ${actor}${why}: ${CONTROL_STATES[state]}`;
  return clean(`${localTime(askedAt)}  ${what}${words}${calls}`);
}
