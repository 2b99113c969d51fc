import { systemClock } from "../../src/core/clock.ts";
import type { Spread } from "../../src/simulator/chance.ts";
import { createRandom, drawMs } from "../../src/simulator/chance.ts";
import type { FaultRule } from "../../src/simulator/faults.ts";
import { type Cluster, withCluster } from "../cluster/cluster.ts";
import type { ClusterDaemon } from "../cluster/daemon.ts";
import type { Account } from "../support/account.ts";
import type { CuttableLink } from "../support/cuttable-link.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { slowService } from "./slow-service.ts";

/** A run in which several daemons share the work, and bad things happen to them one after the other. */
export interface WorkersPlan {
  readonly seed: number;
  readonly orders: number;
  readonly workers: number;
  /** How many bad things happen. */
  readonly blows: number;
  readonly queue: "postgres" | "redis";
  readonly surface?: "request" | "external";
  readonly faults?: readonly FaultRule[];
  /** How long all may take after the last blow, ms. */
  readonly endWithinMs: number;
}

/** What came of it. */
export interface WorkersReport {
  readonly account: Account;
  /** What happened, in its order, for a person who looks into a failure. */
  readonly blows: readonly string[];
  readonly requests: number;
  /** Retrievals that wait for a person, since nothing proved what became of their call. */
  readonly uncertain: number;
  /** From the last blow to the last order reported. */
  readonly recoveryMs: number;
}

const BETWEEN_BLOWS_MS: Spread = [200, 2_500];
/** Some are shorter than the lease of 15 s, some longer. */
const FROZEN_MS: Spread = [1_000, 22_000];
const CUT_MS: Spread = [500, 18_000];
const DOWN_MS: Spread = [0, 3_000];

/** Runs it: the load is dropped in as many parts as there are blows. */
export async function runWithWorkers(plan: WorkersPlan): Promise<WorkersReport> {
  const random = createRandom(plan.seed);
  const load = planLoad(plan.seed, plan.orders);
  const simulator = slowService(plan);
  const service = {
    timeout: "1s",
    maxRequestsPerSecond: 120,
    surface: plan.surface ?? "request",
    reconcile: { checks: ["200ms", "1s"], giveUpAfter: "6s" },
  };
  const { workers, queue } = plan;
  return await withCluster({ workers, queue, simulator, service, isHarmful: true }, async (cluster) => {
    seedRetrievals(cluster.simulator, load);
    const told: string[] = [];
    /** What is still to be made good, such as a daemon to thaw. */
    const repairs: Promise<void>[] = [];
    const perBlow = Math.ceil(load.files.length / plan.blows);
    for (let nth = 0; nth < plan.blows; nth += 1) {
      const files = load.files.slice(nth * perBlow, (nth + 1) * perBlow);
      for (const { connector, name, content } of files) await cluster.lab.drop(connector, name, content);
      await systemClock.sleep(drawMs(BETWEEN_BLOWS_MS, random));
      const blow = chooseBlow(cluster, random);
      told.push(blow.words);
      repairs.push(blow.strike());
    }
    await Promise.all(repairs);
    const repairedAt = performance.now();
    const account = await cluster.waitForEnd(load.orders, plan.endWithinMs);
    const recoveryMs = Math.round(performance.now() - repairedAt);
    const { rows } = await cluster.pool.query<{ n: number }>(
      "select count(*)::integer as n from orders where state = 'parked'",
    );
    const requests = cluster.simulator.tally().journal.length;
    return { account, blows: told, requests, uncertain: rows[0]?.n ?? 0, recoveryMs };
  });
}

/** Something bad: `strike` does it, and resolves when it is over. */
interface Blow {
  readonly words: string;
  strike(): Promise<void>;
}

type Random = ReturnType<typeof createRandom>;

function chooseBlow(cluster: Cluster, random: Random): Blow {
  const daemon = cluster.daemons[Math.floor(random.next() * cluster.daemons.length)] as ClusterDaemon;
  const { name, links } = daemon;
  const { postgres, redis } = cluster;
  const frozenMs = Math.round(drawMs(FROZEN_MS, random));
  const cutMs = Math.round(drawMs(CUT_MS, random));
  const downMs = Math.round(drawMs(DOWN_MS, random));
  const downAndUp = async (part: { crash(): Promise<void>; start(): Promise<void> }) => {
    await part.crash();
    await systemClock.sleep(downMs);
    await part.start();
  };
  const blows: Blow[] = [
    {
      words: `${name} killed, started again after ${downMs} ms`,
      strike: () =>
        inTurn(daemon, async () => {
          await daemon.kill();
          await systemClock.sleep(downMs);
          await superviseStart(daemon);
        }),
    },
    {
      words: `${name} frozen for ${frozenMs} ms`,
      strike: () =>
        inTurn(daemon, async () => {
          daemon.pause();
          await systemClock.sleep(frozenMs);
          daemon.resume();
        }),
    },
    { words: `${name} cut off from the ledger for ${cutMs} ms`, strike: () => cut(links?.ledger, cutMs) },
    { words: `${name} cut off from the service for ${cutMs} ms`, strike: () => cut(links?.service, cutMs) },
    { words: `clock of ${name} jumps`, strike: async () => daemon.jump() },
    {
      words: `database crashes, back after ${downMs} ms`,
      strike: () => inTurn(postgres, () => downAndUp(postgres)),
    },
  ];
  if (redis) {
    blows.push({
      words: `redis crashes, back empty after ${downMs} ms`,
      strike: () => inTurn(redis, () => downAndUp(redis)),
    });
  }
  return blows[Math.floor(random.next() * blows.length)] as Blow;
}

/** A start without the ledger ends the daemon; whoever supervises it starts it again. */
export async function superviseStart(daemon: ClusterDaemon): Promise<void> {
  for (;;) {
    const isRunning = await daemon.restart().then(
      () => true,
      () => false,
    );
    if (isRunning) return;
    await systemClock.sleep(500);
  }
}

async function cut(link: CuttableLink | undefined, ms: number): Promise<void> {
  link?.cut();
  await systemClock.sleep(ms);
  link?.restore();
}

/** What happens to one program happens to it one after the other. */
const underWay = new WeakMap<object, Promise<void>>();
function inTurn(what: object, strike: () => Promise<void>): Promise<void> {
  const struck = (underWay.get(what) ?? Promise.resolve()).then(strike);
  underWay.set(what, struck);
  return struck;
}
