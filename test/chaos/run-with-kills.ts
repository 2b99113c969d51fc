import { systemClock } from "../../src/core/clock.ts";
import type { Spread } from "../../src/simulator/chance.ts";
import { createRandom, drawMs } from "../../src/simulator/chance.ts";
import type { FaultRule } from "../../src/simulator/faults.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import type { Account } from "../support/account.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { withChildSite } from "../support/with-child-site.ts";
import { slowService } from "./slow-service.ts";

/** A run in which the daemon is killed again and again while orders are under way. */
export interface KillPlan {
  readonly seed: number;
  readonly orders: number;
  readonly kills: number;
  readonly faults?: readonly FaultRule[];
  /** Which of the service's interfaces orders go by; `request` by default. */
  readonly surface?: "request" | "external";
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
  const random = createRandom(plan.seed);
  const load = planLoad(plan.seed, plan.orders);
  const simulator = slowService(plan);
  const service = { maxRequestsPerSecond: 60, surface: plan.surface ?? "request" };
  return await withChildSite({ simulator, service }, async (site) => {
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
  });
}

async function untilNextCreation(simulator: Simulator, count: number): Promise<void> {
  const before = simulator.tally().journal.length;
  const givesUpAt = performance.now() + CREATION_WITHIN_MS;
  while (simulator.tally().journal.length < before + count && performance.now() < givesUpAt) {
    await systemClock.sleep(20);
  }
}
