import { expect, test } from "vitest";
import { watchTraffic } from "../../src/console/traffic.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { askOnceAtATime } from "../../src/standing/ask.ts";
import type { Status } from "../../src/standing/status-document.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaiters } from "../support/lock-waiters.ts";
import { silent, withLedger } from "../support/with-ledger.ts";
import { countsOf, depsOf, withConsole } from "./console-fixture.ts";

/** Counts the questions: each has a deadline of its own. */
function countingClock(): { readonly clock: Clock; readonly questions: () => number } {
  let questions = 0;
  const sleep: Clock["sleep"] = (ms, signal) => {
    questions += 1;
    return systemClock.sleep(ms, signal);
  };
  return { clock: { ...systemClock, sleep }, questions: () => questions };
}

test("a ledger that hangs is asked for its counts once, however many pages and monitors want them", async () => {
  let asked = 0;
  const answer = Promise.withResolvers<void>();
  const counts = async () => {
    asked += 1;
    await answer.promise;
    return countsOf({ parked: asked });
  };
  const { clock, questions } = countingClock();
  await withConsole({ deps: { counts, clock } }, async ({ url }) => {
    const paths = ["/api/status", "/metrics", "/api/status", "/metrics"];
    const answers = paths.map((path) => fetch(`${url}${path}`));
    await eventually(() => questions() >= 4);
    answer.resolve();
    for (const each of await Promise.all(answers)) expect(each.status).toBe(200);
    expect(asked).toBe(1);
    const status = (await (await fetch(`${url}/api/status`)).json()) as Status;
    expect(asked).toBe(2);
    expect(status.states).toContainEqual({ state: "parked", count: 2, oldestSeconds: null });
  });
});

test("metrics ask each question once", async () => {
  const asked: string[] = [];
  const noting =
    <T>(name: string, answer: T) =>
    async () => {
      asked.push(name);
      return answer;
    };
  const { clock, questions } = countingClock();
  const deps = {
    ...{ clock, byLedger: noting("byLedger", []) },
    ...{ counts: noting("counts", countsOf()), waiting: noting("waiting", []) },
  };
  await withConsole({ deps }, async ({ url }) => {
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });
  expect(asked.sort()).toEqual(["byLedger", "counts", "waiting"]);
  expect(questions()).toBe(3);
});

test("a question that failed is asked anew", async () => {
  let asked = 0;
  const deps = askOnceAtATime(
    depsOf({ waiting: () => (asked++ === 0 ? Promise.reject(new Error("gone")) : Promise.resolve([])) }),
  );
  await expect(Promise.all([deps.waiting?.(), deps.waiting?.()])).rejects.toThrow("gone");
  expect(await deps.waiting?.()).toEqual([]);
  expect(asked).toBe(2);
});

test("a ledger that hangs is asked for its traffic once, however often the overview asks in vain", () =>
  withLedger(async ({ pool }) => {
    // Each answer is late at once.
    const clock: Clock = { ...systemClock, sleep: async () => {} };
    const readTraffic = watchTraffic(
      { logger: silent, clock },
      { pool, config: { connectors: [{ name: "bench" }] as never } },
    );
    const locker = await pool.connect();
    try {
      await locker.query("begin; lock table messages in access exclusive mode");
      const nothing = { hour: undefined, day: undefined, lastMessages: undefined };
      for (let visit = 0; visit < 4; visit++) expect(await readTraffic()).toEqual(nothing);
      // Of the last hour, of the day, and the last message of each connector.
      await eventually(async () => (await countLockWaiters(pool)) === 3);
    } finally {
      locker.release(true);
    }
    await eventually(async () => (await countLockWaiters(pool)) === 0);
  }));
