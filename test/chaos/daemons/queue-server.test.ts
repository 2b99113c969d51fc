import { describe, expect, test } from "vitest";
import type { Daemon } from "../../../src/app.ts";
import { ALL_WELL } from "../../support/account.ts";
import { eventually } from "../../support/eventually.ts";
import { openLabFolder } from "../../support/lab-folder.ts";
import { planLoad, seedRetrievals } from "../../support/lab-load.ts";
import { machineHas } from "../../support/needs.ts";
import { type TestRedisGroup, withOneRedis, withSentinels } from "../../support/redis-server.ts";
import { waitForEnd } from "../../support/wait-for-end.ts";
import { withSite } from "../../support/with-daemon.ts";

const END_WITHIN_MS = 300_000;
/** Two calls at once make small jobs: the worker has 16 orders in hand at most, and most of the others are in Redis. */
const SERVICE = { concurrency: 2, polling: { first: "1s", max: "2s", factor: 1.5 } };
/** More than the worker had in hand when something happened, so that jobs were given out again since. */
const GOING_AGAIN = 18;

/** Has something happen to Redis while orders flow: `harm` comes back when it is over. */
type Happen = (what: string, harm: () => Promise<unknown>) => Promise<void>;

/** Gives a daemon `count` orders, and says afterwards whether each was done once and reported once. */
async function whileOrdersFlow(
  queue: object,
  count: number,
  during: (daemon: Daemon, happen: Happen) => Promise<void>,
): Promise<void> {
  const config = { service: SERVICE, queue: { backend: "redis", ...queue } };
  await withSite({ config, queues: "as configured" }, async (site) => {
    const { simulator } = site;
    const made = () => simulator.tally().journal;
    const load = planLoad(count, count, 0.1);
    seedRetrievals(simulator, load);
    const daemon = await site.start();
    for (const { connector, name, content } of load.files) await site.drop(connector, name, content);
    await eventually(() => made().length >= GOING_AGAIN, { what: "the first requests" });
    await during(daemon, async (what, harm) => {
      await harm();
      const before = made().length;
      // Unless what was in hand meanwhile was the rest.
      const enough = Math.min(before + GOING_AGAIN, count);
      await eventually(() => made().length >= enough, { what: `requests after Redis ${what}` });
    });
    const lab = openLabFolder(site.folder);
    expect(await waitForEnd({ pool: site.pool, simulator, lab }, load.orders, END_WITHIN_MS)).toEqual(
      ALL_WELL,
    );
  });
}

/** What the daemon says that is wrong with the queue. */
const queueTroubles = (daemon: Daemon): string[] =>
  daemon.conditions().flatMap(({ text }) => (text.includes("QUEUE_UNAVAILABLE") ? [text] : []));

const firstOf = ({ nodes }: TestRedisGroup) => nodes[0] as TestRedisGroup["nodes"][number];

describe.runIf(machineHas("redis-server")).concurrent("each order is done once and reported once", () => {
  test("when the queue's Redis is emptied, away, full, or throws jobs away", () =>
    withOneRedis((group) =>
      whileOrdersFlow(group.way, 110, async (daemon, happen) => {
        const redis = firstOf(group);
        const isSaid = (words: string) =>
          eventually(() => queueTroubles(daemon).some((each) => each.includes(words)), { what: words });
        const isSilent = () => eventually(() => queueTroubles(daemon).length === 0);
        await happen("was emptied", () => redis.flush());
        await happen("was away and came back empty", async () => {
          await redis.crash();
          await isSaid("can't be reached");
          await redis.start();
        });
        await isSilent();
        await happen("was full", async () => {
          await redis.run("config", "set", "maxmemory", "1mb");
          await isSaid("takes no jobs");
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
      return whileOrdersFlow(group.way, 50, async (_daemon, happen) => {
        await happen("was killed", () => firstOf(group).crash());
      });
    }));
});
