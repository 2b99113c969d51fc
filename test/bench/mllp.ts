import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { findPort } from "../support/find-port.ts";
import { withChildSite, withPool } from "../support/with-child-site.ts";
import { orderOfOneKilobyte } from "./hl7-texts.ts";
import { type LoadResult, type LoadShape, putLoad } from "./mllp-load.ts";
import type { BenchReport, Figure } from "./report.ts";

interface Contest extends LoadShape {
  /** What is aimed at, as a part of the peer's rate. */
  readonly aim?: number;
}

/**
 * Ours commits to a disk and the peer doesn't, so with one message at a time half of its rate would do. Aims are shown and
 * not bounds: on two cores the client, the daemon and the database share what the client and the peer have to themselves.
 */
const CONTESTS: readonly Contest[] = [
  { connections: 1, inFlight: 1, aim: 0.5 },
  { connections: 10, inFlight: 1 },
  { connections: 10, inFlight: 20, aim: 1 },
  { connections: 50, inFlight: 1, aim: 1 },
];
/** Before anything is measured: programs that have just started are still being compiled, which takes both some seconds. */
const FIRST = { connections: 10, inFlight: 20, warmUpMs: 0, measureMs: 2_000, turns: 3 };
const TURNS = 2;
const WARM_UP_MS = 400;
const MEASURE_MS = 1_500;
const SUSTAINED = { connections: 10, inFlight: 20, warmUpMs: 5_000, measureMs: 10_000 };

/**
 * Orders of 1 KB over MLLP, each with a number of its own: acknowledged by a daemon (role intake, embedded PostgreSQL)
 * once it is committed with its order, beside @medplum/hl7's server, which keeps nothing. Each is a process of its own, and they take
 * turns, so that both meet the same machine.
 */
export async function benchMllp(): Promise<BenchReport> {
  const port = await findPort();
  const connector = { name: "mllp", type: "mllp", listen: { port }, results: { directory: "./results" } };
  return await withChildSite({ config: { connectors: [connector] } }, async (site) => {
    const daemon = site.start(["--role", "intake"]);
    await daemon.running;
    const peer = await startPeer();
    try {
      const { figures, acknowledged, wrong, orders } = await withPool(site.dataDir, async (pool) => {
        const work = measureAll({ ours: port, peer: peer.port });
        const measured = await Promise.race([work, daemon.unexpectedEnd]);
        const { rows } = await pool.query<{ orders: number }>("select count(*) as orders from orders");
        return { ...measured, orders: rows[0]?.orders ?? 0 };
      });
      await daemon.end("SIGTERM");
      return {
        bench: "mllp",
        title: "messages acknowledged over MLLP (connections x in flight), beside @medplum/hl7",
        figures: [
          ...figures,
          { name: "orders acknowledged", value: acknowledged, unit: "orders" },
          {
            name: "of them not in the ledger",
            value: acknowledged - orders,
            unit: "orders",
            bound: { atMost: 0 },
          },
          { name: "answers that were wrong", value: wrong, unit: "answers", bound: { atMost: 0 } },
        ],
      };
    } finally {
      peer.stop();
    }
  });
}

async function measureAll(ports: { readonly ours: number; readonly peer: number }) {
  const text = orderOfOneKilobyte();
  const messageOf = (number: number) => {
    const controlId = `M${number}`;
    return { controlId, text: withNumber(text, controlId, `PO-${number}`) };
  };
  let firstNumber = 1;
  const times = { warmUpMs: WARM_UP_MS, measureMs: MEASURE_MS };
  const put = async (port: number, shape: LoadShape & Partial<typeof times>) => {
    const result = await putLoad({ ...times, ...shape, port, messageOf, firstNumber });
    firstNumber += result.acknowledged + result.wrong;
    return result;
  };
  const figures: Figure[] = [];
  const sums = { acknowledged: 0, wrong: 0 };
  const count = ({ acknowledged, wrong }: LoadResult) => {
    sums.acknowledged += acknowledged;
    sums.wrong += wrong;
  };
  for (let turn = 0; turn < FIRST.turns; turn += 1) {
    count(await put(ports.ours, FIRST));
    await put(ports.peer, FIRST);
  }
  for (const contest of CONTESTS) {
    const turns: { readonly ours: LoadResult; readonly peer: LoadResult }[] = [];
    for (let turn = 0; turn < TURNS; turn += 1) {
      const ours = await put(ports.ours, contest);
      count(ours);
      turns.push({ ours, peer: await put(ports.peer, contest) });
    }
    figures.push(...figuresOf(contest, turns));
  }
  const sustained = await put(ports.ours, SUSTAINED);
  count(sustained);
  const { connections, inFlight } = SUSTAINED;
  const name = `${connections} x ${inFlight} without end`;
  figures.push(
    { name, value: sustained.perSecond, unit: "messages/s" },
    { name: `${name}, p99`, value: sustained.p99Ms, unit: "ms" },
  );
  return { figures, ...sums };
}

function figuresOf(
  { connections, inFlight, aim }: Contest,
  turns: readonly { readonly ours: LoadResult; readonly peer: LoadResult }[],
): Figure[] {
  const name = `${connections} x ${inFlight}`;
  const rate = (who: "ours" | "peer") => mean(turns.map((turn) => turn[who].perSecond));
  const p99 = (who: "ours" | "peer") => Math.max(...turns.map((turn) => turn[who].p99Ms));
  const p50 = (who: "ours" | "peer") => mean(turns.map((turn) => turn[who].p50Ms));
  return [
    { name: `${name}, cryobridge`, value: rate("ours"), unit: "messages/s" },
    { name: `${name}, @medplum/hl7`, value: rate("peer"), unit: "messages/s" },
    {
      name: `${name}, ratio`,
      value: rate("ours") / rate("peer"),
      unit: aim === undefined ? "times" : `times (aim: at least ${aim})`,
    },
    { name: `${name}, cryobridge, p50`, value: p50("ours"), unit: "ms" },
    { name: `${name}, cryobridge, p99`, value: p99("ours"), unit: "ms" },
    { name: `${name}, @medplum/hl7, p50`, value: p50("peer"), unit: "ms" },
    { name: `${name}, @medplum/hl7, p99`, value: p99("peer"), unit: "ms" },
  ];
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The same order of another subject, under other numbers, acknowledged in original mode. */
function withNumber(text: string, controlId: string, number: string): string {
  return text
    .replace("|MSG-1|P|2.5.1|||AL|NE|", `|${controlId}|P|2.5.1|||||`)
    .replaceAll("PO-2026-0001", number)
    .replace("S-4711", `S-${number}`)
    .replace("V-0001", `V-${number}`);
}

async function startPeer(): Promise<{ readonly port: number; stop(): void }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "mllp-peer.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { port: Number(line.toString().trim()), stop: () => void child.kill("SIGKILL") };
}
