import type pg from "pg";
import type { Tally } from "../../src/simulator/tally.ts";
import type { PlannedOrder } from "../support/lab-load.ts";
import { labCsv } from "../support/lab-messages.ts";
import { withChildSite, withPool } from "../support/with-child-site.ts";
import { watchMemory } from "./memory.ts";
import type { BenchReport, Figure } from "./report.ts";
import { benchSubmit } from "./submit.ts";
import { waitUntil } from "./wait-until.ts";

const FEWER = 5;
const WITHIN_MS = 1_800_000;
const POLLS = [
  "GET /api/procedure-requests",
  "GET /api/procedure-requests/:id",
  "GET /api/procedures",
  "GET /api/procedures/:id",
] as const;
/** Staff and devices take some seconds of the run, so that each order is asked about several times. */
const SIMULATOR = {
  staff: { reviewAfterMs: [2_000, 20_000] },
  device: { startAfterMs: [1_000, 5_000], runMs: [2_000, 20_000] },
} as const;
const SERVICE = {
  maxRequestsPerSecond: 10_000,
  concurrency: 16,
  timeout: "30s",
  polling: { first: "4s", max: "30s", factor: 1.5 },
  reconcile: { checks: ["5s", "30s"], giveUpAfter: "2m" },
};

interface Run {
  readonly seconds: number;
  readonly submittedPerSecond: number;
  readonly peakMb: number;
  readonly lost: number;
  readonly doubled: number;
  readonly unreported: number;
  readonly tally: Tally;
}

/**
 * Orders in one CSV file through a real daemon on its embedded database, from the drop to the last result; and how fast
 * `submitCount` of them are submitted, against a bare loop.
 */
export async function benchOrders(count: number, submitCount: number): Promise<BenchReport> {
  const submit = await benchSubmit(submitCount);
  const fewCount = Math.ceil(count / FEWER);
  const few = await runOrders(fewCount);
  const many = await runOrders(count);
  const polls = { few: countPolls(few.tally), many: countPolls(many.tally) };
  const routes = Object.entries(many.tally.routes).map(
    ([route, { received }]): Figure => ({ name: route, value: received, unit: "requests" }),
  );
  return {
    bench: "orders",
    title: `${count.toLocaleString("en-US")} orders in one CSV file, against the simulator; ${fewCount.toLocaleString("en-US")} to compare`,
    figures: [
      { name: "lost", value: few.lost + many.lost, unit: "orders", bound: { atMost: 0 } },
      { name: "doubled", value: few.doubled + many.doubled, unit: "orders", bound: { atMost: 0 } },
      {
        name: "not reported to the lab",
        value: few.unreported + many.unreported,
        unit: "orders",
        bound: { atMost: 0 },
      },
      { name: "from the drop to the last result", value: many.seconds, unit: "s" },
      { name: "orders, all in all", value: count / many.seconds, unit: "orders/s" },
      { name: "submitted", value: many.submittedPerSecond, unit: "orders/s" },
      { name: "daemon's memory at its peak", value: many.peakMb, unit: "MB", bound: { atMost: 300 } },
      { name: "the same with fewer orders", value: few.peakMb, unit: "MB" },
      { name: "polling requests", value: polls.many, unit: "requests" },
      { name: "polling requests an order", value: polls.many / count, unit: "", bound: { atMost: 0.5 } },
      { name: "the same with fewer orders", value: polls.few / fewCount, unit: "" },
      {
        name: "polling requests an order, against fewer orders",
        value: polls.many / count / (polls.few / fewCount),
        unit: "times",
        // Which orders share a page is chance: from run to run it is 0.9 to 1.4.
        bound: { atMost: 1.75 },
      },
      ...routes,
      ...submit.figures.map((figure) => ({ ...figure, name: `${figure.name} (${submit.title})` })),
    ],
  };
}

async function runOrders(count: number): Promise<Run> {
  const planned = Array.from({ length: count }, (_, index): PlannedOrder => {
    const number = `B-${index + 1}`;
    return { number, connector: "csv", operation: "STORE", subject: `S-${number}`, labels: [`V-${number}`] };
  });
  return await withChildSite({ simulator: SIMULATOR, service: SERVICE }, async (site) => {
    const daemon = site.start();
    await daemon.running;
    const memory = watchMemory(daemon.pid);
    const startedAt = performance.now();
    await site.lab.drop("csv", "orders.csv", labCsv(planned.map(({ number }) => ({ number }))));
    const reported = withPool(site.dataDir, (pool) => waitUntil(() => isAllReported(pool, count), WITHIN_MS));
    await Promise.race([reported, daemon.unexpectedEnd]);
    const seconds = (performance.now() - startedAt) / 1_000;
    memory.stop();
    const account = await site.waitForEnd(planned, 10_000);
    await daemon.end("SIGTERM");
    const tally = site.simulator.tally();
    const times = tally.journal.map(({ at }) => Date.parse(at));
    const submitSeconds = (Math.max(...times) - Math.min(...times)) / 1_000;
    for (const [kind, list] of Object.entries(account)) {
      if (list.length > 0) console.error(`${kind}: ${list.slice(0, 5).join("; ")}`);
    }
    return {
      seconds,
      submittedPerSecond: tally.journal.length / submitSeconds,
      peakMb: memory.peakMb,
      lost: account.lost.length + account.mistaken.length,
      doubled: account.doubled.length + account.invented.length,
      unreported: account.unreported.length,
      tally,
    };
  });
}

/** Whether all orders are in, at their end, and in the result files. A cheap look: the full account comes afterwards. */
async function isAllReported(pool: pg.Pool, count: number): Promise<boolean> {
  const { rows } = await pool.query<{ orders: number; ended: number; unreported: number; pending: number }>(
    `select count(*)::integer as orders,
            count(*) filter (where state in ('completed', 'rejected', 'cancelled', 'failed', 'parked'))::integer as ended,
            (select count(*)::integer from outcomes where not is_composed) as unreported,
            (select count(*)::integer from deliveries where state = 'pending') as pending
       from orders`,
  );
  const [row] = rows;
  return row?.orders === count && row.ended === count && row.unreported === 0 && row.pending === 0;
}

function countPolls(tally: Tally): number {
  return POLLS.reduce((sum, route) => sum + (tally.routes[route]?.received ?? 0), 0);
}
