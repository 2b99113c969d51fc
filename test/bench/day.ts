import { readdir } from "node:fs/promises";
import { systemClock } from "../../src/core/clock.ts";
import { type Cluster, withCluster } from "../cluster/cluster.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { readResidentMb } from "./memory.ts";
import type { BenchReport } from "./report.ts";

/** Orders of a large lab's day. */
const ORDERS = 6_000;
/** Of each twelfth of the day the service is away for this share, at its end. */
const AWAY_SHARE = 0.1;
const PARTS = 12;
const END_WITHIN_MS = 600_000;
const SAMPLES_A_PART = 5;

/** What a daemon and its ledger had at one moment. */
interface Sample {
  readonly residentMb: number;
  readonly handles: number;
  readonly ledgerMb: number;
  readonly walMb: number;
  readonly orders: number;
}

/**
 * A day of a lab in so many minutes: files of orders evenly over it, with a service that goes away twelve times. Each order has to come to
 * its end once, and the daemon may not grow by what it has done.
 */
export async function benchDay(minutes: number): Promise<BenchReport> {
  const service = { maxRequestsPerSecond: 1_000, polling: { first: "1s", max: "5s" } };
  const simulator = {
    staff: { reviewAfterMs: [200, 5_000] },
    device: { startAfterMs: [50, 1_000], runMs: [100, 3_000] },
  } as const;
  return await withCluster({ workers: 1, simulator, service }, async (cluster) => {
    const load = planLoad(1, ORDERS);
    seedRetrievals(cluster.simulator, load);
    const partMs = (minutes * 60_000) / PARTS;
    const filesOfPart = Math.ceil(load.files.length / PARTS);
    const samples: Sample[][] = [];
    for (let part = 0; part < PARTS; part += 1) {
      const files = load.files.slice(part * filesOfPart, (part + 1) * filesOfPart);
      const ofPart: Sample[] = [];
      const dropping = drop(cluster, files, partMs);
      const outage = takeAway(cluster, partMs);
      for (let nth = 0; nth < SAMPLES_A_PART; nth += 1) {
        await systemClock.sleep(partMs / SAMPLES_A_PART);
        ofPart.push(await sample(cluster));
      }
      await Promise.all([dropping, outage]);
      samples.push(ofPart);
      process.stderr.write(`day: ${part + 1} of ${PARTS}, ${ofPart.at(-1)?.orders ?? 0} orders\n`);
    }
    const account = await cluster.waitForEnd(load.orders, END_WITHIN_MS);
    const last = await sample(cluster);
    const first = samples[0]?.at(-1) ?? last;
    const peakOf = (parts: readonly Sample[][]) =>
      Math.max(...parts.flat().map(({ residentMb }) => residentMb));
    const perOrder = (mb: number) => (mb * 1e6) / (last.orders - first.orders) / 1e3;
    return {
      bench: "day",
      title: `${ORDERS.toLocaleString("en-US")} orders in ${minutes} minutes, with a service that was away ${PARTS} times`,
      figures: [
        { name: "orders lost", value: account.lost.length, unit: "", bound: { atMost: 0 } },
        {
          name: "orders doubled, invented or mistaken",
          value: account.doubled.length + account.invented.length + account.mistaken.length,
          unit: "",
          bound: { atMost: 0 },
        },
        {
          name: "orders not reported once",
          value: account.unreported.length + account.repeated.length,
          unit: "",
          bound: { atMost: 0 },
        },
        { name: "memory, most of the first half", value: peakOf(samples.slice(0, PARTS / 2)), unit: "MB" },
        { name: "memory, most of the second half", value: peakOf(samples.slice(PARTS / 2)), unit: "MB" },
        { name: "handles, after the first twelfth", value: first.handles, unit: "" },
        { name: "handles, at the end", value: last.handles, unit: "", bound: { atMost: first.handles + 10 } },
        { name: "ledger", value: perOrder(last.ledgerMb - first.ledgerMb), unit: "kB/order" },
        { name: "WAL", value: perOrder(last.walMb - first.walMb), unit: "kB/order" },
      ],
      tables: [
        [
          ["part", "orders", "memory MB", "handles", "ledger MB", "WAL MB"],
          ...samples.map((ofPart, part) => {
            const { orders, handles, ledgerMb, walMb } = ofPart.at(-1) ?? last;
            return [part + 1, orders, peakOf([ofPart]), handles, ledgerMb, walMb];
          }),
        ],
      ],
    };
  });
}

async function drop(
  { lab }: Cluster,
  files: ReturnType<typeof planLoad>["files"],
  partMs: number,
): Promise<void> {
  for (const { connector, name, content } of files) {
    await lab.drop(connector, name, content);
    await systemClock.sleep(partMs / files.length);
  }
}

async function takeAway({ simulator }: Cluster, partMs: number): Promise<void> {
  const { port } = new URL(simulator.url);
  await systemClock.sleep(partMs * (1 - AWAY_SHARE));
  await simulator.close();
  await systemClock.sleep(partMs * AWAY_SHARE);
  await simulator.listen(Number(port));
}

const SIZES = `
select pg_database_size(current_database())::float8 as bytes,
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
       (select count(*)::integer from cryobridge.orders) as orders`;

async function sample({ daemons: [daemon], pool }: Cluster): Promise<Sample> {
  const { rows } = await pool.query<{ bytes: number; wal: number; orders: number }>(SIZES);
  const [size] = rows;
  const pid = daemon?.pid ?? 0;
  return {
    residentMb: readResidentMb(pid) ?? 0,
    handles: (await readdir(`/proc/${pid}/fd`)).length,
    ledgerMb: (size?.bytes ?? 0) / 1e6,
    walMb: (size?.wal ?? 0) / 1e6,
    orders: size?.orders ?? 0,
  };
}
