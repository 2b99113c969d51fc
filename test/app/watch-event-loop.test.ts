import { pino } from "pino";
import { expect, test } from "vitest";
import { watchEventLoop } from "../../src/app/own-conditions.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { eventually } from "../support/eventually.ts";

test("an event loop that stood still for more than a second is in the log once, and reported for a minute", async () => {
  const lines: unknown[] = [];
  const logger = pino({ level: "info" }, { write: (line) => void lines.push(JSON.parse(line)) });
  let nowMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => nowMs };
  const watch = watchEventLoop("lab-server", clock, logger);
  try {
    expect(watch.conditions()).toEqual([]);
    nowMs += 1_600;
    await eventually(() => watch.conditions().length > 0);
    expect(watch.conditions()[0]?.text).toMatch(
      /^the event loop stood still for 1\.\d s within the last minute/,
    );
    expect(lines).toMatchObject([{ level: 40, msg: expect.stringContaining("stood still") }]);
    watch.stop();
    nowMs += 61_000;
    expect(watch.conditions()).toEqual([]);
  } finally {
    watch.stop();
  }
});

test("one that stood once is worth a look; for ten seconds, or again and again for minutes, it needs a person", async () => {
  let nowMs = 0;
  let seen = 0;
  const write = () => {
    seen += 1;
  };
  const logger = pino({ level: "info" }, { write });
  const clock: Clock = { ...systemClock, monotonic: () => nowMs };
  const watch = watchEventLoop("lab-server", clock, logger);
  const levelAfter = async (ms: number) => {
    const before = seen;
    nowMs += ms;
    await eventually(() => seen > before);
    return watch.conditions()[0]?.level;
  };
  try {
    expect(await levelAfter(1_600)).toBe("look");
    expect(await levelAfter(11_000)).toBe("act");
    expect(await levelAfter(1_600)).toBe("look");
    for (let nth = 0; nth < 14; nth++) await levelAfter(9_000);
    expect(watch.conditions()[0]?.level).toBe("act");
  } finally {
    watch.stop();
  }
});
