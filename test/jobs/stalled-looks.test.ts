import { expect, test } from "vitest";
import { type CreateBackend, sparing } from "../../src/jobs/queue-place.ts";

/** A queue whose worker asks for stalled jobs each 2.5 s; gives at which seconds of `seconds` it is looked for them. */
async function looks(seconds: number, awaitedAt: (now: number) => number | undefined): Promise<number[]> {
  let now = 0;
  const found: number[] = [];
  const create: CreateBackend = () => ({
    moveStalledJobsToWait: async () => {
      found.push(now / 1_000);
      return ["job"];
    },
  });
  const backend = sparing(create, { monotonic: () => now, awaitedAt: () => awaitedAt(now) })("submit");
  for (; now <= seconds * 1_000; now += 2_500) await backend.moveStalledJobsToWait();
  return found;
}

test("in a queue that was given nothing it is looked for stalled jobs each half minute", async () => {
  expect(await looks(90, () => undefined)).toEqual([0, 30, 60, 90]);
});

test("in one that is given jobs it is looked as often as is asked, and for a minute after the last", async () => {
  expect(await looks(10, (now) => now)).toEqual([0, 2.5, 5, 7.5, 10]);
  const afterwards = await looks(120, () => 0);
  expect(afterwards.filter((second) => second <= 60)).toHaveLength(25);
  expect(afterwards.filter((second) => second > 60)).toEqual([90, 120]);
});
