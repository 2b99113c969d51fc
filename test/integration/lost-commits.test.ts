import { expect, test } from "vitest";
import { messageNumbers, runWithLostCommits } from "../chaos/run-with-lost-commits.ts";
import { ALL_WELL } from "../support/account.ts";

test("connections to the database that break while its server lives on lose and double nothing", async () => {
  const plan = { seed: 1, orders: 30, messages: 40 };
  const report = await runWithLostCommits(plan);
  expect(report).toMatchObject({ account: ALL_WELL, answeredAnew: [] });
  expect(report.requests + report.uncertain).toBe(70);
  expect(report.cuts).toBeGreaterThan(0);
  expect(report.accepted).toEqual(messageNumbers(plan).toSorted());
  expect(new Set(report.numbers).size).toBe(70);
  expect(report.numbers).toHaveLength(70);
});
