import { describe, expect, test } from "vitest";
import { type Cluster, withCluster } from "../cluster/cluster.ts";
import { ALL_WELL } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { machineHas } from "../support/needs.ts";
import { type TestRedisGroup, withOneRedis, withSentinels } from "../support/redis-server.ts";

const END_WITHIN_MS = 120_000;
/** Two calls at once make small jobs: the two workers have 32 orders in hand at most, and most of the others are in Redis. */
const SERVICE = { concurrency: 2, polling: { first: "1s", max: "2s", factor: 1.5 } };
/** More than the workers had in hand when something happened, so that jobs were given out again since. */
const GOING_AGAIN = 35;

/** Has something happen to Redis while orders flow: `harm` comes back when it is over. */
type Happen = (what: string, harm: () => Promise<unknown>) => Promise<void>;

/** Gives two daemons `count` orders, and says afterwards whether each was done once and reported once. */
async function whileOrdersFlow(
  queue: object,
  count: number,
  during: (cluster: Cluster, happen: Happen) => Promise<void>,
): Promise<void> {
  const options = {
    workers: 2,
    simulator: {
      staff: { reviewAfterMs: [50, 150] },
      device: { startAfterMs: [20, 50], runMs: [50, 150] },
    },
    service: SERVICE,
    config: () => ({ queue: { backend: "redis", ...queue } }),
  } as const;
  await withCluster(options, async (cluster) => {
    const { simulator, lab } = cluster;
    const made = () => simulator.tally().journal;
    const load = planLoad(count, count, 0.1);
    seedRetrievals(simulator, load);
    for (const { connector, name, content } of load.files) await lab.drop(connector, name, content);
    await eventually(() => made().length >= GOING_AGAIN, { what: "the first requests" });
    await during(cluster, async (what, harm) => {
      await harm();
      const overAt = Date.now();
      const since = () => made().filter(({ at }) => Date.parse(at) > overAt);
      // Unless what was in hand meanwhile was the rest.
      await eventually(() => since().length >= GOING_AGAIN || made().length >= count, {
        what: `requests after Redis ${what}`,
      });
      const times = [overAt, ...since().map(({ at }) => Date.parse(at))];
      const pauses = times.slice(1).map((at, nth) => at - (times[nth] ?? at));
      console.info(`Redis ${what}: the longest pause afterwards was ${Math.max(0, ...pauses)} ms`);
    });
    expect(await cluster.waitForEnd(load.orders, END_WITHIN_MS)).toEqual(ALL_WELL);
  });
}

/** What the daemons say that is wrong with the queue. */
async function queueTroubles({ daemons }: Cluster): Promise<string[]> {
  const answers = daemons.map(async ({ consoleUrl }) => (await fetch(`${consoleUrl}/readyz`)).json());
  const readiness = (await Promise.all(answers)) as { readonly reasons: readonly string[] }[];
  return readiness.flatMap(({ reasons }) => reasons.filter((each) => each.includes("QUEUE_UNAVAILABLE")));
}

const firstOf = ({ nodes }: TestRedisGroup) => nodes[0] as TestRedisGroup["nodes"][number];

describe.runIf(machineHas("redis-server")).concurrent("each order is done once and reported once", () => {
  test("when the queue's Redis is emptied, away, full, or throws jobs away", () =>
    withOneRedis((group) =>
      whileOrdersFlow(group.way, 220, async (cluster, happen) => {
        const redis = firstOf(group);
        const isSaid = (words: string, times: number) =>
          eventually(
            async () => (await queueTroubles(cluster)).filter((each) => each.includes(words)).length >= times,
            { what: words },
          );
        const isSilent = () => eventually(async () => (await queueTroubles(cluster)).length === 0);
        await happen("was emptied", () => redis.flush());
        await happen("was away and came back empty", async () => {
          await redis.crash();
          await isSaid("can't be reached", 2);
          await redis.start();
        });
        await isSilent();
        await happen("was full", async () => {
          await redis.run("config", "set", "maxmemory", "1mb");
          await isSaid("takes no jobs", 1);
          await redis.run("config", "set", "maxmemory", "0");
        });
        await isSilent();
        await happen("threw its keys away", async () => {
          await redis.run("config", "set", "maxmemory-policy", "allkeys-random");
          await redis.run("config", "set", "maxmemory", "1mb");
          await eventually(async () => (await redis.run("dbsize")) === 0);
          await redis.run("config", "set", "maxmemory", "0");
        });
      }),
    ));

  test("when the Redis that sentinels watch is killed", () =>
    withSentinels((group) => {
      const { name: master, nodes } = group.way.sentinels as NonNullable<typeof group.way.sentinels>;
      return whileOrdersFlow({ sentinels: { master, nodes } }, 100, async (_cluster, happen) => {
        await happen("was killed", () => firstOf(group).crash());
      });
    }));
});
