import { expect, test } from "vitest";
import { ALL_WELL } from "../support/account.ts";
import { messageNumbers, runWithLostCommits } from "./run-with-lost-commits.ts";
import { readSettings } from "./settings.ts";

const { seed: firstSeed, runs, orders } = readSettings(process.env);
const seeds = Array.from({ length: runs }, (_, run) => firstSeed + run);

test.each(seeds)(
  "connections to the database that break while its server lives on lose and double nothing (seed %i)",
  async (seed) => {
    const plan = { seed, orders, messages: orders };
    const report = await runWithLostCommits(plan);
    console.log(
      `lost commits: seed ${seed}, ${report.cuts} broken connections, ${report.uncertain} uncertain retrievals`,
    );
    expect(report).toMatchObject({ account: ALL_WELL, answeredAnew: [] });
    expect(report.requests + report.uncertain).toBe(2 * orders);
    expect(report.accepted).toEqual(messageNumbers(plan).toSorted());
    expect(new Set(report.numbers).size).toBe(report.numbers.length);
  },
);
