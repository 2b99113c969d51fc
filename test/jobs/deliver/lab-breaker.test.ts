import { expect, test } from "vitest";
import { LabBreaker } from "../../../src/jobs/deliver/lab-breaker.ts";

/** A breaker whose pauses are 2, 4, 8 … s, and its clock. */
function aBreaker() {
  const clock = { now: 0 };
  const breaker = new LabBreaker(
    { now: () => clock.now, monotonic: () => clock.now },
    { firstMs: 2_000, maxMs: 300_000 },
    () => 0,
  );
  return { breaker, clock };
}

test.each(["MLLP_UNREACHABLE", "FILE_SYSTEM_ERROR"] as const)(
  "a lab that takes nothing at all (%s) is left alone for longer and longer, a minute at most, until one result gets through",
  (code) => {
    const { breaker, clock } = aBreaker();
    expect(breaker.mayTry).toBe(true);
    const pauses: number[] = [];
    for (let nth = 0; nth < 8; nth += 1) {
      breaker.noteFailure(1, { code });
      expect(breaker.isOpen).toBe(true);
      const since = clock.now;
      while (!breaker.mayTry) clock.now += 1_000;
      pauses.push(clock.now - since);
    }
    expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000));
    expect(breaker.noteDelivered(2)).toEqual([]);
    expect([breaker.isOpen, breaker.mayTry]).toEqual([false, true]);
  },
);

test.each(["MLLP_NO_ANSWER", "MLLP_RESULT_ERROR", "FILE_NOT_PLACED"] as const)(
  "three results in a row that fail for what may be their own reason (%s) are the lab's doing",
  (code) => {
    const { breaker } = aBreaker();
    for (const id of [1, 2, 3, 4]) breaker.noteFailure(id, { code });
    expect(breaker.isOpen).toBe(true);
    breaker.noteRefused(5);
    expect(breaker.isOpen).toBe(false);
    for (const id of [1, 2]) breaker.noteFailure(id, { code });
    expect(breaker.isOpen).toBe(false);
  },
);

test("a failure counts against a result once another one got through, and never the one that got through", () => {
  const { breaker } = aBreaker();
  for (const id of [1, 1, 2, 3]) breaker.noteFailure(id, { code: "MLLP_NO_ANSWER" });
  breaker.noteFailure(4, { code: "MLLP_UNREACHABLE" });
  expect(breaker.noteDelivered(3)).toEqual([1, 2]);
  expect(breaker.noteDelivered(5)).toEqual([]);
});
