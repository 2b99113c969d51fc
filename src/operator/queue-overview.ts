import { asFailure, Failure } from "../core/failures.ts";
import { type JobQueues, QUEUE_NAMES } from "../jobs/queues.ts";
import { asRefusal } from "../ledger/database-failures.ts";
import { type DeliveryView, listOpenDeliveries, listWaitingOrders } from "../ledger/operator/views.ts";
import type { Orphaned } from "../ledger/results/orphaned.ts";
import { isWorkerThere } from "../ledger/workers/roster.ts";
import type { ListPlace } from "./listing.ts";
import type { ListedOrder } from "./order-columns.ts";
import { withSurroundings } from "./order-details.ts";
import { type NamedJob, nameJobs, type QueueView, readQueues } from "./queue-columns.ts";

/** What has to be done, which orders wait and what for, and what the lab doesn't have yet. */
interface QueueOverview {
  /** Whether a daemon works on the ledger. */
  readonly isDaemonThere: boolean;
  readonly queues: readonly QueueView[];
  readonly waiting: readonly ListedOrder[];
  readonly deliveries: readonly DeliveryView[];
  /** What waits of connectors that aren't configured. */
  readonly orphaned: readonly Orphaned[];
  /** What BullMQ has; its server may be away while the ledger answers. Undefined where it is not asked. */
  readonly jobs: readonly NamedJob[] | Failure | undefined;
}

/** Jobs of all queues, at most so many of each. */
export async function listJobs(queues: Pick<JobQueues, "list">, limit: number) {
  return (await Promise.all(QUEUE_NAMES.map((name) => queues.list(name, limit)))).flat();
}

/** Reads that. @param rows orders and results at most @param jobs of each queue at most */
export async function readQueueOverview(
  place: ListPlace,
  {
    askQueues,
    orphaned,
    rows,
    jobs,
  }: {
    /** Undefined where nothing is worked off. */
    readonly askQueues:
      | (<T>(work: (queues: Pick<JobQueues, "counts" | "list">) => Promise<T>) => Promise<T>)
      | undefined;
    readonly orphaned: () => Promise<readonly Orphaned[] | undefined>;
    readonly rows: number;
    readonly jobs: number;
  },
): Promise<QueueOverview> {
  const { pool } = place;
  const found = await askQueues?.(async (queues) => ({
    counts: await queues.counts(),
    jobs: await listJobs(queues, jobs),
  })).catch((error: unknown) => asRefusal(error) ?? asFailure(error));
  const inQueues = found instanceof Failure ? undefined : found;
  const [isDaemonThere, queues, waiting, deliveries, left = []] = await Promise.all([
    isWorkerThere(pool),
    readQueues(pool, inQueues?.counts),
    listWaitingOrders(pool, rows).then((orders) => withSurroundings(place, orders)),
    listOpenDeliveries(pool, rows),
    orphaned(),
  ]);
  return {
    ...{ isDaemonThere, queues, waiting, deliveries, orphaned: left },
    jobs: found instanceof Failure ? found : inQueues && (await nameJobs(inQueues.jobs, place)),
  };
}
