import { FAILURES, type FailureCode } from "../../core/failures.ts";
import { formatId } from "../../ledger/ids.ts";
import type { MessageView } from "../../ledger/messages/views.ts";
import type { OrderEvent } from "../../ledger/operator/views.ts";
import type { ControlRequestView } from "../../ledger/orders/control-requests.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import type { KeptOrderAnswer } from "../../ledger/orders/service-answers.ts";
import { CALL_COLUMNS, describeCall, type ShownCall } from "../../operator/calls.ts";
import { type Column, forPrograms, recordJson } from "../../operator/column.ts";
import { hideRecord } from "../../operator/hide-record.ts";
import { MESSAGE_PLACE } from "../../operator/message-columns.ts";
import {
  DELIVERY_COLUMNS,
  ORDER_COLUMNS,
  PAINT_BY_STATE,
  stateInWords,
  subjectJson,
  TASK_COLUMNS,
} from "../../operator/order-columns.ts";
import {
  CONTAINER_COLUMNS,
  describeAnswer,
  describeControl,
  hintForControl,
  ORDER_DETAIL_COLUMNS,
  readOrderDetails,
  whyEnded,
  withStanding,
} from "../../operator/order-details.ts";
import { clean } from "../../operator/text.ts";
import { describeEvent, describeStep, stepsOf } from "../../operator/timeline.ts";
import { localTime, timeWithAge } from "../../operator/times.ts";
import { nameOf } from "../../operator/why-waiting.ts";
import { findNamedOrders, MOST_FOUND } from "../named-orders.ts";
import { type OpenSite, recordShown, withLedger } from "../open.ts";
import { detailsJson, fields, printSections, type Section, table } from "../output/details.ts";
import { ListWriter } from "../output/list.ts";
import type { Session } from "../session.ts";

/** `orders show`. A placer order number that several orders carry shows all of them; of several others one is chosen. */
export async function showOrder(session: Session, word: string): Promise<undefined> {
  await withLedger(session, (site) => showOrders(session, site, word));
}

/** Shows the orders that a word names. @throws Failure CLI_NOT_FOUND */
export async function showOrders(session: Session, site: OpenSite, word: string): Promise<void> {
  const { orders, isByNumber } = await findNamedOrders(site, word);
  if (!isByNumber && orders.length > 1) return listFound(session, site, word, orders);
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

async function listFound(
  session: Session,
  { pool }: OpenSite,
  word: string,
  orders: readonly LedgerOrder[],
): Promise<void> {
  const ids = orders.slice(0, MOST_FOUND).map(({ id }) => formatId("o", id));
  await recordShown(session, pool, ids);
  const list = new ListWriter(session, { key: "orders", columns: ORDER_COLUMNS, nothing: "" });
  list.write(await withStanding(pool, orders.slice(0, MOST_FOUND), session.clock.now()));
  const how = clean(`cryobridge orders list --find ${word} shows more`);
  list.end({ hasMore: orders.length > MOST_FOUND, how });
  session.note(clean(`Several orders have ${word}. Choose one: cryobridge orders show ${ids[0]}`));
}

interface Details {
  readonly heading: readonly string[];
  readonly sections: readonly Section[];
}

const MESSAGE = [
  ...forPrograms<MessageView>("messageId", "fileName"),
  MESSAGE_PLACE,
  ...forPrograms<MessageView>("messageControlId", "messageType", "receivedAt"),
];

async function readDetails(
  order: LedgerOrder,
  { config, pool }: OpenSite,
  session: Session,
): Promise<Details> {
  const { containers } = order;
  const nowMs = session.clock.now();
  const doesParkedBlock = config.lanes.parkedBlocks;
  const details = await readOrderDetails(pool, order, {
    nowMs,
    doesParkedBlock,
    isTraced: config.tracing !== undefined,
  });
  const { message, why, around, calls, answers, requests, tasks, events, deliveries, traceId } = details;
  const ended = whyEnded(order, details);
  const shown = calls.map((call) => ({ ...call, sent: hideRecord(call.sent, "order", session.mayShowPhi) }));
  const sent = shown.findLast((call) => call.sent !== undefined)?.sent;
  const paint = PAINT_BY_STATE[order.state];
  const state = session.paint(paint === undefined ? "bold" : ["bold", paint], stateInWords(order.state));
  const since = timeWithAge(order.changedAt, nowMs);
  const reported = table(["deliveries", "Sent to the lab"], DELIVERY_COLUMNS, deliveries, session);
  return {
    heading: [
      `Order ${clean(nameOf(order))}: ${order.operation}, ${state} since ${since}`,
      ...(why ? [`Why is it waiting? ${clean(why)}`] : []),
      ...(ended ? [`Reason: ${clean(ended.reason)}`] : []),
      ...hintLines(ended?.hint),
    ],
    sections: [
      fields(ORDER_DETAIL_COLUMNS, { ...order, message, traceId, site: around }, session),
      {
        json: {
          subject: subjectJson(order, session),
          whyWaiting: why ?? null,
          message: message ? recordJson(MESSAGE, message, session) : null,
        },
        lines: [],
      },
      table(["containers", "Containers"], CONTAINER_COLUMNS, containers, session),
      {
        title: "Calls to the service",
        json: { sent: sent ?? null, calls: shown.map((call) => recordJson(CALL_COLUMNS, call, session)) },
        lines: shown.flatMap(callLines),
      },
      {
        title: "Answers of the service",
        json: { answers: answers.map((answer) => recordJson(ANSWER, answer, session)) },
        lines: answers.flatMap((answer) => answerLines(answer, session)),
      },
      {
        title: "Order control requests",
        json: { orderControls: requests.map((request) => recordJson(ORDER_CONTROL, request, session)) },
        lines: requests.flatMap((request) => [
          `${localTime(request.askedAt)}  ${describeControl(request)}`,
          ...hintLines(hintForControl(request, order, details)),
        ]),
      },
      table(["tasks", "For a person to do"], TASK_COLUMNS, tasks, session),
      {
        title: "Timeline",
        json: { timeline: events.map((event) => recordJson(EVENT, event, session)) },
        lines: stepsOf(events).map((step) => `${localTime(step.at)}  ${clean(describeStep(step))}`),
      },
      deliveries.length === 0 ? { ...reported, lines: ["nothing yet"] } : reported,
    ],
  };
}

/** A call for people: what became of it, and what it sent. */
function callLines(call: ShownCall): string[] {
  const body = call.sent === undefined ? [] : JSON.stringify(call.sent, null, 2).split("\n");
  return [`${localTime(call.at)}  ${describeCall(call)}`, ...body.map((line) => `  ${clean(line)}`)];
}

function hintLines(hint: string | undefined): string[] {
  return hint === undefined ? [] : [`  ${clean(hint)}`];
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
  const missing = answer.shape === "empty" ? "(no body)" : "(a body that can't be read)";
  const hidden = answer.body && "(what it says is shown with --show-phi)";
  const body = (mayShowPhi ? answer.body?.reveal() : hidden) ?? missing;
  return [
    `${localTime(answer.firstAt)}  ${describeAnswer(answer)}`,
    ...body.split("\n").map((line) => `  ${clean(line)}`),
  ];
}

const ORDER_CONTROL = forPrograms<ControlRequestView>(
  ...(["control", "actor", "reason", "state", "attempts", "failure", "askedAt", "decidedAt"] as const),
);
