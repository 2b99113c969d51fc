import { type JobData, type JobQueues, type JobView, QUEUE_NAMES } from "../jobs/queues.ts";
import { listInHand, type OrderInHand } from "../ledger/operator/queues.ts";
import type { Column } from "./column.ts";
import type { Place } from "./place.ts";
import { counted } from "./text.ts";
import { relativeTime } from "./times.ts";

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

/** Jobs of all queues, at most so many of each, and whether one has more. */
export async function listJobs(queues: Pick<JobQueues, "list">, limit: number) {
  const found = await Promise.all(QUEUE_NAMES.map((name) => queues.list(name, limit + 1)));
  return {
    jobs: found.flatMap((each) => each.slice(0, limit)),
    isCut: found.some(({ length }) => length > limit),
  };
}

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
