import type pg from "pg";
import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import type { Acts } from "../../src/operator/acts.ts";
import { TEST_PLACES } from "../../src/operator/things/alerts.ts";

/** The clock of deadlines runs fast. */
const clock = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal),
};

/** What a test of the one place says whose ledger answers like this. */
async function linesOf(query: () => Promise<never>): Promise<readonly string[]> {
  const place = {
    acts: { testAlerts: async () => [{ place: "hook", failure: undefined }] } as unknown as Acts,
    pool: { query } as unknown as pg.Pool,
    viewer: { clock, mayShowPhi: false },
    ...{ config: undefined as never, onEach: () => {} },
  };
  const { isDone, lines } = await TEST_PLACES.act(place, { actor: "ops" }, {});
  expect(isDone).toBe(true);
  return lines.map(([, text]) => text);
}

it("says what came of the places when the ledger is away, refuses, or gives an error", async () => {
  const away = new Failure("LEDGER_UNAVAILABLE", "the ledger's database can't be reached");
  expect(await linesOf(() => Promise.reject(away))).toEqual([
    "hook: sent",
    "Not kept in the audit: the ledger's database can't be reached (LEDGER_UNAVAILABLE)",
  ]);
  const refusal = Object.assign(new Error("password of ops"), { code: "28P01" });
  expect(await linesOf(() => Promise.reject(refusal))).toEqual([
    "hook: sent",
    "Not kept in the audit: the database answers, but refuses the user or the password (SQLSTATE 28P01) (LEDGER_REFUSED)",
  ]);
  const error = Object.assign(new Error("relation audit is gone"), { code: "42P01" });
  expect(await linesOf(() => Promise.reject(error))).toEqual([
    "hook: sent",
    expect.stringMatching(/^Not kept in the audit: .* \(UNCLASSIFIED\)$/),
  ]);
});

it("says so within seconds while the ledger hangs, and that nobody knows whether the audit keeps it", async () => {
  expect(await linesOf(() => new Promise<never>(() => undefined))).toEqual([
    "hook: sent",
    "Perhaps not kept in the audit: the ledger gave no answer within 5 s",
  ]);
});
