import { FAILURES, type FailureCode } from "../core/failures.ts";
import { type AssigningAuthority, formatAuthority, type OrderSubject } from "../core/order.ts";
import type { OrderState } from "../core/order-state.ts";
import { formatId } from "../ledger/ids.ts";
import type { MessageView } from "../ledger/messages/views.ts";
import type { Task } from "../ledger/operator/tasks.ts";
import type { DeliveryDetails, DeliveryView } from "../ledger/operator/views.ts";
import type { LedgerOrder } from "../ledger/orders/row.ts";
import { ageColumn, type Column, forPrograms, type Paint, recordJson, type Viewer } from "./column.ts";
import { readyHint } from "./ready-hint.ts";
import { hideText, withHint } from "./text.ts";
import { relativeTime } from "./times.ts";
import { hintFor, type Surroundings, whyWaiting } from "./why-waiting.ts";

/** What an order, a task or an order control request has of the number that the lab gave an order. */
interface Numbered {
  readonly placerOrderNumber?: string | undefined;
  readonly placerAuthority?: AssigningAuthority | undefined;
}

/** An order number for people, with who assigned it where that is known: `1001 (LAB)`; empty where there is none. */
export function showNumber({ placerOrderNumber = "", placerAuthority }: Numbered): string {
  return placerAuthority === undefined
    ? placerOrderNumber
    : `${placerOrderNumber} (${formatAuthority(placerAuthority)})`;
}

/** The same with stable keys, for programs; both null where there is none. */
export function numberJson({ placerOrderNumber, placerAuthority }: Numbered) {
  return {
    placerOrderNumber: placerOrderNumber ?? null,
    placerAuthority: placerAuthority === undefined ? null : formatAuthority(placerAuthority),
  };
}

/** Who assigned an order number, where that is known. */
export const authorityOf = ({ placerAuthority }: Numbered) =>
  placerAuthority && formatAuthority(placerAuthority);

interface Failing {
  readonly failure?: { readonly code: string; readonly text: string } | undefined;
}

/** Why something failed, waits or is parked. */
const REASON = {
  key: "reason",
  title: "reason",
  isFlexible: true,
  value: ({ failure }: Failing) => failure && withHint(failure),
  show: ({ failure }: Failing) => failure && `${failure.code}: ${failure.text}`,
} as const;

/** An order of a list, with what is around it; without that nothing is said of what it waits for. */
export interface ListedOrder extends LedgerOrder {
  readonly around?: Surroundings | undefined;
}

const waitsFor = (order: ListedOrder) => order.around && whyWaiting(order, order.around)?.brief;

/** What an order waits for, or why it ended as it did, for people; a program has the two apart. */
export const ORDER_REASON = {
  ...REASON,
  value: (order: LedgerOrder) => order.failure && withHint({ ...order.failure, hint: hintFor(order) }),
  show: (order: ListedOrder) => waitsFor(order) ?? REASON.show(order),
} as const;

/** How a message's verdict is coloured; every verdict has its place here. */
export const PAINT_BY_VERDICT: Readonly<Record<MessageView["verdict"], Paint>> = {
  accepted: "green",
  duplicate: "yellow",
  refused: "red",
  ignored: "dim",
  waiting: "yellow",
};

/** A state as people read it: `in progress`. */
export function stateInWords(state: string): string {
  return state.replaceAll("_", " ");
}

/** What a result says of an order or a message; `control` answers what the lab asked of an earlier order. */
function factInWords(says: string): string {
  return says === "control" ? "answer to order control" : stateInWords(says);
}

/** How a state is coloured: those that a person wants to see stand out. */
export const PAINT_BY_STATE: Readonly<Partial<Record<OrderState, Paint>>> = {
  completed: "green",
  parked: "red",
  failed: "red",
  rejected: "red",
  cancelled: "red",
  discarded: "dim",
};

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

/** The values of a task. */
export const TASK_COLUMNS: readonly Column<Task>[] = [
  { key: "taskId", title: "id" },
  {
    title: "about",
    show: (task) => task.orderId ?? task.messageId ?? task.deliveryId ?? task.file?.fileId,
    link: ({ orderId, messageId, deliveryId, file }) => {
      if (orderId !== undefined) return `/orders/${orderId}`;
      if (messageId !== undefined) return `/messages/${messageId}`;
      return deliveryId === undefined ? file && `/files/${file.fileId}` : `/results/${deliveryId}`;
    },
  },
  ...forPrograms<Task>("orderId", "messageId", "deliveryId"),
  { key: "file", value: ({ file }, viewer) => file && { ...file, path: pathOf(file, viewer) } },
  { key: "placerOrderNumber", title: "order number", isFlexible: true, show: showNumber },
  { key: "placerAuthority", value: authorityOf },
  { key: "kind" },
  {
    key: "openedAt",
    title: "since",
    show: ({ openedAt, closedBy }, { clock }) =>
      closedBy === undefined ? relativeTime(openedAt, clock.now()) : `done by ${closedBy}`,
  },
  {
    key: "text",
    title: "what",
    isFlexible: true,
    show: ({ file, text }, viewer) =>
      file === undefined ? text : `${pathOf(file, viewer)} of connector ${file.connector}: ${text}`,
  },
  ...forPrograms<Task>("closedAt", "closedBy"),
];

/** Where a dropped file lies, which may name a patient. */
function pathOf({ path }: NonNullable<Task["file"]>, { mayShowPhi }: Viewer): string {
  return hideText(path, mayShowPhi);
}

/** The subject of an order for programs. */
export function subjectJson({ subject }: { readonly subject: OrderSubject }, viewer: Viewer) {
  return recordJson(SUBJECT, subject, viewer);
}

const SUBJECT = forPrograms<OrderSubject>("code", "firstName", "lastName", "dateOfBirth");
