import { randomUUID } from "node:crypto";
import { Pool } from "undici";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { labCsv } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import { withRedis } from "../support/redis-server.ts";
import { findServer, withChildSite, withPool } from "../support/with-child-site.ts";
import { cpuMs } from "./cpu.ts";
import type { BenchReport, Figure } from "./report.ts";
import { waitUntil } from "./wait-until.ts";

const CONCURRENCY = 16;
const WITHIN_MS = 600_000;
/** So many times each is measured. */
const TURNS = 3;

/**
 * STORE orders of a CSV file, from the drop to the last procedure request at the service, beside a bare loop that makes
 * the same three calls (find the subject, register it, create the request) and keeps nothing. With the queue in the embedded
 * database, and in a Redis where the machine has one. Each is measured between two turns of the bare loop, whose mean it is
 * compared with, since a machine has faster and slower minutes; and once it is warm, as a daemon is that runs for years.
 */
export async function benchSubmit(count: number): Promise<BenchReport> {
  const ofTurn = Math.ceil(count / TURNS);
  const bare = [await runBare(ofTurn)];
  const measure = async (run: () => Promise<Ran>): Promise<Turn> => {
    const ran = await run();
    bare.push(await runBare(ofTurn));
    const [before = NaN, after = NaN] = bare.slice(-2).map(({ perSecond }) => perSecond);
    return { ...ran, ratio: (2 * ran.perSecond) / (before + after) };
  };
  const inTurns = (config: Readonly<Record<string, unknown>>) =>
    withDaemon(config, async (submit) => {
      await submit(ofTurn);
      const turns: Turn[] = [];
      for (let turn = 0; turn < TURNS; turn += 1) turns.push(await measure(() => submit(ofTurn)));
      return turns;
    });
  const kinds = [{ name: "queue in PostgreSQL", turns: await inTurns({}) }];
  if (machineHas("redis-server"))
    kinds.push({
      name: "queue in Redis",
      turns: await withRedis(({ url }) => inTurns({ queue: { backend: "redis", url } })),
    });
  return {
    bench: "submit",
    title: `${count.toLocaleString("en-US")} STORE orders in ${TURNS} turns, submitted`,
    figures: [
      { name: "the same calls in a bare loop", value: median(bare, "perSecond"), unit: "orders/s" },
      { name: "processor, with the service", value: median(bare, "cpuMs"), unit: "ms an order" },
      ...kinds.flatMap(({ name, turns }): Figure[] => [
        { name: `submitted by the daemon, ${name}`, value: median(turns, "perSecond"), unit: "orders/s" },
        {
          name: "processor, with database and service",
          value: median(turns, "cpuMs"),
          unit: "ms an order",
        },
        {
          name: `${name}, against the bare loop`,
          value: median(turns, "ratio"),
          unit: "",
          bound: { atLeast: 0.3 },
        },
      ]),
    ],
  };
}

/** What one turn of a loop did. */
interface Ran {
  readonly perSecond: number;
  /** Of the processor, user and system, by an order. */
  readonly cpuMs: number;
}

interface Turn extends Ran {
  readonly ratio: number;
}

function median<Key extends string>(all: readonly Readonly<Record<Key, number>>[], key: Key): number {
  const sorted = all.map((each) => each[key]).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** Runs a daemon that submits so many orders each time that it is asked to. */
async function withDaemon<T>(
  config: Readonly<Record<string, unknown>>,
  use: (submit: (count: number) => Promise<Ran>) => Promise<T>,
): Promise<T> {
  const service = {
    maxRequestsPerSecond: 10_000,
    concurrency: CONCURRENCY,
    timeout: "30s",
    polling: { first: "10m", max: "10m" },
    reconcile: { checks: ["5s"], giveUpAfter: "2m" },
  };
  return await withChildSite({ service, config }, async (site) => {
    const daemon = site.start();
    await daemon.running;
    const server = await findServer(site.dataDir);
    const ofDaemonMs = () => cpuMs(daemon.pid) + (server === undefined ? 0 : cpuMs(server));
    const journal = () => site.simulator.tally().journal;
    const submit = async (count: number): Promise<Ran> => {
      const first = journal().length;
      const numbers = Array.from({ length: count }, (_, index) => ({ number: `B-${first + index + 1}` }));
      const before = ofDaemonMs() + ownCpuMs();
      await site.lab.drop("csv", `orders-${first}.csv`, labCsv(numbers));
      const areCreated = waitUntil(async () => journal().length >= first + count, WITHIN_MS);
      await Promise.race([areCreated, daemon.unexpectedEnd]);
      const spentMs = ofDaemonMs() + ownCpuMs() - before;
      const times = journal()
        .slice(first)
        .map(({ at }) => Date.parse(at));
      // What follows, such as the lab's answers, is not to stand beside what is measured next.
      await waitUntil(() => isIdle(ofDaemonMs), WITHIN_MS);
      // As the server does by itself within a minute.
      await withPool(site.dataDir, (pool) => pool.query("analyze"));
      return {
        perSecond: count / ((Math.max(...times) - Math.min(...times)) / 1_000),
        cpuMs: spentMs / count,
      };
    };
    const result = await use(submit);
    await daemon.end("SIGTERM");
    return result;
  });
}

/** Whether a second goes by with less than a tenth of it spent. */
async function isIdle(spentMs: () => number): Promise<boolean> {
  const before = spentMs();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  return spentMs() - before < 100;
}

/** Of this process, which has the service in it. */
function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function runBare(count: number): Promise<Ran> {
  const simulator = await createSimulator({ port: 0 });
  const pool = new Pool(simulator.url, { connections: CONCURRENCY, allowH2: false });
  try {
    const token = await bareToken(pool);
    const [startedAt, before] = [performance.now(), ownCpuMs()];
    let next = 0;
    const work = async () => {
      while (next < count) {
        next += 1;
        await submitBare(pool, token, `P-${next}-${randomUUID()}`);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    return {
      perSecond: count / ((performance.now() - startedAt) / 1_000),
      cpuMs: (ownCpuMs() - before) / count,
    };
  } finally {
    await pool.close();
    await simulator.close();
  }
}

async function submitBare(pool: Pool, token: string, code: string): Promise<void> {
  await call(pool, token, "GET", `/api/subjects?code=${code}&facilityId=12`);
  await call(pool, token, "POST", "/api/subjects", {
    facilityId: 12,
    code,
    firstName: "Ada",
    lastName: "Miller",
    dateOfBirth: "1980-01-02",
  });
  await call(pool, token, "POST", "/api/procedure-requests", {
    type: "STORE",
    facilityId: 12,
    subjectCode: code,
    sampleContainers: [{ sampleContainerId: `V-${code}`, description: "straw" }],
  });
}

async function bareToken(pool: Pool): Promise<string> {
  const { body } = await pool.request({
    method: "POST",
    path: "/oauth/token",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "grant_type=client_credentials&client_id=cryobridge&client_secret=simulator-secret",
  });
  return ((await body.json()) as { access_token: string }).access_token;
}

async function call(
  pool: Pool,
  token: string,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
): Promise<void> {
  const answer = await pool.request({
    method,
    path,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (answer.statusCode >= 300) throw new Error(`${method} ${path}: status ${answer.statusCode}`);
  await answer.body.json();
}
