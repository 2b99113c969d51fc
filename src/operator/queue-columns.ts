import type pg from "pg";
import { type JobData, type JobQueues, type JobView, QUEUE_NAMES, type QueueName } from "../jobs/queues.ts";
import { formatId } from "../ledger/ids.ts";
import {
  countQueueWork,
  findPausedQueues,
  listInHand,
  type OrderInHand,
  type PausedQueue,
  type QueueWork,
} from "../ledger/operator/queues.ts";
import type { DeliveryView } from "../ledger/operator/views.ts";
import type { Orphaned } from "../ledger/results/orphaned.ts";
import type { Column } from "./column.ts";
import {
  authorityOf,
  DELIVERY_COLUMNS,
  type ListedOrder,
  ORDER_REASON,
  PAINT_BY_STATE,
  showNumber,
  stateInWords,
} from "./order-columns.ts";
import type { Place } from "./place.ts";
import { counted, countsInWords } from "./text.ts";
import { pausedInWords } from "./things/queues.ts";
import { relativeTime } from "./times.ts";
import { whyWaiting } from "./why-waiting.ts";

/** What one queue has to do, by the ledger and by BullMQ. */
export interface QueueView {
  readonly queue: QueueName;
  readonly isPaused: boolean;
  /** Since when, by whom and why; undefined while it runs. */
  readonly pause: PausedQueue | undefined;
  readonly ledger: QueueWork;
  /** Jobs by state; null when BullMQ's server can't be asked. */
  readonly bullmq: Readonly<Record<string, number>> | null;
}

/** All queues. @param counts what BullMQ has by queue, where it was asked and answers */
export async function readQueues(
  pool: pg.Pool,
  counts?: Awaited<ReturnType<JobQueues["counts"]>>,
): Promise<QueueView[]> {
  const [work, paused] = await Promise.all([countQueueWork(pool), findPausedQueues(pool)]);
  return QUEUE_NAMES.map((queue) => {
    const pause = paused.find((each) => each.queue === queue);
    const isPaused = pause !== undefined;
    return { queue, isPaused, pause, ledger: work[queue], bullmq: counts?.[queue] ?? null };
  });
}

/** A queue. */
export const QUEUE_COLUMNS: readonly Column<QueueView>[] = [
  { key: "queue", title: "queue" },
  { key: "ledger" },
  { title: "waiting", isRight: true, show: ({ ledger }) => ledger.waiting },
  { title: "delayed", isRight: true, show: ({ ledger }) => ledger.delayed },
  { title: "in hand", isRight: true, show: ({ ledger }) => ledger.inHand },
  { title: "parked", isRight: true, show: ({ ledger }) => ledger.parked },
  {
    key: "bullmq",
    title: "handed over",
    isFlexible: true,
    show: ({ bullmq }) => (bullmq ? countsInWords(bullmq, "none") : "not reachable"),
  },
  {
    key: "isPaused",
    title: "",
    isFlexible: true,
    show: ({ pause }, { clock }) =>
      pause && pausedInWords(pause, ` ${relativeTime(pause.since, clock.now())}`),
    paint: () => "yellow",
  },
  { key: "pausedSince", value: ({ pause }) => pause?.since },
  { key: "pausedBy", value: ({ pause }) => pause?.actor },
  { key: "pauseReason", value: ({ pause }) => pause?.reason },
];

/** An order that waits before its submission. */
const WAITING_COLUMNS: readonly Column<ListedOrder>[] = [
  {
    key: "orderId",
    title: "id",
    value: ({ id }) => formatId("o", id),
    link: ({ id }) => `/orders/${formatId("o", id)}`,
  },
  { key: "placerOrderNumber", title: "order number", isFlexible: true, show: showNumber },
  { key: "placerAuthority", value: authorityOf },
  {
    key: "state",
    title: "state",
    show: ({ state }) => stateInWords(state),
    paint: ({ state }) => PAINT_BY_STATE[state],
  },
  { key: "attempts", title: "attempts", isRight: true },
  {
    key: "nextAt",
    title: "next",
    show: ({ nextAt, state, heldAt }, { clock }) => {
      if (state === "parked" || heldAt) return "";
      return nextAt.getTime() <= clock.now() ? "due now" : relativeTime(nextAt, clock.now());
    },
  },
  ORDER_REASON,
];

/** Orders that wait, as people see those as one that wait for the same. The id of what each waits for is no part of it. */
export const WAITING_ORDERS = {
  key: "waitingOrders",
  title: "Orders that wait",
  columns: WAITING_COLUMNS,
  groupBy: (order: ListedOrder) =>
    [
      order.state,
      order.failure?.code,
      order.failure?.text,
      order.around && whyWaiting(order, order.around)?.alike,
    ].join("\0"),
};

/** Results that the lab does not have, likewise. */
export const OPEN_DELIVERIES = {
  key: "openDeliveries",
  title: "Results that the lab doesn't have",
  columns: DELIVERY_COLUMNS,
  groupBy: ({ connector, state, failure, waitsBehind }: DeliveryView) =>
    [connector, state, failure?.code, failure?.text, waitsBehind].join("\0"),
};

const ORPHANED_COLUMNS: readonly Column<Orphaned>[] = [
  { key: "connector", title: "connector" },
  { key: "results", title: "results", isRight: true },
  { key: "orders", title: "orders in work", isRight: true },
  { key: "messages", title: "messages", isRight: true },
  { key: "since", title: "since", show: ({ since }, { clock }) => relativeTime(since, clock.now()) },
];

/** Connectors that are not configured, of which something waits. */
export const ORPHANED = {
  key: "orphaned",
  title: "Connectors that are not configured",
  columns: ORPHANED_COLUMNS,
};

/** Said where that is so. */
export const NO_DAEMON = "No daemon works on this ledger right now.";

/** A job of BullMQ, and what it is about in words. */
export interface NamedJob extends JobView {
  readonly about: string;
}

/** A job. */
export const JOB_COLUMNS: readonly Column<NamedJob>[] = [
  { key: "about", title: "about", isFlexible: true },
  { key: "queue", title: "queue" },
  { key: "jobId" },
  { key: "state", title: "state" },
  { key: "attempts" },
  { key: "addedAt", title: "added", show: ({ addedAt }, { clock }) => relativeTime(addedAt, clock.now()) },
  { key: "data" },
];

/** Jobs, as people see equal ones as one. */
export const HANDED_OVER = {
  key: "jobs",
  title: "Handed over to the workers",
  columns: JOB_COLUMNS,
  groupBy: ({ queue, state, about }: NamedJob) => [queue, state, about].join("\0"),
};

/** Orders in hand that are named; the others are counted. */
const MOST_NAMED = 5;

/** Jobs in words: a wake-up is the orders that workers have in hand, a facility and a connector have names. */
export async function nameJobs(jobs: readonly JobView[], { pool, config }: Place): Promise<NamedJob[]> {
  const isAny = jobs.some(({ queue }) => queue === "submit");
  const inHand = isAny ? await listInHand(pool, MOST_LISTED) : [];
  const about = ({ queue, data }: JobView): string => {
    switch (queue) {
      case "submit":
        return nameOrders(inHand);
      case "track": {
        const { facilityId } = data as JobData["track"];
        const codes = [...config.facilityIdByCode].flatMap(([code, id]) => (id === facilityId ? [code] : []));
        return `how orders stand at ${codes.join(", ") || `facility ${facilityId}`}`;
      }
      case "deliver":
        return `results through ${(data as JobData["deliver"]).connector}`;
    }
  };
  return jobs.map((job) => ({ ...job, about: about(job) }));
}

function nameOrders(orders: readonly OrderInHand[]): string {
  if (orders.length === 0) return "orders that are due";
  const names = orders
    .slice(0, MOST_NAMED)
    .map(({ orderId, placerOrderNumber }) =>
      placerOrderNumber ? `${orderId} (${placerOrderNumber})` : orderId,
    );
  const more = orders.length - MOST_NAMED;
  const all = orders.length < MOST_LISTED ? counted(orders.length, "order") : `${MOST_LISTED} orders or more`;
  return `${all}: ${names.join(", ")}${more > 0 ? " and more" : ""}`;
}

/** Orders in hand that are counted, at most. */
const MOST_LISTED = 1_000;
