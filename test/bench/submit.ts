import { randomUUID } from "node:crypto";
import { Pool } from "undici";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { labCsv } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import { withRedis } from "../support/redis-server.ts";
import { findServer, withChildSite } from "../support/with-child-site.ts";
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
 * compared with, since a machine has faster and slower minutes.
 */
export async function benchSubmit(count: number): Promise<BenchReport> {
  const ofTurn = Math.ceil(count / TURNS);
  const kinds = [
    { name: "queue in PostgreSQL", run: () => runDaemon(ofTurn, {}) },
    ...(machineHas("redis-server")
      ? [
          {
            name: "queue in Redis",
            run: () => withRedis(({ url }) => runDaemon(ofTurn, { queue: { backend: "redis", url } })),
          },
        ]
      : []),
  ];
  const turns = kinds.map((): Turn[] => []);
  const bare = [await runBare(ofTurn)];
  for (let turn = 0; turn < TURNS; turn += 1)
    for (const [index, { run }] of kinds.entries()) {
      const ran = await run();
      bare.push(await runBare(ofTurn));
      const [before = NaN, after = NaN] = bare.slice(-2).map(({ perSecond }) => perSecond);
      turns[index]?.push({ ...ran, ratio: (2 * ran.perSecond) / (before + after) });
    }
  return {
    bench: "submit",
    title: `${count.toLocaleString("en-US")} STORE orders in ${TURNS} turns, submitted`,
    figures: [
      { name: "the same calls in a bare loop", value: median(bare, "perSecond"), unit: "orders/s" },
      { name: "processor, with the service", value: median(bare, "cpuMs"), unit: "ms an order" },
      ...kinds.flatMap(({ name }, index): Figure[] => {
        const all = turns[index] ?? [];
        return [
          { name: `submitted by the daemon, ${name}`, value: median(all, "perSecond"), unit: "orders/s" },
          {
            name: "processor, with database and service",
            value: median(all, "cpuMs"),
            unit: "ms an order",
          },
          {
            name: `${name}, against the bare loop`,
            value: median(all, "ratio"),
            unit: "",
            bound: { atLeast: 0.3 },
          },
        ];
      }),
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

async function runDaemon(count: number, config: Readonly<Record<string, unknown>>): Promise<Ran> {
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
    const cpuSoFar = () => cpuMs(daemon.pid) + (server === undefined ? 0 : cpuMs(server)) + ownCpuMs();
    const numbers = Array.from({ length: count }, (_, index) => ({ number: `B-${index + 1}` }));
    const before = cpuSoFar();
    await site.lab.drop("csv", "orders.csv", labCsv(numbers));
    const created = () => site.simulator.tally().journal.length;
    await Promise.race([waitUntil(async () => created() >= count, WITHIN_MS), daemon.unexpectedEnd]);
    const spentMs = cpuSoFar() - before;
    const times = site.simulator.tally().journal.map(({ at }) => Date.parse(at));
    await daemon.end("SIGTERM");
    return {
      perSecond: count / ((Math.max(...times) - Math.min(...times)) / 1_000),
      cpuMs: spentMs / count,
    };
  });
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
