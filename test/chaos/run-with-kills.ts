import { systemClock } from "../../src/core/clock.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import type { Spread } from "../../src/simulator/chance.ts";
import { createRandom, drawMs } from "../../src/simulator/chance.ts";
import type { FaultRule } from "../../src/simulator/faults.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { type Cluster, withCluster } from "../cluster/cluster.ts";
import type { Account } from "../support/account.ts";
import type { ChildDaemon } from "../support/child-daemon.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { type ChildSite, withChildSite } from "../support/with-child-site.ts";
import { slowService } from "./slow-service.ts";

/** A run in which the daemon is killed again and again while orders are under way. */
export interface KillPlan {
  readonly seed: number;
  readonly orders: number;
  readonly kills: number;
  readonly faults?: readonly FaultRule[];
  /** Which of the service's interfaces orders go by; `request` by default. */
  readonly surface?: "request" | "external";
  /** Whether the database is a server that outlives the daemon, which then starts faster; else the daemon's own. */
  readonly hasServer?: boolean;
  /** How long all may take after the last restart, ms. */
  readonly endWithinMs: number;
}

/** What came of it. */
export interface KillReport {
  readonly account: Account;
  /** Requests that the service made. */
  readonly requests: number;
  /** Retrievals that wait for a person, since nothing proved what became of their call. */
  readonly uncertain: number;
  /** From the last restart to the last order reported. */
  readonly recoveryMs: number;
}

/** As sites of a child have it. */
const CHILD_SERVICE = { timeout: "1s", reconcile: { checks: ["200ms", "1s"], giveUpAfter: "4s" } };
/** A third of the kills hit the start-up and what it recovers. */
const SINCE_SPAWN_MS: Spread = [300, 4_000];
/** The others hit a daemon right after the service has executed another call of its. */
const MOST_CREATIONS = 4;
const SINCE_CREATION_MS: Spread = [0, 400];
/** When nothing is left to create, the kill hits what else is under way. */
const CREATION_WITHIN_MS = 8_000;

/**
 * Drops the load in as many parts as there are kills, so that each kill meets fresh orders and old ones, kills the
 * daemon without warning at moments that the seed chooses, starts it again each time, and lets it end its work.
 */
export async function runWithKills(plan: KillPlan): Promise<KillReport> {
  const service = { maxRequestsPerSecond: 60, surface: plan.surface ?? "request" };
  const simulator = slowService(plan);
  if (!plan.hasServer)
    return await withChildSite({ simulator, service }, (site) => killAgainAndAgain(site, plan));
  return await withCluster({ workers: 1, simulator, service: { ...CHILD_SERVICE, ...service } }, (cluster) =>
    killAgainAndAgain(siteOf(cluster), plan),
  );
}

/** What a run needs of its site; a start ends the daemon that runs. */
interface KillSite extends Pick<ChildSite, "simulator" | "lab" | "waitForEnd" | "orders"> {
  start(): Pick<ChildDaemon, "running" | "end">;
}

function siteOf({ daemons: [daemon], simulator, lab, pool, waitForEnd }: Cluster): KillSite {
  if (!daemon) throw new RangeError("a cluster without a daemon");
  return {
    ...{ simulator, lab, waitForEnd },
    orders: () => listOrders(pool, { limit: 100_000 }),
    start: () => {
      const running = daemon.restart();
      // One that is killed while it starts fails to.
      running.catch(() => undefined);
      return { running, end: () => daemon.kill().then(() => null) };
    },
  };
}

async function killAgainAndAgain(site: KillSite, plan: KillPlan): Promise<KillReport> {
  const random = createRandom(plan.seed);
  const load = planLoad(plan.seed, plan.orders);
  seedRetrievals(site.simulator, load);
  const perRound = Math.ceil(load.files.length / plan.kills);
  for (let round = 0; round < plan.kills; round++) {
    const daemon = site.start();
    const files = load.files.slice(round * perRound, (round + 1) * perRound);
    for (const { connector, name, content } of files) await site.lab.drop(connector, name, content);
    if (random.happens(1 / 3)) {
      await systemClock.sleep(drawMs(SINCE_SPAWN_MS, random));
    } else {
      await daemon.running;
      await untilNextCreation(site.simulator, 1 + Math.floor(random.next() * MOST_CREATIONS));
      await systemClock.sleep(drawMs(SINCE_CREATION_MS, random));
    }
    await daemon.end("SIGKILL");
  }
  const restartedAt = performance.now();
  await site.start().running;
  const account = await site.waitForEnd(load.orders, plan.endWithinMs);
  const recoveryMs = Math.round(performance.now() - restartedAt);
  const uncertain = (await site.orders()).filter((order) => order.state === "parked").length;
  return { account, requests: site.simulator.tally().journal.length, uncertain, recoveryMs };
}

async function untilNextCreation(simulator: Simulator, count: number): Promise<void> {
  const before = simulator.tally().journal.length;
  const givesUpAt = performance.now() + CREATION_WITHIN_MS;
  while (simulator.tally().journal.length < before + count && performance.now() < givesUpAt) {
    await systemClock.sleep(20);
  }
}
