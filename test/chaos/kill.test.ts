import { describe, expect, test } from "vitest";
import type { FaultRule } from "../../src/simulator/faults.ts";
import { ALL_WELL } from "../support/account.ts";
import { type KillPlan, runWithKills } from "./run-with-kills.ts";
import { readSettings } from "./settings.ts";

const { seed: firstSeed, runs, orders, kills } = readSettings(process.env);
const CASES = (["request", "external"] as const).flatMap((surface) =>
  Array.from({ length: runs }, (_, run) => [surface, firstSeed + run] as const),
);
const END_WITHIN_MS = 300_000;

/** A service on a bad day: one call in six goes wrong, some after they were executed, some before, some late. */
const BAD_DAY: readonly FaultRule[] = [
  { name: "lost answer", method: "POST", path: "/api/**", after: "drop", probability: 0.06 },
  { name: "no answer", method: "POST", path: "/api/**", after: "hang", probability: 0.03 },
  { name: "cut before", method: "POST", path: "/api/**", before: "drop", probability: 0.03 },
  { name: "executed late", method: "POST", path: "/api/**", executeAfterMs: [0, 1_500], probability: 0.04 },
  { name: "slow read", method: "GET", path: "/api/**", answerAfterMs: [0, 1_500], probability: 0.02 },
  { name: "failed read", method: "GET", path: "/api/**", status: 502, probability: 0.03 },
  { name: "cut read", method: "GET", path: "/api/**", after: "drop", probability: 0.02 },
];

async function runAndPrint(title: string, plan: Omit<KillPlan, "orders" | "kills" | "endWithinMs">) {
  console.log(`${title}: seed ${plan.seed}, ${orders} orders, ${kills} kills`);
  const report = await runWithKills({ ...plan, orders, kills, endWithinMs: END_WITHIN_MS });
  const { requests, uncertain, recoveryMs } = report;
  console.log(
    `  ${requests} requests, ${uncertain} uncertain retrievals, all reported ${recoveryMs} ms after the last start`,
  );
  return report;
}

describe("a daemon that is killed again and again", () => {
  test.each(CASES)(
    "on a database that stays up submits each order once and tells the lab of each (%s, seed %i)",
    async (surface, seed) => {
      const plan = { seed, surface, hasServer: true };
      const { account, requests, uncertain } = await runAndPrint("kills beside a server", plan);
      expect(account).toEqual(ALL_WELL);
      expect(requests).toBeGreaterThanOrEqual(orders - uncertain);
      expect(requests).toBeLessThanOrEqual(orders);
    },
  );

  test.each(CASES)(
    "submits each order once and tells the lab of each (%s, seed %i)",
    async (surface, seed) => {
      const { account, requests, uncertain } = await runAndPrint("kills", { seed, surface });
      expect(account).toEqual(ALL_WELL);
      expect(requests).toBeGreaterThanOrEqual(orders - uncertain);
      expect(requests).toBeLessThanOrEqual(orders);
    },
  );

  test.each(CASES)(
    "does so while the service loses and delays answers, too (%s, seed %i)",
    async (surface, seed) => {
      const plan = { seed, surface, faults: BAD_DAY };
      const { account, requests, uncertain } = await runAndPrint("kills and faults", plan);
      expect(account).toEqual(ALL_WELL);
      expect(requests).toBeGreaterThanOrEqual(orders - uncertain);
      expect(requests).toBeLessThanOrEqual(orders);
    },
  );
});
