import { expect, test } from "vitest";
import { timeline } from "../../src/console/timeline.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { OrderState } from "../../src/core/order-state.ts";

/** Where the bars of an order's states begin and end, of a width of 1,000. */
function barsOf(states: readonly OrderState[]): { x: number; end: number }[] {
  const events = states.map((toState, index) => ({
    ...{ at: new Date(index * 60_000), kind: "x", toState, detail: {} },
  }));
  const picture = timeline(events, { clock: systemClock, mayShowPhi: false }).text;
  return [...picture.matchAll(/<rect [^>]*x="([\d.]+)"[^>]*width="([\d.]+)"/g)].map(([, x, width]) => ({
    x: Number(x),
    end: Number(x) + Number(width),
  }));
}

test("the bar of an order's states stays within its picture, however many there were", () => {
  for (const count of [1, 10, 40, 100]) {
    const states = Array.from({ length: count }, () => ["received", "parked"] as const).flat();
    const bars = barsOf([...states, "completed"]);
    expect(bars).toHaveLength(2 * count + 1);
    expect(bars.at(-1)?.end).toBeLessThanOrEqual(1_001);
    expect(bars.at(-1)?.end).toBeGreaterThan(980);
    for (const [index, { x }] of bars.entries())
      if (index > 0) expect(x).toBeGreaterThanOrEqual((bars[index - 1]?.end ?? 0) - 0.2);
  }
});

test("the legend has each state once, with the time in it together, and reads it as words", () => {
  const states = ["received", "parked", "received", "in_progress", "completed"] as const;
  const events = states.map((toState, index) => ({
    ...{ at: new Date(index * 60_000), kind: "x", toState, detail: {} },
  }));
  const picture = timeline(events, { clock: systemClock, mayShowPhi: false }).text;
  const [, legend = ""] = /<figcaption>(.*)<\/figcaption>/.exec(picture) ?? [];
  expect(legend.replace(/<[^>]*>/g, "|").replace(/\|+/g, "|")).toBe(
    "|received 2m|parked 1m|in progress 1m|completed|",
  );
});
