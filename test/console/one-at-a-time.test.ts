import { expect, test } from "vitest";
import { askOnceAtATime } from "../../src/console/ask.ts";
import type { Status } from "../../src/console/status-document.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { eventually } from "../support/eventually.ts";
import { countsOf, depsOf, withConsole } from "./console-fixture.ts";

test("a ledger that hangs is asked for its counts once, however many pages and monitors want them", async () => {
  let asked = 0;
  const answer = Promise.withResolvers<void>();
  const counts = async () => {
    asked += 1;
    await answer.promise;
    return countsOf({ parked: asked });
  };
  // Each question has a deadline: a page asks four, a monitor two.
  let questions = 0;
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => {
      questions += 1;
      return systemClock.sleep(ms, signal);
    },
  };
  await withConsole({ deps: { counts, clock } }, async ({ url }) => {
    const paths = ["/api/status", "/metrics", "/api/status", "/metrics"];
    const answers = paths.map((path) => fetch(`${url}${path}`));
    await eventually(() => questions >= 2 * 4 + 2 * 2);
    answer.resolve();
    for (const each of await Promise.all(answers)) expect(each.status).toBe(200);
    expect(asked).toBe(1);
    const status = (await (await fetch(`${url}/api/status`)).json()) as Status;
    expect(asked).toBe(2);
    expect(status.states).toContainEqual({ state: "parked", count: 2, oldestSeconds: null });
  });
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

test("a question with another limit is another one", async () => {
  const limits: number[] = [];
  const deps = askOnceAtATime(
    depsOf({
      recentOrders: async (limit) => {
        limits.push(limit);
        return [];
      },
    }),
  );
  await Promise.all([deps.recentOrders(1), deps.recentOrders(2), deps.recentOrders(1)]);
  expect(limits).toEqual([1, 2]);
});
