import type pg from "pg";
import { asFailure, Failure } from "../../core/failures.ts";
import { type JobQueues, QUEUE_NAMES, type QueueName } from "../../jobs/queues.ts";
import { asRefusal } from "../../ledger/database-failures.ts";
import { formatId } from "../../ledger/ids.ts";
import {
  countQueueWork,
  findPausedQueues,
  type PausedQueue,
  type QueueWork,
} from "../../ledger/operator/queues.ts";
import { type DeliveryView, listOpenDeliveries, listWaitingOrders } from "../../ledger/operator/views.ts";
import type { Orphaned } from "../../ledger/results/orphaned.ts";
import { isWorkerThere } from "../../ledger/workers/roster.ts";
import type { Column, Viewer } from "../column.ts";
import { JOB_COLUMNS, listJobs, type NamedJob, nameJobs } from "../job-columns.ts";
import type { ListPlace } from "../list.ts";
import { ORDER_REASON } from "../lists/orders.ts";
import { DELIVERY_COLUMNS } from "../lists/results.ts";
import { authorityOf, PAINT_BY_STATE, showNumber, stateInWords } from "../order-words.ts";
import { type Overview, tablePart } from "../parts.ts";
import { type ListedOrder, withSurroundings } from "../surroundings.ts";
import { asSentence, countsInWords, NO_DAEMON } from "../text.ts";
import { hintForOrphaned, readOrphaned } from "../things/orphaned.ts";
import { MEANINGS, pausedInWords } from "../things/queues.ts";
import { relativeTime } from "../times.ts";

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
const QUEUE_COLUMNS: readonly Column<QueueView>[] = [
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
    title: "what it does",
    isFlexible: true,
    isLesser: true,
    show: ({ queue }) => MEANINGS[queue].replace(/\.$/, ""),
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

/** The same where BullMQ is not asked. */
export const LEDGER_QUEUE_COLUMNS = QUEUE_COLUMNS.filter(({ key }) => key !== "bullmq");

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

const ORPHANED_COLUMNS: readonly Column<Orphaned>[] = [
  { key: "connector", title: "connector" },
  { key: "results", title: "results", isRight: true },
  { key: "orders", title: "orders in work", isRight: true },
  { key: "messages", title: "messages", isRight: true },
  { key: "since", title: "since", show: ({ since }, { clock }) => relativeTime(since, clock.now()) },
];

/** What is asked besides the ledger, and how much is read. */
interface Asked {
  /** Undefined where nothing is worked off. */
  readonly askQueues:
    | (<T>(work: (queues: Pick<JobQueues, "counts" | "list">) => Promise<T>) => Promise<T>)
    | undefined;
  /** Rows of each table at most. */
  readonly limit: number;
}

/** What there is to do. BullMQ's server may be away while the ledger answers. */
export interface QueueOverview extends Overview {
  readonly queues: readonly QueueView[];
  readonly orphaned: readonly Orphaned[];
  readonly failure: Failure | undefined;
  /** The names of the tables that have more rows than were asked for. */
  readonly cut: readonly string[];
}

/** How much work stands where, which orders wait and what for, and what the lab doesn't have yet. */
export async function readQueueOverview(
  place: ListPlace,
  viewer: Viewer,
  { askQueues, limit }: Asked,
): Promise<QueueOverview> {
  const { pool } = place;
  const found = await askQueues?.(async (queues) => ({
    counts: await queues.counts(),
    ...(await listJobs(queues, limit)),
  })).catch((error: unknown) => asRefusal(error) ?? asFailure(error));
  const inQueues = found instanceof Failure ? undefined : found;
  const [isDaemonThere, queues, waiting, deliveries, orphaned, jobs] = await Promise.all([
    isWorkerThere(pool),
    readQueues(pool, inQueues?.counts),
    listWaitingOrders(pool, limit + 1).then((orders) => withSurroundings(place, orders)),
    listOpenDeliveries(pool, limit + 1),
    readOrphaned(place),
    inQueues && nameJobs(inQueues.jobs, place),
  ]);
  const table = <Row>(name: string, given: Parameters<typeof tablePart<Row>>[1]) =>
    tablePart<Row>(name, given, viewer);
  const isCut = {
    waitingOrders: waiting.length > limit,
    openDeliveries: deliveries.length > limit,
    jobs: inQueues?.isCut,
  };
  return {
    ...{ queues, orphaned, failure: found instanceof Failure ? found : undefined },
    cut: Object.entries(isCut).flatMap(([name, is]) => (is ? [name] : [])),
    remarks: isDaemonThere ? [] : [{ title: asSentence(`${NO_DAEMON} right now`), text: "", isAct: true }],
    parts: [
      { kind: "json", name: "daemon", json: { isDaemonRunning: isDaemonThere } },
      table<QueueView>("queues", {
        ...{ title: "Queues", rows: queues },
        columns: askQueues ? QUEUE_COLUMNS : LEDGER_QUEUE_COLUMNS,
      }),
      table<ListedOrder>("waitingOrders", {
        ...{ title: "Orders that wait", columns: WAITING_COLUMNS, nothing: "No order waits." },
        rows: waiting.slice(0, limit),
      }),
      table<DeliveryView>("openDeliveries", {
        ...{ title: "Results that the lab doesn't have", columns: DELIVERY_COLUMNS },
        rows: deliveries.slice(0, limit),
        nothing: noneOpen(queues),
      }),
      table<Orphaned>("orphaned", {
        ...{ title: "Connectors that are not configured", columns: ORPHANED_COLUMNS, rows: orphaned },
        notes: orphaned.map(hintForOrphaned),
      }),
      ...(jobs === undefined
        ? [{ kind: "json" as const, name: "jobs", json: { jobs: null } }]
        : [
            table<NamedJob>("jobs", {
              ...{ title: "Handed over to the workers", columns: JOB_COLUMNS, rows: jobs },
              nothing: "Nothing right now.",
            }),
          ]),
    ],
  };
}

/** What stands in place of results that the lab doesn't have: of a paused queue they are not made yet. */
function noneOpen(queues: readonly QueueView[]): string {
  const toMake = queues.find(({ queue }) => queue === "deliver")?.ledger.waiting ?? 0;
  return toMake === 0 ? "The lab has all results." : `Still to be made: ${toMake}.`;
}
