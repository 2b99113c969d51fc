import { randomUUID } from "node:crypto";
import { Pool } from "undici";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { labCsv } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import { withRedis } from "../support/redis-server.ts";
import { withChildSite } from "../support/with-child-site.ts";
import type { BenchReport, Figure } from "./report.ts";
import { waitUntil } from "./wait-until.ts";

const CONCURRENCY = 16;
const WITHIN_MS = 600_000;

/**
 * STORE orders of one CSV file, from the drop to the last procedure request at the service, beside a bare loop that makes
 * the same three calls (find the subject, register it, create the request) and keeps nothing. With the queue in the embedded
 * database, and in a Redis where the machine has one.
 */
export async function benchSubmit(count: number): Promise<BenchReport> {
  const bare = await runBare(count);
  const embedded = await runDaemon(count, {});
  const redis = machineHas("redis-server")
    ? await withRedis(({ url }) => runDaemon(count, { queue: { backend: "redis", url } }))
    : undefined;
  const against = (name: string, perSecond: number): Figure[] => [
    { name: `submitted by the daemon, ${name}`, value: perSecond, unit: "orders/s" },
    { name: `${name}, against the bare loop`, value: perSecond / bare, unit: "" },
  ];
  return {
    bench: "submit",
    title: `${count.toLocaleString("en-US")} STORE orders in one CSV file, submitted`,
    figures: [
      { name: "the same calls in a bare loop", value: bare, unit: "orders/s" },
      ...against("queue in PostgreSQL", embedded),
      ...(redis === undefined ? [] : against("queue in Redis", redis)),
    ],
  };
}

async function runDaemon(count: number, config: Readonly<Record<string, unknown>>): Promise<number> {
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
    const numbers = Array.from({ length: count }, (_, index) => ({ number: `B-${index + 1}` }));
    await site.lab.drop("csv", "orders.csv", labCsv(numbers));
    const created = () => site.simulator.tally().journal.length;
    await Promise.race([waitUntil(async () => created() >= count, WITHIN_MS), daemon.unexpectedEnd]);
    const times = site.simulator.tally().journal.map(({ at }) => Date.parse(at));
    await daemon.end("SIGTERM");
    return count / ((Math.max(...times) - Math.min(...times)) / 1_000);
  });
}

async function runBare(count: number): Promise<number> {
  const simulator = await createSimulator({ port: 0 });
  const pool = new Pool(simulator.url, { connections: CONCURRENCY, allowH2: false });
  try {
    const token = await bareToken(pool);
    const startedAt = performance.now();
    let next = 0;
    const work = async () => {
      while (next < count) {
        next += 1;
        await submitBare(pool, token, `P-${next}-${randomUUID()}`);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    return count / ((performance.now() - startedAt) / 1_000);
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
