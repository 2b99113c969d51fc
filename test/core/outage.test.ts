import fc from "fast-check";
import { expect, test } from "vitest";
import { Outage } from "../../src/core/outage.ts";

const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };

/** An outage by a clock that stands still until it is told to go on. */
function anOutage(random = () => 0) {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms };
  return { clock, outage: new Outage<string>(clock, BACKOFF, random) };
}

test("the pause doubles with each failure up to its limit, and begins anew once it is over", () => {
  const { outage } = anOutage();
  const pauses = Array.from({ length: 8 }, () => outage.failed("away") / 1_000);
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect([outage.over(), outage.over()]).toEqual([true, false]);
  expect([outage.away, outage.leftMs]).toEqual([undefined, 0]);
  expect(outage.failed("away")).toBe(1_000);
});

test("it tells since when, the latest cause, and when it is tried again", () => {
  const { clock, outage } = anOutage();
  outage.failed("no connection");
  clock.ms = 1_000;
  outage.failed("502");
  expect(outage.away).toEqual({ since: new Date(0), cause: "502", nextTryAt: new Date(3_000) });
  clock.ms = 2_500;
  expect(outage.leftMs).toBe(500);
});

test("what another one found holds for as long as it says, and counts for nothing once this one tries", () => {
  const { clock, outage } = anOutage();
  outage.heardOf("502", new Date(-5_000), 40_000);
  expect(outage.away).toEqual({ since: new Date(-5_000), cause: "502", nextTryAt: new Date(40_000) });
  clock.ms = 40_000;
  expect(outage.failed("no connection")).toBe(1_000);
  outage.heardOf("503", new Date(30_000), 5_000);
  expect(outage.away).toEqual({
    since: new Date(-5_000),
    cause: "no connection",
    nextTryAt: new Date(45_000),
  });
});

test("it is never tried earlier than asked for, and is a fifth shorter by chance at most", () => {
  const step = fc.record({
    askedMs: fc.nat(100_000),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      let random = 0;
      const { outage } = anOutage(() => random);
      steps.forEach(({ askedMs, random: drawn }, index) => {
        random = drawn;
        const longest = Math.min(BACKOFF.maxMs, BACKOFF.firstMs * 2 ** index);
        const ms = outage.failed("away", askedMs);
        expect(ms).toBeGreaterThanOrEqual(Math.max(askedMs, longest * 0.8));
        expect(ms).toBeLessThanOrEqual(Math.max(askedMs, longest));
        expect(outage.leftMs).toBe(ms);
      });
    }),
  );
});
