import type { Command } from "commander";
import { readLeftBehind } from "../app/left-behind.ts";
import { mendLeftBehind, needsPerson } from "../console/tell-left-behind.ts";
import type { Failure } from "../core/failures.ts";
import { type JobView, QUEUE_NAMES, type QueueName } from "../jobs/queues.ts";
import { formatId } from "../ledger/ids.ts";
import type { LeftBehind } from "../ledger/left-behind.ts";
import type { LedgerOrder } from "../ledger/order-row.ts";
import { findPausedQueues } from "../ledger/paused-queues.ts";
import { countQueueWork, listRetryingOrders, type QueueWork } from "../ledger/queue-views.ts";
import { type DeliveryView, listOpenDeliveries } from "../ledger/views.ts";
import { isSubmitterThere } from "../ledger/waiting.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { type ExitStatus, exitStatusOf } from "./exit-status.ts";
import { withQueues } from "./open-queues.ts";
import { deliveryJson, reasonJson } from "./order-json.ts";
import { numberJson, showNumber } from "./order-number.ts";
import { deliveryTable } from "./orders-show.ts";
import { failureJson, toFailure } from "./report-failure.ts";
import type { Session } from "./session.ts";
import { renderTable } from "./table.ts";
import { relativeTime } from "./times.ts";

interface Overview {
  readonly isDaemonThere: boolean;
  readonly work: Record<QueueName, QueueWork>;
  readonly paused: ReadonlySet<string>;
  readonly retrying: readonly LedgerOrder[];
  readonly deliveries: readonly DeliveryView[];
  readonly leftBehind: readonly LeftBehind[];
  /** What BullMQ has; or why it can't be asked. */
  readonly jobs:
    | { readonly counts: Record<QueueName, Record<string, number>>; readonly list: readonly JobView[] }
    | Failure;
}

/** `queue list`: status 4 when BullMQ's server can't be asked, after what the ledger says was shown. */
export async function listQueueCommand(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const { limit } = command.opts<{ limit: number }>();
  const config = readConfig(session);
  const overview = await withLedger(session, config, async (ledger): Promise<Overview> => {
    const { pool } = ledger;
    const jobs = await withQueues(session, config, ledger, async (queues) => ({
      counts: await queues.counts(),
      list: (await Promise.all(QUEUE_NAMES.map((name) => queues.list(name, limit)))).flat(),
    })).catch(toFailure);
    return {
      isDaemonThere: await isSubmitterThere(pool),
      work: await countQueueWork(pool),
      paused: await findPausedQueues(pool),
      retrying: await listRetryingOrders(pool, limit),
      deliveries: await listOpenDeliveries(pool, limit),
      leftBehind: await readLeftBehind(pool, config),
      jobs,
    };
  });
  if (session.isJson) session.json(overviewJson(overview));
  else print(overview, session);
  return "code" in overview.jobs ? exitStatusOf(overview.jobs.code) : undefined;
}

function overviewJson({ isDaemonThere, work, paused, retrying, deliveries, leftBehind, jobs }: Overview) {
  const bullmq = "code" in jobs ? undefined : jobs;
  return {
    isDaemonRunning: isDaemonThere,
    queues: QUEUE_NAMES.map((name) => ({
      queue: name,
      isPaused: paused.has(name),
      ledger: work[name],
      bullmq: bullmq?.counts[name] ?? null,
    })),
    retryingOrders: retrying.map((order) => ({
      orderId: formatId("o", order.id),
      ...numberJson(order),
      state: order.state,
      attempts: order.attempts,
      nextAt: order.nextAt.toISOString(),
      reason: reasonJson(order.failure),
    })),
    openDeliveries: deliveries.map(deliveryJson),
    leftBehind: leftBehind.map((left) => ({
      ...left,
      since: left.since.toISOString(),
      movedTo: left.movedTo ?? null,
    })),
    jobs: bullmq?.list.map(jobJson) ?? null,
    ...("code" in jobs ? { error: failureJson(jobs) } : {}),
  };
}

/** A BullMQ job as JSON. */
export function jobJson(job: JobView) {
  return { ...job, addedAt: job.addedAt.toISOString() };
}

function print(overview: Overview, session: Session): void {
  const { work, paused, retrying, deliveries, leftBehind, jobs } = overview;
  if (!overview.isDaemonThere) {
    session.line(session.paint("yellow", "No daemon works on this ledger right now."));
    session.line();
  }
  const queues = renderTable(
    [
      { title: "queue" },
      { title: "waiting", isRight: true },
      { title: "backing off", isRight: true },
      { title: "in hand", isRight: true },
      { title: "parked", isRight: true },
      { title: "jobs in BullMQ", isFlexible: true },
      { title: "" },
    ],
    QUEUE_NAMES.map((name) => [
      name,
      String(work[name].waiting),
      String(work[name].backingOff),
      String(work[name].inHand),
      String(work[name].parked),
      "code" in jobs ? "not reachable" : countsInWords(jobs.counts[name]),
      paused.has(name) ? { text: "paused", paint: (text) => session.paint("yellow", text) } : "",
    ]),
    session.width,
  );
  for (const line of queues) session.line(line);
  section(session, "Orders to be tried again", retrying.length === 0 ? [] : retryTable(retrying, session));
  section(
    session,
    "Results that the lab doesn't have",
    deliveries.length === 0 ? [] : deliveryTable(deliveries, session),
  );
  section(session, "Connectors that are not configured", leftBehindLines(leftBehind, session));
  if ("code" in jobs) session.note(`\n${jobs.message} (${jobs.code})\n  ${jobs.mend}`);
  else section(session, "Jobs in BullMQ", jobs.list.length === 0 ? [] : jobTable(jobs.list, session));
}

/** What waits of connectors that are gone, and below it how to go on. */
function leftBehindLines(leftBehind: readonly LeftBehind[], session: Session): string[] {
  if (leftBehind.length === 0) return [];
  const now = session.clock.now();
  const table = renderTable(
    [
      { title: "connector" },
      { title: "results", isRight: true },
      { title: "orders in work", isRight: true },
      { title: "messages", isRight: true },
      { title: "since" },
      { title: "results go out through", isFlexible: true },
    ],
    leftBehind.map(({ connector, results, orders, messages, since, movedTo }) => [
      connector,
      ...[results, orders, messages].map(String),
      relativeTime(since, now),
      movedTo ?? "none",
    ]),
    session.width,
  );
  return [...table, ...leftBehind.filter(needsPerson).map((left) => `  ${mendLeftBehind(left)}`)];
}

function countsInWords(counts: Record<string, number>): string {
  const words = Object.entries(counts).flatMap(([state, count]) => (count > 0 ? [`${count} ${state}`] : []));
  return words.join(", ") || "none";
}

function retryTable(orders: readonly LedgerOrder[], session: Session): string[] {
  const now = session.clock.now();
  return renderTable(
    [
      { title: "id" },
      { title: "order number", isFlexible: true },
      { title: "state" },
      { title: "attempts", isRight: true },
      { title: "next" },
      { title: "last error", isFlexible: true },
    ],
    orders.map((order) => [
      formatId("o", order.id),
      showNumber(order),
      order.state,
      String(order.attempts),
      order.nextAt.getTime() <= now ? "due now" : relativeTime(order.nextAt, now),
      order.failure ? `${order.failure.code}: ${order.failure.text}` : "",
    ]),
    session.width,
  );
}

/** The lines of a table of BullMQ jobs. */
export function jobTable(jobs: readonly JobView[], session: Session): string[] {
  const now = session.clock.now();
  return renderTable(
    [
      { title: "queue" },
      { title: "job", isFlexible: true },
      { title: "state" },
      { title: "attempts", isRight: true },
      { title: "added" },
      { title: "about", isFlexible: true },
    ],
    jobs.map((job) => [
      job.queue,
      job.jobId,
      job.state,
      String(job.attempts),
      relativeTime(job.addedAt, now),
      JSON.stringify(job.data),
    ]),
    session.width,
  );
}

function section(session: Session, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  session.line();
  session.line(session.paint("bold", title));
  for (const line of lines) session.line(line);
}
