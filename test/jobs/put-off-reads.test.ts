import { expect, test } from "vitest";
import { PutOffReads } from "../../src/jobs/put-off-reads.ts";

const DAY_MS = 86_400_000;

test("entries that a list doesn't show any more are forgotten after a day, so that years of them take no memory", () => {
  const putOff = new PutOffReads();
  for (let day = 0; day < 100; day += 1) {
    putOff.gaveNothing([day * 2], day * DAY_MS);
    putOff.wereRead([day * 2 + 1], day * DAY_MS);
  }
  expect(putOff.size).toBeLessThan(8);
});

test("an entry that still fails each time it is asked for is left alone for a day, however often that was", () => {
  const putOff = new PutOffReads();
  let nowMs = 0;
  for (let times = 0; times < 40; times += 1) {
    putOff.failed([7], nowMs);
    putOff.wereRead([], nowMs);
    expect(putOff.has(7, nowMs + 59_999)).toBe(true);
    while (putOff.has(7, nowMs)) nowMs += 60_000;
  }
  expect(putOff.times(7)).toBe(40);
  putOff.failed([7], nowMs);
  expect([putOff.has(7, nowMs + DAY_MS - 1), putOff.has(7, nowMs + DAY_MS)]).toEqual([true, false]);
});
