import pg from "pg";
import { pauseQueue, resumeQueue } from "../../src/ledger/operator/queues.ts";
import { runCli } from "../cli/run-cli.ts";
import { type Cluster, withCluster } from "../cluster/cluster.ts";
import { labCsv } from "../support/lab-messages.ts";
import { ACT } from "./cluster.ts";
import { fillLedger } from "./fill-ledger.ts";
import type { BenchReport } from "./report.ts";
import { waitUntil } from "./wait-until.ts";

/** One open order to so many that have ended. */
const ENDED_EACH = 10;
const ORDERS = 500;
/** Of so many tries the quickest counts: what else runs on the machine only adds to it. */
const TIMES = 5;
const WITHIN_MS = 600_000;
/** What takes less counts as this, ms: nobody notices, and chance would decide. */
const LEAST_MS = 50;
const COMMANDS = [
  ["orders", "list"],
  ["orders", "list", "--state", "parked"],
  ["orders", "show", "B0-1"],
  ["status"],
  ["queue"],
  ["tasks"],
  ["results", "list"],
  ["messages", "list"],
] as const;
const PAGES = ["/api/status", "/metrics", "/readyz"] as const;
const SERVICE = {
  maxRequestsPerSecond: 10_000,
  concurrency: 16,
  polling: { first: "1h", max: "1h" },
  reconcile: { checks: ["5s"], giveUpAfter: "2m" },
};

/**
 * How long the daemon and the commands take with a ledger that holds `ended` orders and a tenth as many open ones, half of these at
 * the service and half waiting, against the same ledger when it was new. One daemon, PostgreSQL with the queue in it.
 */
export function benchScale(ended: number): Promise<BenchReport> {
  return withCluster({ workers: 1, service: SERVICE }, async (cluster) => {
    const { pool, postgres } = cluster;
    await pauseQueue(pool, "submit", ACT);
    // What runs for the first time is loaded and compiled.
    await measure(cluster, 0);
    const small = await measure(cluster, 1);
    const superuser = new pg.Client({ ...postgres.connection, user: "postgres" });
    await superuser.connect();
    const startedAt = performance.now();
    await fillLedger(superuser, { ended, open: ended / ENDED_EACH });
    const fillSeconds = (performance.now() - startedAt) / 1_000;
    await superuser.end();
    const large = await measure(cluster, 2);
    const ratios = [...small].map(([name, ms]) => {
      const [of, to] = [large.get(name) ?? 0, ms].map((each) => Math.max(LEAST_MS, each)) as [number, number];
      return { name: `${name}, against a new ledger`, value: of / to, unit: "times", bound: { atMost: 2 } };
    });
    return {
      bench: "scale",
      title: `a ledger of ${ended.toLocaleString("en-US")} ended and ${(ended / ENDED_EACH).toLocaleString("en-US")} open orders, filled in ${fillSeconds.toFixed(0)} s`,
      figures: ratios,
      tables: [
        [
          ["ms", "new", "large"],
          ...[...small].map(([name, ms]) => [name, ms, large.get(name) ?? Number.NaN]),
        ],
      ],
    };
  });
}

/** What takes how long, ms. */
async function measure(cluster: Cluster, round: number): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  times.set("intake, an order", (await measureIntake(cluster, round)) / ORDERS);
  for (const words of COMMANDS) times.set(words.join(" "), await quickest(() => command(cluster, words)));
  for (const page of PAGES) times.set(page, await quickest(() => ask(cluster, page)));
  times.set("submit, an order", (await measureSubmit(cluster)) / ORDERS);
  return times;
}

async function measureIntake({ lab, pool }: Cluster, round: number): Promise<number> {
  const name = `b${round}.csv`;
  const startedAt = performance.now();
  await lab.drop(
    "csv",
    name,
    labCsv(Array.from({ length: ORDERS }, (_, index) => ({ number: `B${round}-${index + 1}` }))),
  );
  const isTaken = async () =>
    (await pool.query("select from files where file_name = $1 and status = 'taken'", [name])).rowCount === 1;
  await waitUntil(isTaken, WITHIN_MS, 20);
  return performance.now() - startedAt;
}

/** From the first to the last request of so many orders. */
async function measureSubmit({ simulator, pool }: Cluster): Promise<number> {
  const before = simulator.tally().journal.length;
  const made = () => simulator.tally().journal.slice(before, before + ORDERS);
  await resumeQueue(pool, "submit", ACT);
  await waitUntil(async () => made().length >= ORDERS, WITHIN_MS);
  await pauseQueue(pool, "submit", ACT);
  await waitUntil(async () => {
    const { rowCount } = await pool.query(
      "select from orders where state in ('queued', 'submitting') limit 1",
    );
    return rowCount === 0;
  }, WITHIN_MS);
  const times = made().map(({ at }) => Date.parse(at));
  return Math.max(...times) - Math.min(...times);
}

async function command({ daemons }: Cluster, words: readonly string[]): Promise<void> {
  const { status, stderr } = await runCli([...words, "--config", daemons[0]?.configFile ?? ""]);
  // 1 says that something needs a person, as the orders that are parked do.
  if (status > 1) throw new Error(`${words.join(" ")}: status ${status}: ${stderr}`);
}

async function ask({ daemons }: Cluster, page: string): Promise<void> {
  await (await fetch(`${daemons[0]?.consoleUrl}${page}`)).text();
}

async function quickest(work: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return Math.min(...times);
}
