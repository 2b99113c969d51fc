import type { Command } from "commander";
import { readOrphaned } from "../../app/orphaned.ts";
import { hintForOrphaned } from "../../console/orphaned.ts";
import { Failure } from "../../core/failures.ts";
import {
  type JobData,
  type JobQueues,
  type JobView,
  QUEUE_NAMES,
  type QueueName,
} from "../../jobs/queues.ts";
import { formatId, parseId } from "../../ledger/ids.ts";
import {
  type BatchOrder,
  countQueueWork,
  findPausedQueues,
  listBatchOrders,
  type QueueWork,
} from "../../ledger/operator/queues.ts";
import {
  type DeliveryView,
  findDelivery,
  listOpenDeliveries,
  listWaitingOrders,
} from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import type { Orphaned } from "../../ledger/results/orphaned.ts";
import { isWorkerThere } from "../../ledger/workers/roster.ts";
import type { Column } from "../../operator/column.ts";
import { authorityOf, DELIVERY_COLUMNS, ORDER_REASON, showNumber } from "../../operator/order-columns.ts";
import { counted, countsInWords } from "../../operator/text.ts";
import { relativeTime } from "../../operator/times.ts";
import { getNamed } from "../acting.ts";
import { oneOf, wholeNumber } from "../arguments.ts";
import { type ExitStatus, exitStatusOf } from "../exit-status.ts";
import { type OpenSite, withLedger, withQueues } from "../open.ts";
import { printDetails, table } from "../output/details.ts";
import { failureJson, toFailure } from "../output/failure.ts";
import { groupedTable } from "../output/groups.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { showOrders } from "./orders-show.ts";
import { moveResultsOf, remove, retry, setPaused } from "./queue-act.ts";
import { showResult } from "./results.ts";

/** `cryobridge queue …`. */
export function define(queue: Command, cli: Cli): void {
  queue
    .command("list", { isDefault: true })
    .description(
      "How much work stands where, which orders wait and what for, and what the lab doesn't have yet.",
    )
    .option("--limit <n>", "at most this many lines of each kind", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge queue list --limit 10")
    .action(toAction(cli, list));
  queue
    .command("show")
    .description("Show an order (o17), a delivery (d4), or a job by its id in BullMQ.")
    .argument("<id>", "o…, d… or a job's id")
    .addHelpText("after", "\nExample:\n  cryobridge queue show d4")
    .action(toAction(cli, show));
  queue
    .command("retry")
    .description("Have deliveries tried now instead of at their next planned time.")
    .argument("<id...>", "d…")
    .option("--reason <text>", "why, for the audit")
    .addHelpText("after", "\nExample:\n  cryobridge queue retry d4 d5")
    .action(toAction(cli, retry));
  queue
    .command("remove")
    .description("Give up deliveries that the lab doesn't have.")
    .argument("<id...>", "d…")
    .option("--reason <text>", "why, for the audit")
    .option("-y, --yes", "don't ask before giving up more than one")
    .addHelpText("after", '\nExample:\n  cryobridge queue remove d4 --reason "reported by phone"')
    .action(toAction(cli, remove));
  queue
    .command("move")
    .description(
      "Send the results of a connector that is no longer configured through another one of its type, and those of its orders later as well.",
    )
    .requiredOption("--from <connector>", "the name that is gone")
    .requiredOption("--to <connector>", "one that is configured")
    .option("--reason <text>", "why, for the audit")
    .option("-y, --yes", "don't ask")
    .addHelpText("after", "\nExample:\n  cryobridge queue move --from lims --to lims-new")
    .action(toAction(cli, moveResultsOf));
  for (const [name, description, act] of [
    ["pause", "Hand nothing new to a queue until it is resumed; intake goes on.", setPaused(true)],
    ["resume", "Let a paused queue go on.", setPaused(false)],
  ] as const) {
    queue
      .command(name)
      .description(description)
      .argument("<queue>", "submit, track or deliver", oneOf(QUEUE_NAMES))
      .option("--reason <text>", "why, for the audit")
      .addHelpText("after", `\nExample:\n  cryobridge queue ${name} submit`)
      .action(toAction(cli, act));
  }
}

/** What one queue has to do, by the ledger and by BullMQ. */
interface QueueView {
  readonly queue: QueueName;
  readonly isPaused: boolean;
  readonly ledger: QueueWork;
  /** Jobs by state; null when BullMQ's server can't be asked. */
  readonly bullmq: Readonly<Record<string, number>> | null;
}

const QUEUES: readonly Column<QueueView>[] = [
  { key: "queue", title: "queue" },
  { key: "ledger" },
  { title: "waiting", isRight: true, show: ({ ledger }) => ledger.waiting },
  { title: "backing off", isRight: true, show: ({ ledger }) => ledger.backingOff },
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
    show: ({ isPaused }) => (isPaused ? "paused" : ""),
    paint: () => "yellow",
  },
];

const WAITING: readonly Column<LedgerOrder>[] = [
  { key: "orderId", title: "id", value: ({ id }) => formatId("o", id) },
  { key: "placerOrderNumber", title: "order number", isFlexible: true, show: showNumber },
  { key: "placerAuthority", value: authorityOf },
  { key: "state", title: "state" },
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

const WAITING_ORDERS = {
  key: "waitingOrders",
  title: "Orders that wait",
  columns: WAITING,
  groupBy: (order: LedgerOrder) => [order.state, order.failure?.code, ORDER_REASON.show(order)].join("\0"),
};

const OPEN_DELIVERIES = {
  key: "openDeliveries",
  title: "Results that the lab doesn't have",
  columns: DELIVERY_COLUMNS,
  groupBy: ({ connector, state, failure, waitsBehind }: DeliveryView) =>
    [connector, state, failure?.code, failure?.text, waitsBehind].join("\0"),
};

const ORPHANED: readonly Column<Orphaned>[] = [
  { key: "connector", title: "connector" },
  { key: "results", title: "results", isRight: true },
  { key: "orders", title: "orders in work", isRight: true },
  { key: "messages", title: "messages", isRight: true },
  { key: "since", title: "since", show: ({ since }, { clock }) => relativeTime(since, clock.now()) },
];

/** A job of BullMQ, and what it is about in words. */
interface NamedJob extends JobView {
  readonly about: string;
}

const JOBS: readonly Column<NamedJob>[] = [
  { key: "about", title: "about", isFlexible: true },
  { key: "queue", title: "queue" },
  { key: "jobId" },
  { key: "state", title: "state" },
  { key: "attempts" },
  { key: "addedAt", title: "added", show: ({ addedAt }, { clock }) => relativeTime(addedAt, clock.now()) },
  { key: "data" },
];

const HANDED_OVER = {
  key: "jobs",
  title: "Handed over to the workers",
  columns: JOBS,
  groupBy: ({ queue, state, about }: NamedJob) => [queue, state, about].join("\0"),
};

/** Orders of a batch that are named; the others are counted. */
const MOST_NAMED = 5;

/** Jobs in words: a batch is its orders, a facility and a connector have names. */
async function nameJobs(jobs: readonly JobView[], { pool, config }: OpenSite): Promise<NamedJob[]> {
  const batches = jobs.flatMap(({ queue, data }) =>
    queue === "submit" ? [(data as JobData["submit"]).batch] : [],
  );
  const ordersByBatch = Map.groupBy(
    batches.length === 0 ? [] : await listBatchOrders(pool, batches),
    ({ batch }) => batch,
  );
  const about = ({ queue, data }: JobView): string => {
    switch (queue) {
      case "submit":
        return nameOrders(ordersByBatch.get((data as JobData["submit"]).batch) ?? []);
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

function nameOrders(orders: readonly BatchOrder[]): string {
  if (orders.length === 0) return "orders that are done with";
  const names = orders
    .slice(0, MOST_NAMED)
    .map(({ orderId, placerOrderNumber }) =>
      placerOrderNumber ? `${orderId} (${placerOrderNumber})` : orderId,
    );
  const more = orders.length - MOST_NAMED;
  return `${counted(orders.length, "order")}: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Rows that are read for people, who see equal ones as one. */
const MOST_ROWS = 1_000;

/** Status 4 when BullMQ's server can't be asked, after what the ledger says was shown. */
async function list(
  session: Session,
  { limit }: { readonly limit: number },
): Promise<ExitStatus | undefined> {
  return withLedger(session, async (site) => {
    const { pool, config } = site;
    const asked = await withQueues(session, site, async (queues) => ({
      counts: await queues.counts(),
      jobs: await listJobs(queues, limit),
    })).catch(toFailure);
    const failure = asked instanceof Failure ? asked : undefined;
    const { counts, jobs } = asked instanceof Failure ? { counts: undefined, jobs: [] } : asked;
    const isDaemonRunning = await isWorkerThere(pool);
    const work = await countQueueWork(pool);
    const paused = await findPausedQueues(pool);
    const queues = QUEUE_NAMES.map((queue): QueueView => {
      const bullmq = counts?.[queue] ?? null;
      return { queue, isPaused: paused.has(queue), ledger: work[queue], bullmq };
    });
    const rows = session.isJson ? limit : Math.max(limit, MOST_ROWS);
    const waiting = await listWaitingOrders(pool, rows);
    const deliveries = await listOpenDeliveries(pool, rows);
    const orphaned = await readOrphaned(pool, config);
    const hints = orphaned.map(hintForOrphaned);
    const warning = session.paint("yellow", "No daemon works on this ledger right now.");
    printDetails(
      session,
      [],
      [
        { json: { isDaemonRunning }, lines: isDaemonRunning ? [] : [warning] },
        table(["queues", "Queues"], QUEUES, queues, session),
        groupedTable({ ...WAITING_ORDERS, limit }, waiting, session),
        groupedTable({ ...OPEN_DELIVERIES, limit }, deliveries, session),
        table(["orphaned", "Connectors that are not configured"], ORPHANED, orphaned, session),
        { json: {}, lines: hints },
        failure
          ? { json: { jobs: null, error: failureJson(failure) }, lines: [] }
          : groupedTable({ ...HANDED_OVER, limit }, await nameJobs(jobs, site), session),
      ],
    );
    if (!failure) return undefined;
    session.note(`\n${failure.message} (${failure.code})\n  ${failure.hint}`);
    return exitStatusOf(failure.code);
  });
}

async function listJobs(queues: JobQueues, limit: number): Promise<JobView[]> {
  return (await Promise.all(QUEUE_NAMES.map((name) => queues.list(name, limit)))).flat();
}

/** Jobs of a queue that are searched for one: the window of jobs is smaller. */
const MOST_JOBS = 5_000;

async function show(session: Session, word: string): Promise<undefined> {
  await withLedger(session, async (site) => {
    if (parseId("o", word) !== undefined) return showOrders(session, site, word);
    if (parseId("d", word) !== undefined)
      return showResult(await getNamed("d", word, (id) => findDelivery(site.pool, id)), session);
    const all = await withQueues(session, site, (queues) => listJobs(queues, MOST_JOBS));
    const jobs = all.filter(({ jobId }) => jobId === word);
    if (jobs.length === 0) {
      throw new Failure("CLI_NOT_FOUND", `no order, delivery or job ${word}; finished jobs are not kept`);
    }
    const named = await nameJobs(jobs, site);
    printDetails(session, [], [table(["jobs", "Jobs in BullMQ"], JOBS, named, session)]);
  });
}
