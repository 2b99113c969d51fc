import type pg from "pg";
import { describe, expect, test } from "vitest";
import { ALL_WELL } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { type ServerSite, withServerSite } from "../support/with-server-site.ts";

const ORDERS = 40;
const END_WITHIN_MS = 300_000;
const SIMULATOR = {
  staff: { reviewAfterMs: [50, 500] },
  device: { startAfterMs: [20, 50], runMs: [50, 500] },
} as const;
/** Slow enough that the load lasts for as long as the trouble does. */
const SERVICE = {
  maxRequestsPerSecond: 50,
  timeout: "2s",
  reconcile: { checks: ["200ms", "1s"], giveUpAfter: "4s" },
};

/** All jobs, waiting or running, and BullMQ's own notes of its queues; again where the server ends that for a deadlock. */
async function wipeQueues(pool: pg.Pool): Promise<void> {
  for (const table of ["job", "meta", "event"])
    await eventually(() => pool.query(`delete from bullmq.${table}`));
}

/** The running queues take their locks in another order, so the server may choose the drop to end a deadlock. */
function dropQueues(pool: pg.Pool): Promise<boolean> {
  return eventually(() => pool.query("drop schema if exists bullmq cascade").then(() => true), {
    what: "the end of the queues' schema",
  });
}

/** Waits until so many of the requests were made: the rest is under way, or to come. */
const untilMade = ({ simulator }: ServerSite, count: number) =>
  eventually(() => simulator.tally().journal.length >= count, { what: `${count} requests` });

describe.concurrent("while orders are under way", () => {
  test("the queues may be emptied again and again: nothing is lost and nothing made twice", () =>
    withServerSite({ simulator: SIMULATOR, service: SERVICE }, async (site) => {
      const load = planLoad(1, ORDERS);
      seedRetrievals(site.simulator, load);
      await site.start();
      for (const { connector, name, content } of load.files) await site.lab.drop(connector, name, content);
      for (const made of [2, 10, 20, 30]) {
        await untilMade(site, made);
        await wipeQueues(site.pool);
      }
      expect(await site.waitForEnd(load.orders, END_WITHIN_MS)).toEqual(ALL_WELL);
    }));

  test("the queues' whole schema may be dropped: it is made again and all goes on", () =>
    withServerSite({ simulator: SIMULATOR, service: SERVICE }, async (site) => {
      const load = planLoad(2, ORDERS);
      seedRetrievals(site.simulator, load);
      await site.start();
      for (const { connector, name, content } of load.files) await site.lab.drop(connector, name, content);
      for (const made of [5, 20]) {
        await untilMade(site, made);
        await dropQueues(site.pool);
      }
      expect(await site.waitForEnd(load.orders, END_WITHIN_MS)).toEqual(ALL_WELL);
    }));
});
