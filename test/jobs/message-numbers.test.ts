import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { MessageNumbers } from "../../src/jobs/message-numbers.ts";

/** A ledger's sequence from which others take as well, and a clock that stands still. */
function sequence() {
  const state = { last: 0, asked: [] as number[], now: 0 };
  const clock: Clock = {
    now: () => state.now,
    monotonic: () => state.now,
    sleep: () => Promise.reject(new Error("nobody sleeps here")),
  };
  const take = async (count: number) => {
    state.asked.push(count);
    return Array.from({ length: count }, () => {
      state.last += 1;
      return state.last;
    });
  };
  return { state, numbers: new MessageNumbers(take, clock, 8) };
}

describe("numbers for messages", () => {
  test("are taken ahead in ever larger lots while they are used up, up to a bound", async () => {
    const { state, numbers } = sequence();
    for (let n = 0; n < 30; n += 1) await numbers.next(1);
    expect(state.asked).toEqual([1, 3, 7, 8, 8, 8]);
  });

  test("that lay for a second are not used any more: others have taken higher ones since", async () => {
    const { state, numbers } = sequence();
    await numbers.next(1);
    await numbers.next(1);
    state.now = 1_001;
    expect(await numbers.next(1)).toEqual([5]);
  });

  test("come above all that were given before, whoever takes some in between", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ count: fc.integer({ min: 1, max: 20 }), pause: fc.nat(2_000), others: fc.nat(3) }),
        ),
        async (steps) => {
          const { state, numbers } = sequence();
          const given: number[] = [];
          for (const { count, pause, others } of steps) {
            if (others > 0) {
              state.last += others;
              numbers.forget();
              given.push(state.last);
            }
            state.now += pause;
            const next = await numbers.next(count);
            expect(next).toHaveLength(count);
            given.push(...next);
          }
          expect(given).toEqual([...new Set(given)].sort((a, b) => a - b));
        },
      ),
    ));
});
