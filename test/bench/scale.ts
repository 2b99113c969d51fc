import pg from "pg";
import { pauseQueue, resumeQueue } from "../../src/ledger/operator/queues.ts";
import { runCli } from "../cli/run-cli.ts";
import { type Cluster, withCluster } from "../cluster/cluster.ts";
import { labCsv } from "../support/lab-messages.ts";
import { ACT } from "./cluster.ts";
import { menuOf, openPages } from "./console-pages.ts";
import { fillLedger, IN_A_FILE } from "./fill-ledger.ts";
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
const PROGRAM_PAGES = ["/api/status", "/metrics", "/readyz"] as const;
/**
 * Pages beside those of the menu.
 *
 * @param n an order of the fill, which is known by all of these; half of them are newer
 * @param file the file that it came in
 */
const pagesOf = (n: number, file: number) => [
  `/orders/o${n}`,
  "/orders?state=parked",
  `/orders?state=completed&connector=hl7&before=o${n}`,
  "/orders?connector=csv",
  `/messages/m${n}`,
  "/messages?verdict=refused&connector=hl7",
  `/messages?since=30d&before=m${Math.floor(1.8 * n)}`,
  "/files?status=refused",
  `/files/f${file}`,
  "/results?state=pending",
  `/results?connector=hl7&state=delivered&before=d${n}`,
  `/results/d${n}`,
  "/audit?actor=user%203",
];
/** What lists are searched for, with the same. */
const searchesOf = (n: number, file: number): readonly (readonly [list: string, find: string])[] => [
  ["/orders", `FILL-${n}`],
  ["/orders", `file-${file}.hl7`],
  ["/orders", `o${n}`],
  ["/orders", "NOBODY-KNOWS-IT"],
  ["/messages", `FILL-${n}`],
  ["/messages", `file-${file}.hl7`],
  ["/files", `file-${file}`],
  ["/results", `FILL-${n}`],
  ["/audit", `o${n}`],
];
/** A page of a large ledger is there within, ms. */
const PAGE_MS = 1_000;
const TOKEN = "a-token-for-the-bench";
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
  return withCluster({ workers: 1, service: SERVICE, console: { token: TOKEN } }, async (cluster) => {
    const { pool, postgres } = cluster;
    await pauseQueue(pool, "submit", ACT);
    // What runs for the first time is loaded and compiled.
    await measure(cluster, 0);
    const small = await measure(cluster, 1);
    const superuser = new pg.Client({ ...postgres.connection, user: "postgres" });
    await superuser.connect();
    const startedAt = performance.now();
    await fillLedger(superuser, { ended, open: ended / ENDED_EACH }).finally(() => superuser.end());
    const fillSeconds = (performance.now() - startedAt) / 1_000;
    const pages = await measurePages(cluster, Math.floor(ended / 2));
    const large = await measure(cluster, 2);
    const ratios = [...small].map(([name, ms]) => {
      const [of, to] = [large.get(name) ?? 0, ms].map((each) => Math.max(LEAST_MS, each)) as [number, number];
      return { name: `${name}, against a new ledger`, value: of / to, unit: "times", bound: { atMost: 2 } };
    });
    return {
      bench: "scale",
      title: `a ledger of ${ended.toLocaleString("en-US")} ended and ${(ended / ENDED_EACH).toLocaleString("en-US")} open orders, filled in ${fillSeconds.toFixed(0)} s`,
      figures: [
        ...ratios,
        ...pages.map(([name, { middle }]) => ({
          ...{ name, value: middle, unit: "ms" },
          bound: { atMost: PAGE_MS },
        })),
      ],
      tables: [
        [
          ["ms", "new", "large"],
          ...[...small].map(([name, ms]) => [name, ms, large.get(name) ?? Number.NaN]),
        ],
        [["ms", "first", "middle"], ...pages.map(([name, { first, middle }]) => [name, first, middle])],
      ],
    };
  });
}

/** What takes how long, ms. */
async function measure(cluster: Cluster, round: number): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  times.set("intake, an order", (await measureIntake(cluster, round)) / ORDERS);
  for (const words of COMMANDS) times.set(words.join(" "), await quickest(() => command(cluster, words)));
  for (const page of PROGRAM_PAGES) times.set(page, await quickest(() => ask(cluster, page)));
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

/** How long the console's pages take over HTTP: the first time, and in the middle of all tries. */
async function measurePages({ daemons }: Cluster, order: number) {
  const pages = await openPages(daemons[0]?.consoleUrl ?? "", TOKEN);
  const file = Math.floor(order / IN_A_FILE);
  const works = [
    ...[...(await menuOf(pages)), ...pagesOf(order, file)].map(
      (path) => [path, () => pages.open(path)] as const,
    ),
    ...searchesOf(order, file).map(
      ([list, find]) => [`${list}, ${find}`, () => pages.send(`${list}/filter`, { find })] as const,
    ),
    [
      "search for nothing that is there",
      () => pages.send("/orders/find", { find: "NOBODY-KNOWS-IT" }),
    ] as const,
  ];
  const times: [name: string, { readonly first: number; readonly middle: number }][] = [];
  for (const [name, work] of works) {
    const all = await timesOf(work);
    const middle = all.toSorted((a, b) => a - b)[Math.floor(TIMES / 2)] ?? 0;
    times.push([`page ${name}`, { first: all[0] ?? 0, middle }]);
  }
  return times;
}

/** From the first to the last request of so many orders. */
async function measureSubmit({ simulator, pool }: Cluster): Promise<number> {
  const before = simulator.tally().journal.length;
  const made = () => simulator.tally().journal.slice(before, before + ORDERS);
  await resumeQueue(pool, "submit", ACT);
  await waitUntil(async () => made().length >= ORDERS, WITHIN_MS);
  await pauseQueue(pool, "submit", ACT);
  await waitUntil(async () => {
    const { rowCount } = await pool.query("select from orders where state = 'submitting' limit 1");
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
  const headers = { authorization: `Bearer ${TOKEN}` };
  await (await fetch(`${daemons[0]?.consoleUrl}${page}`, { headers })).text();
}

async function quickest(work: () => Promise<unknown>): Promise<number> {
  return Math.min(...(await timesOf(work)));
}

async function timesOf(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return times;
}
