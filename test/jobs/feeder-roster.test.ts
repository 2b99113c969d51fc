import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { type FeederDeps, startFeeder } from "../../src/jobs/feeder.ts";
import { InHand } from "../../src/jobs/submit/in-hand.ts";
import { eventually } from "../support/eventually.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

test("what a daemon that died has in hand holds no order back once it is known to be gone", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    // Whatever is handed over is in dead hands, and stays there.
    const held = new Set<string>();
    const worker = { id: 1, isSure: true, isLeader: true, workers: 2, rosterChanges: 1 };
    const feeder = startFeeder({
      ...{ pool, clock: systemClock, logger: silent, worker, inHand: new InHand() },
      queues: {
        findExisting: async (ids: readonly string[]) => new Set(ids.filter((id) => held.has(id))),
        add: async (queue: string, jobs: readonly { jobId: string }[]) => {
          if (queue === "submit") for (const { jobId } of jobs) held.add(jobId);
        },
      } as unknown as FeederDeps["queues"],
      isServiceReachable: () => true,
      mayTryLab: () => true,
      onDue: () => undefined,
      settings: {
        ...{ submitsAtOnce: 2, tickMs: 5, pollPauseMs: 1_000, longestPauseMs: 3_600_000 },
        ...{ connectors: new Set(["lims"]), gatherMsByConnector: new Map() },
      },
    });
    try {
      await eventually(() => held.size === 4);
      // The look that is under way may have been asked before the last one was held, so a whole one is waited for after it.
      for (const _ of ["under way", "whole"]) {
        const looked = feeder.lastLookAt;
        await eventually(() => feeder.lastLookAt > looked);
      }
      expect(held.size).toBe(4);
      Object.assign(worker, { workers: 1, rosterChanges: 2 });
      await eventually(() => held.size === 6);
      // Another one has come in its place, and died as well.
      Object.assign(worker, { workers: 2, rosterChanges: 3 });
      await eventually(() => held.size === 10);
    } finally {
      await feeder.stop();
    }
  }));
