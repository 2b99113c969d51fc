import { systemClock } from "../../src/core/clock.ts";
import { pauseQueue, resumeQueue } from "../../src/ledger/operator/queues.ts";
import { type Cluster, type ClusterOptions, withCluster } from "../cluster/cluster.ts";
import { labCsv } from "../support/lab-messages.ts";
import { findProgram } from "../support/needs.ts";
import { cpuMs } from "./cpu.ts";
import type { BenchReport } from "./report.ts";
import { waitUntil } from "./wait-until.ts";

const WORKERS = [1, 2, 4] as const;
/** For what the model says of them. */
const CORES = [2, 4, 8, 16] as const;
const WITHIN_MS = 600_000;
const SERVICE = {
  maxRequestsPerSecond: 10_000,
  concurrency: 16,
  timeout: "30s",
  polling: { first: "10m", max: "10m" },
  reconcile: { checks: ["5s"], giveUpAfter: "2m" },
};
export const ACT = { actor: "bench" } as const;

/** Submitted by each worker before it is measured: what runs often is compiled then. */
const WARM_UP = 300;
const IDLE_MS = 5_000;

/** What a run cost: processor time by process, ms an order. */
interface Run {
  readonly queue: string;
  readonly workers: number;
  readonly perSecond: number;
  readonly daemons: number;
  readonly postgres: number;
  readonly redis: number;
  /** The simulator, and the bench itself, which does little. */
  readonly simulator: number;
  /** Of a worker with nothing to do and its part of PostgreSQL and Redis, ms a second. */
  readonly idle: number;
}

/**
 * STORE orders, each of another subject, that are in the ledger already, submitted to the simulator by one, two and four
 * daemons, with the queue in PostgreSQL and in Redis where the machine has one.
 */
export async function benchCluster(count: number): Promise<BenchReport> {
  const queues = findProgram("redis-server") ? (["postgres", "redis"] as const) : (["postgres"] as const);
  const runs: Run[] = [];
  for (const queue of queues) for (const workers of WORKERS) runs.push(await run(count, { queue, workers }));
  return {
    bench: "cluster",
    title: `${count.toLocaleString("en-US")} STORE orders submitted; processor time in ms an order`,
    figures: runs.map(({ queue, workers, perSecond }) => ({
      name: `queue in ${queue}, workers: ${workers}`,
      value: perSecond,
      unit: "orders/s",
    })),
    tables: [
      [
        [
          "queue",
          "workers",
          "orders/s",
          "daemons",
          "PostgreSQL",
          "Redis",
          "simulator",
          "all but it",
          "cores",
          "idle ms/s",
        ],
        ...runs.map((each) => [
          ...[each.queue, each.workers, each.perSecond, each.daemons, each.postgres, each.redis],
          ...[
            each.simulator,
            costOf(each),
            ((costOf(each) + each.simulator) * each.perSecond) / 1_000,
            each.idle,
          ],
        ]),
      ],
      modelOf(runs),
    ],
  };
}

const costOf = ({ daemons, postgres, redis }: Run) => daemons + postgres + redis;

/**
 * What other machines can do at most, by the costs of the run with the most workers (of one worker: its own), with the service
 * elsewhere: orders/s are the cores' time by the cost of an order, and no worker does more than one core gives it.
 */
function modelOf(runs: readonly Run[]): (string | number)[][] {
  const most = runs.filter(({ workers }) => workers === Math.max(...WORKERS));
  return [
    ["queue", "cores", "orders/s at most", "with workers", "one worker at most"],
    ...most.flatMap((each) =>
      CORES.map((cores) => {
        const share = each.daemons / costOf(each);
        const alone = runs.find(({ queue, workers }) => queue === each.queue && workers === 1) ?? each;
        return [
          ...[each.queue, cores, (cores * 1_000) / costOf(each), Math.ceil(cores * share)],
          Math.min(1_000 / alone.daemons, (cores * 1_000) / costOf(alone)),
        ];
      }),
    ),
  ];
}

function run(count: number, options: Pick<ClusterOptions, "workers" | "queue">): Promise<Run> {
  return withCluster({ ...options, service: SERVICE }, async (cluster) => {
    await submitOrders(cluster, "w", WARM_UP * options.workers);
    const { perSecond, ms } = await submitOrders(cluster, "b", count);
    const startedAt = performance.now();
    const before = readCpu(cluster);
    await systemClock.sleep(IDLE_MS);
    const idle = since(before, readCpu(cluster));
    const idleSeconds = (performance.now() - startedAt) / 1_000;
    return {
      ...{ queue: options.queue ?? "postgres", workers: options.workers, perSecond },
      ...{ daemons: ms.daemons / count, postgres: ms.postgres / count, redis: ms.redis / count },
      simulator: ms.simulator / count,
      idle: (idle.daemons + idle.postgres + idle.redis) / idleSeconds / options.workers,
    };
  });
}

/** Has orders taken in, then submitted: how fast, and what the second cost, ms. */
async function submitOrders(cluster: Cluster, name: string, count: number) {
  const { simulator, pool, lab } = cluster;
  await pauseQueue(pool, "submit", ACT);
  const [taken, made] = [await countOrders(cluster), simulator.tally().journal.length];
  const orders = Array.from({ length: count }, (_, index) => ({ number: `${name}-${index + 1}` }));
  await lab.drop("csv", `${name}.csv`, labCsv(orders));
  await waitUntil(async () => (await countOrders(cluster)) >= taken + count, WITHIN_MS);
  const before = readCpu(cluster);
  await resumeQueue(pool, "submit", ACT);
  await waitUntil(async () => simulator.tally().journal.length >= made + count, WITHIN_MS);
  const ms = since(before, readCpu(cluster));
  const times = simulator
    .tally()
    .journal.slice(made)
    .map(({ at }) => Date.parse(at));
  return { perSecond: count / ((Math.max(...times) - Math.min(...times)) / 1_000), ms };
}

type Cpu = ReturnType<typeof readCpu>;

const since = (before: Cpu, after: Cpu): Cpu => ({
  daemons: after.daemons - before.daemons,
  postgres: after.postgres - before.postgres,
  redis: after.redis - before.redis,
  simulator: after.simulator - before.simulator,
});

async function countOrders({ pool }: Cluster): Promise<number> {
  const { rows } = await pool.query<{ count: number }>("select count(*)::integer as count from orders");
  return rows[0]?.count ?? 0;
}

/** Processor time so far, ms. */
function readCpu({ daemons, postgres, redis }: Cluster) {
  const { user, system } = process.cpuUsage();
  return {
    daemons: daemons.reduce((sum, { pid }) => sum + cpuMs(pid), 0),
    postgres: cpuMs(postgres.pid),
    redis: redis ? cpuMs(redis.pid) : 0,
    simulator: (user + system) / 1_000,
  };
}
