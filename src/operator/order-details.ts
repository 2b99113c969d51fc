import type { AtService } from "../core/failures.ts";
import { DONE } from "../core/order-control.ts";
import { traceOf } from "../core/order-step.ts";
import type { ContainerLocation } from "../core/outcome.ts";
import { placeText } from "../core/place.ts";
import { formatId } from "../ledger/ids.ts";
import { findMessage, type MessageView, type StoredMessage } from "../ledger/messages/views.ts";
import { findInstanceCode } from "../ledger/migrate.ts";
import { listOrderTasks, type Task } from "../ledger/operator/tasks.ts";
import {
  type DeliveryView,
  listEvents,
  listOrderDeliveries,
  type OrderEvent,
} from "../ledger/operator/views.ts";
import { findBodies } from "../ledger/orders/calls.ts";
import { type ControlRequestView, listOrderRequests } from "../ledger/orders/control-requests.ts";
import type { LedgerOrder } from "../ledger/orders/row.ts";
import { type KeptOrderAnswer, listOrderAnswers } from "../ledger/orders/service-answers.ts";
import type { ShownCall } from "./calls.ts";
import type { Column } from "./column.ts";
import { ORDER_COLUMNS } from "./lists/orders.ts";
import { type ListedOrder, type WaitingPlace, withSurroundings } from "./surroundings.ts";
import { clean, counted } from "./text.ts";
import { describeEvent } from "./timeline.ts";
import { localTime } from "./times.ts";
import { type Failed, hintFor, type Surroundings, whyWaiting } from "./why-waiting.ts";

/** All that is known of an order beside the order itself. */
interface OrderDetails {
  /** The message that it came in; undefined once retention has pruned it. */
  readonly message: StoredMessage | undefined;
  /** Why it waits, and what to do about it; undefined when it doesn't. */
  readonly why: string | undefined;
  readonly around: Surroundings | undefined;
  /** Its calls that change the service, with what they sent: that holds patients' values. */
  readonly calls: readonly ShownCall[];
  /** What the service answered to refused or unanswered calls. */
  readonly answers: readonly KeptOrderAnswer[];
  readonly requests: readonly ControlRequestView[];
  readonly tasks: readonly Task[];
  readonly events: readonly OrderEvent[];
  readonly deliveries: readonly DeliveryView[];
  /** Where its trace is found; undefined where none are made. */
  readonly traceId: string | undefined;
}

/** Reads all that is known of an order. */
export async function readOrderDetails(place: WaitingPlace, order: LedgerOrder): Promise<OrderDetails> {
  const { pool, config } = place;
  const { id, messageId } = order;
  const [message, bodies, answers, requests, tasks, events, deliveries, [{ around } = {}], instanceCode] =
    await Promise.all([
      findMessage(pool, messageId),
      findBodies(pool, id),
      listOrderAnswers(pool, id),
      listOrderRequests(pool, id),
      listOrderTasks(pool, id),
      listEvents(pool, id),
      listOrderDeliveries(pool, id),
      withSurroundings(place, [order]),
      config.tracing && findInstanceCode(pool),
    ]);
  const why = around && whyWaiting(order, { ...around, atService: foundAtService(events) })?.full;
  const traceId = instanceCode && traceOf(instanceCode, id).traceId;
  const calls = order.calls.map((call) => ({ ...call, sent: bodies.get(call.id) }));
  return { message, why, around, calls, answers, requests, tasks, events, deliveries, traceId };
}

/** Why an order ended otherwise than the lab wanted, and what to do; undefined for one that waits, and where nothing went wrong. */
export function whyEnded(
  order: Failed,
  { why, events, tasks }: Pick<OrderDetails, "why" | "events" | "tasks">,
): { readonly reason: string; readonly hint: string | undefined } | undefined {
  const { failure } = order;
  if (why || !failure) return undefined;
  const discarded =
    failure.code === "ORDER_DISCARDED" ? events.findLast(({ kind }) => kind === "discarded") : undefined;
  return {
    reason: `${failure.text} (${failure.code})`,
    hint: discarded ? describeEvent(discarded) : hintFor(order, { task: onlyOpen(tasks) }),
  };
}

/** The task that is meant where a hint speaks of one. */
function onlyOpen(tasks: readonly Task[]): string | undefined {
  const [only, ...others] = tasks.filter(({ closedAt }) => closedAt === undefined);
  return others.length === 0 ? only?.taskId : undefined;
}

/** What of the service may be the order's own, as it was when the order was parked last. */
function foundAtService(events: readonly OrderEvent[]): AtService | undefined {
  return events.findLast(({ kind }) => kind === "parked")?.detail.atService as AtService | undefined;
}

/** An order with the message that it came in, and where its trace is found. */
interface WithMessage extends ListedOrder {
  readonly message: MessageView | undefined;
  readonly traceId: string | undefined;
}

/** An order for people and programs, with where it came from. */
export const ORDER_DETAIL_COLUMNS: readonly Column<WithMessage>[] = [
  ...ORDER_COLUMNS,
  {
    title: "message",
    only: "details",
    show: originOf,
    link: ({ messageId }) => `/messages/${formatId("m", messageId)}`,
  },
  {
    title: "attempts",
    only: "details",
    show: ({ attempts, failure }) => (failure !== undefined || attempts > 0 ? attempts : ""),
  },
  { key: "traceId", title: "trace", only: "details" },
  { key: "sources" },
];

/** A container of an order. */
export const CONTAINER_COLUMNS: readonly Column<LedgerOrder["containers"][number]>[] = [
  { key: "position" },
  { key: "label", title: "label" },
  {
    key: "description",
    title: "description",
    isFlexible: true,
    isHidden: (_, { mayShowPhi }) => !mayShowPhi,
  },
  { key: "containerId", title: "container id", isRight: true },
  {
    key: "location",
    title: "location",
    isFlexible: true,
    show: ({ location }) => location && describeLocation(location),
  },
];

function originOf({ message, messageId, connector }: WithMessage): string {
  const parts = message ? [message.fileName, placeText(message.place), message.messageType] : [];
  const origin = parts.filter(Boolean).join(", ");
  return `${formatId("m", messageId)} through ${connector}${origin ? `: ${origin}` : ""}`;
}

/** Where a container stands, in one line. */
function describeLocation({ storageName, storageId, canister, cane, position }: ContainerLocation): string {
  const storage = storageName ?? (storageId === undefined ? undefined : `storage ${storageId}`);
  const parts = [storage, canister && `canister ${canister}`, cane && `cane ${cane}`, position];
  return parts.filter(Boolean).join(", ");
}

/** What an answer of the service was and what it was taken to mean, in words; its body is apart. */
export function describeAnswer(answer: KeptOrderAnswer): string {
  const { method, route, status, contentType, errorCode, failureCode, times } = answer;
  const what = [`status ${status}`, errorCode, contentType].filter(Boolean).join(", ");
  const often = times > 1 ? `, ${times} times, last at ${localTime(answer.lastAt)}` : "";
  return `${method} ${route}: ${clean(what)}; taken as ${failureCode}${often}`;
}

const CONTROL_STATES = {
  open: "not decided yet",
  done: "done",
  unable: "not possible",
} as const satisfies Record<ControlRequestView["state"], string>;

/** An order control request in words. */
export function describeControl(request: ControlRequestView): string {
  const { control, actor, reason, state, attempts, failure } = request;
  const why = reason === undefined ? "" : ` (${reason})`;
  const calls = attempts === 0 ? "" : `; ${counted(attempts, "call")} to the service`;
  const words = failure === undefined || state === "done" ? "" : `: ${failure.text} (${failure.code})`;
  const asked =
    control === "status" ? `${actor} asks how it stands` : `to be ${DONE[control]}, says ${actor}`;
  const what = `${asked}${why}: ${CONTROL_STATES[state]}`;
  return clean(`${what}${words}${calls}`);
}

/**
 * What a person does about the latest refused request of an order while a task asks for it. What is done about that one is done about those
 * before, which have the same task.
 */
export function hintForControl(
  request: ControlRequestView,
  order: Failed,
  { requests, tasks }: Pick<OrderDetails, "requests" | "tasks">,
): string | undefined {
  const task = onlyOpen(tasks);
  const isLatest = request === requests.findLast(({ state }) => state === "unable");
  if (!isLatest || request.failure === undefined || task === undefined) return undefined;
  return hintFor({ ...order, failure: request.failure as Failed["failure"] }, { task });
}
