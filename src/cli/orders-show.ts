import type { Command } from "commander";
import type pg from "pg";
import type { Config } from "../config/config.ts";
import { formatAuthority } from "../core/assigning-authority.ts";
import { Failure } from "../core/failures.ts";
import type { ContainerLocation } from "../core/outcome.ts";
import { type KeptOrderAnswer, listOrderAnswers } from "../ledger/answers.ts";
import { listOrderWishes, type WishView } from "../ledger/cancellations.ts";
import { formatId } from "../ledger/ids.ts";
import { recordAudit } from "../ledger/operator.ts";
import type { LedgerOrder } from "../ledger/order-row.ts";
import { findPausedQueues } from "../ledger/paused-queues.ts";
import { listOrderTasks, type Task } from "../ledger/tasks.ts";
import {
  type DeliveryView,
  findMessage,
  findOrders,
  findSent,
  listEvents,
  listOrderDeliveries,
  type MessageView,
  type OrderEvent,
} from "../ledger/views.ts";
import { findLaneHolder, isSubmitterThere } from "../ledger/waiting.ts";
import { clean } from "./clean.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { HIDDEN, hideBody, reveal } from "./hidden.ts";
import { answerJson, answerLines } from "./order-answers.ts";
import { deliveryJson, orderJson } from "./order-json.ts";
import { wishJson, wishLine } from "./order-wishes.ts";
import { stateStyles } from "./orders-list.ts";
import type { Session } from "./session.ts";
import { renderFields, renderTable } from "./table.ts";
import { taskJson, taskLines } from "./tasks-run.ts";
import { describeEvent } from "./timeline.ts";
import { localTime, relativeTime, timeWithAge } from "./times.ts";
import { nameOf, needsLaneHolder, whyWaiting } from "./why-waiting.ts";

/** All that is known of an order. */
interface OrderFile {
  readonly order: LedgerOrder;
  readonly message: MessageView | undefined;
  readonly sent: unknown;
  readonly answers: readonly KeptOrderAnswer[];
  readonly wishes: readonly WishView[];
  readonly tasks: readonly Task[];
  readonly events: readonly OrderEvent[];
  readonly deliveries: readonly DeliveryView[];
  readonly whyWaiting: string | undefined;
}

/** `orders show`. A placer order number that several orders carry shows all of them. */
export async function showOrderCommand(session: Session, command: Command): Promise<undefined> {
  const [word] = command.processedArgs as [string];
  const config = readConfig(session);
  await withLedger(session, config, ({ pool }) => showOrders(session, config, pool, word));
  return undefined;
}

/** Shows the orders that a word names. @throws Failure CLI_NOT_FOUND */
export async function showOrders(
  session: Session,
  config: Config,
  pool: pg.Pool,
  word: string,
): Promise<void> {
  const orders = await findOrders(pool, word);
  if (orders.length === 0) throw new Failure("CLI_NOT_FOUND", `no order ${word}`);
  if (session.mayShowPhi) {
    const targets = orders.map(({ id }) => ({ target: formatId("o", id) }));
    await recordAudit(pool, { actor: session.actor }, "show-phi", targets);
  }
  const files: OrderFile[] = [];
  for (const order of orders) files.push(await readOrderFile(order, config, pool, session.clock.now()));
  if (session.isJson) {
    session.json({ orders: files.map((file) => fileJson(file, session.mayShowPhi)) });
    return;
  }
  files.forEach((file, index) => {
    if (index > 0) session.line();
    printFile(file, session);
  });
}

async function readOrderFile(
  order: LedgerOrder,
  config: Config,
  pool: pg.Pool,
  nowMs: number,
): Promise<OrderFile> {
  const laneHolder = needsLaneHolder(order)
    ? await findLaneHolder(pool, order.id, config.lanes.parkedBlocks)
    : undefined;
  return {
    order,
    message: await findMessage(pool, order.messageId),
    sent: await findSent(pool, order.id),
    answers: await listOrderAnswers(pool, order.id),
    wishes: await listOrderWishes(pool, order.id),
    tasks: await listOrderTasks(pool, order.id),
    events: await listEvents(pool, order.id),
    deliveries: await listOrderDeliveries(pool, order.id),
    whyWaiting: whyWaiting(order, {
      nowMs,
      isDaemonThere: await isSubmitterThere(pool),
      pausedQueues: await findPausedQueues(pool),
      laneHolder,
    }),
  };
}

function fileJson(
  { order, message, sent, answers, wishes, tasks, events, deliveries, whyWaiting: why }: OrderFile,
  mayShowPhi: boolean,
) {
  const { subject } = order;
  return {
    ...orderJson(order, mayShowPhi),
    whyWaiting: why ?? null,
    subject: {
      code: reveal(subject.code, mayShowPhi) ?? null,
      firstName: reveal(subject.firstName, mayShowPhi) ?? null,
      lastName: reveal(subject.lastName, mayShowPhi) ?? null,
      dateOfBirth: reveal(subject.dateOfBirth, mayShowPhi) ?? null,
    },
    containers: order.containers.map(({ position, label, description, containerId, location }) => ({
      position,
      label,
      description: mayShowPhi || description === "" ? description : HIDDEN,
      containerId: containerId ?? null,
      location: location ?? null,
    })),
    sources: order.sources,
    message: message
      ? {
          messageId: message.messageId,
          fileName: message.fileName ?? null,
          place: message.place,
          messageControlId: message.messageControlId ?? null,
          messageType: message.messageType ?? null,
          receivedAt: message.receivedAt.toISOString(),
        }
      : null,
    sent: hideBody(sent, mayShowPhi) ?? null,
    answers: answers.map(answerJson),
    wishes: wishes.map(wishJson),
    tasks: tasks.map(taskJson),
    timeline: events.map((event) => ({
      at: event.at.toISOString(),
      kind: event.kind,
      toState: event.toState ?? null,
      text: describeEvent(event),
      detail: event.detail,
    })),
    deliveries: deliveries.map(deliveryJson),
  };
}

function printFile(file: OrderFile, session: Session): void {
  const { order, sent, answers, wishes, tasks, events, deliveries } = file;
  const now = session.clock.now();
  const state = session.paint(["bold", ...stateStyles(order.state)], order.state);
  session.line(
    `Order ${clean(nameOf(order))}: ${order.operation}, ${state} since ${timeWithAge(order.changedAt, now)}`,
  );
  if (file.whyWaiting) session.line(`Why is it waiting? ${clean(file.whyWaiting)}`);
  else if (order.failure) session.line(`Reason: ${clean(order.failure.text)} (${order.failure.code})`);
  session.line();
  for (const line of renderFields(fieldsOf(file, session))) session.line(line);
  if (order.containers.length > 0) section(session, "Containers", containerLines(order, session));
  if (sent !== undefined) {
    section(
      session,
      "Sent to the service",
      [JSON.stringify(hideBody(sent, session.mayShowPhi), null, 2).split("\n").map(clean)].flat(),
    );
  }
  if (answers.length > 0) section(session, "Answers of the service", answers.flatMap(answerLines));
  if (wishes.length > 0) section(session, "Wanted of it", wishes.map(wishLine));
  if (tasks.length > 0) section(session, "For a person to do", taskLines(tasks, session));
  section(
    session,
    "Timeline",
    events.map((event) => `${localTime(event.at)}  ${clean(describeEvent(event))}`),
  );
  section(
    session,
    "Told to the lab",
    deliveries.length === 0 ? ["nothing yet"] : deliveryTable(deliveries, session),
  );
}

function fieldsOf({ order, message }: OrderFile, session: Session): [string, string | undefined][] {
  const now = session.clock.now();
  const { subject } = order;
  const show = session.mayShowPhi;
  const person = [reveal(subject.firstName, show), reveal(subject.lastName, show)].filter(Boolean).join(" ");
  const cameFrom =
    message && [message.fileName, message.place, message.messageType].filter(Boolean).join(", ");
  const isOpen = order.failure !== undefined || order.attempts > 0;
  return [
    ["numbered by", order.placerAuthority && formatAuthority(order.placerAuthority)],
    ["facility", `${order.facilityCode} (${order.facilityId} at the service)`],
    ["subject", reveal(subject.code, show)],
    ["name", person || undefined],
    ["born", reveal(subject.dateOfBirth, show)],
    ["received", timeWithAge(order.receivedAt, now)],
    [
      "message",
      `${formatId("m", order.messageId)} through ${order.connector}${cameFrom ? `: ${cameFrom}` : ""}`,
    ],
    ["surface", order.surface === "external" ? "external: the procedure was created directly" : undefined],
    ["request", order.requestId?.toString()],
    [
      "procedure",
      order.procedureId === undefined
        ? undefined
        : [order.procedureId, order.procedureCode].filter(Boolean).join(" "),
    ],
    ["service says", order.remoteStatus],
    ["attempts", isOpen ? String(order.attempts) : undefined],
  ];
}

function containerLines(order: LedgerOrder, session: Session): string[] {
  return renderTable(
    [
      { title: "label" },
      { title: "description", isFlexible: true },
      { title: "container id", isRight: true },
      { title: "location", isFlexible: true },
    ],
    order.containers.map(({ label, description, containerId, location }) => [
      label,
      session.mayShowPhi || description === "" ? description : HIDDEN,
      containerId?.toString() ?? "",
      location ? describeLocation(location) : "",
    ]),
    session.width,
  );
}

/** Where a container stands, in one line. */
export function describeLocation(location: ContainerLocation): string {
  const { storageName, storageId, canister, cane, position } = location;
  const storage = storageName ?? (storageId === undefined ? undefined : `storage ${storageId}`);
  const parts = [storage, canister && `canister ${canister}`, cane && `cane ${cane}`, position];
  return parts.filter(Boolean).join(", ");
}

/** The lines of a table of deliveries. */
export function deliveryTable(deliveries: readonly DeliveryView[], session: Session): string[] {
  const now = session.clock.now();
  return renderTable(
    [
      { title: "id" },
      { title: "connector" },
      { title: "file", isFlexible: true },
      { title: "state" },
      { title: "attempts", isRight: true },
      { title: "when" },
      { title: "reason", isFlexible: true },
    ],
    deliveries.map((delivery) => [
      delivery.deliveryId,
      delivery.connector,
      delivery.fileName,
      delivery.state,
      String(delivery.attempts),
      whenOf(delivery, now),
      delivery.failure ? `${delivery.failure.code}: ${delivery.failure.text}` : "",
    ]),
    session.width,
  );
}

function whenOf(delivery: DeliveryView, now: number): string {
  if (delivery.deliveredAt) return timeWithAge(delivery.deliveredAt, now);
  if (delivery.state !== "pending") return "";
  if (delivery.waitsBehind !== undefined) return `waits behind ${delivery.waitsBehind}`;
  return delivery.nextAt.getTime() <= now ? "due now" : `tried ${relativeTime(delivery.nextAt, now)}`;
}

function section(session: Session, title: string, lines: readonly string[]): void {
  session.line();
  session.line(session.paint("bold", title));
  for (const line of lines) session.line(`  ${line}`);
}
