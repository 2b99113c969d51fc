import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { MessageNumbers } from "../../src/jobs/message-numbers.ts";

/** A ledger's sequence from which others take as well, and a clock that stands still. */
function sequence(most = 8) {
  const state = { last: 0, asked: [] as number[], now: 0, isAway: false };
  const clock: Clock = {
    now: () => state.now,
    monotonic: () => state.now,
    sleep: () => Promise.reject(new Error("nobody sleeps here")),
  };
  const take = async (count: number) => {
    state.asked.push(count);
    if (state.isAway) throw new Error("the ledger is away");
    return Array.from({ length: count }, () => {
      state.last += 1;
      return state.last;
    });
  };
  return { state, numbers: new MessageNumbers(take, clock, most) };
}

describe("numbers for messages", () => {
  test("are taken ahead in ever larger lots while they are used up, up to a bound", async () => {
    const { state, numbers } = sequence();
    for (let n = 0; n < 30; n += 1) await numbers.next(1);
    expect(state.asked).toEqual([1, 3, 7, 8, 8, 8]);
  });

  test("are taken in lots of the same size as long as one lasts a quarter of a second", async () => {
    const { state, numbers } = sequence(1_000);
    for (let n = 0; n < 15; n += 1) await numbers.next(1);
    state.now = 300;
    for (let n = 0; n < 15; n += 1) await numbers.next(1);
    expect(state.asked).toEqual([1, 3, 7, 15, 15]);
  });

  test("are asked for in a storm while there are some left, so that no message waits for them", async () => {
    const { state, numbers } = sequence(64);
    for (let n = 0; n < 1 + 3 + 7 + 15 + 31 + 31; n += 1) await numbers.next(1);
    expect(state.asked).toEqual([1, 3, 7, 15, 31, 63]);
    await numbers.next(1);
    expect(state.asked.at(-1)).toBe(64);
    state.isAway = true;
    expect(await numbers.next(31 + 64)).toHaveLength(31 + 64);
  });

  test("are asked for again when asking ahead of need had failed", async () => {
    const { state, numbers } = sequence(64);
    for (let n = 0; n < 1 + 3 + 7 + 15 + 31 + 31; n += 1) await numbers.next(1);
    state.isAway = true;
    expect(await numbers.next(32)).toHaveLength(32);
    await expect(numbers.next(64)).rejects.toThrow("away");
    state.isAway = false;
    expect(await numbers.next(64)).toHaveLength(64);
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
          fc.record({
            count: fc.integer({ min: 1, max: 20 }),
            pause: fc.oneof(fc.nat(20), fc.nat(2_000)),
            others: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(3)),
          }),
          { maxLength: 60 },
        ),
        fc.constantFrom(8, 100),
        async (steps, most) => {
          const { state, numbers } = sequence(most);
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
