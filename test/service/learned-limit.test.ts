import { describe, expect, it } from "vitest";
import type { FoundQuotas } from "../../src/core/service-quota.ts";
import { readHeaders } from "../../src/service/http/answer.ts";
import { Limiter } from "../../src/service/http/limiter.ts";
import type { Turn } from "../../src/service/http/sent-calls.ts";
import { FakeClock } from "./fake-clock.ts";
import { never } from "./with-client.ts";

const settings = { maxRequestsPerSecond: 20, concurrency: 4, maxWaitMs: 15_000 };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A worker of whose findings the others hear. */
function worker(clock: FakeClock, given: { readonly maxRequestsPerMinute?: number } = {}) {
  const reported: Omit<FoundQuotas, "ageMs">[] = [];
  const pauses: number[] = [];
  const gate = new Limiter({ ...settings, ...given }, clock, () => 0, {
    reportOutage: () => {},
    reportRecovery: () => {},
    reportPause: (ms) => pauses.push(ms),
    reportQuotas: (source, quotas) => reported.push({ source, quotas }),
  });
  return { gate, reported, pauses };
}

const answer = (status: number, headers: Record<string, string> = {}) => ({
  status,
  headers: readHeaders(headers),
});

/** Has so many calls leave, one waiting for its place behind them. */
async function leave(gate: Limiter, clock: FakeClock, count: number): Promise<Turn[]> {
  const turns: Turn[] = [];
  const leaving = (async () => {
    while (turns.length < count) turns.push(await gate.turn(never, "submitting"));
  })();
  for (let nth = 0; nth <= settings.concurrency; nth += 1)
    void gate.run(never, { purpose: "other" }, () => new Promise(() => {}));
  while (turns.length < count) await clock.advance(100);
  await leaving;
  return turns;
}

/** Has a service of 60 calls a minute refuse the 61st. */
async function learn60(given: ReturnType<typeof worker>, clock: FakeClock): Promise<void> {
  const turns = await leave(given.gate, clock, 61);
  given.gate.heard(turns[60]!, answer(429, { "retry-after": "50" }));
}

describe("what a service states", () => {
  it("differently for some of its calls counts by the least, and is reported once", async () => {
    const clock = new FakeClock();
    const { gate, reported } = worker(clock);
    for (let nth = 0; nth < 50; nth += 1) {
      const turn = (await leave(gate, clock, 1))[0]!;
      gate.heard(turn, answer(200, { "ratelimit-policy": `${nth % 2 === 0 ? 600 : 60};w=60` }));
    }
    expect(gate.quota).toMatchObject({ calls: 60, windowMs: MINUTE });
    expect(reported.map(({ quotas }) => quotas[0]?.calls)).toEqual([600, 60]);
  });

  it("as none left for an hour has a call refused for now, so that nothing waits that long with what was read before it", async () => {
    const clock = new FakeClock();
    const { gate } = worker(clock);
    const [turn] = await leave(gate, clock, 1);
    gate.heard(turn!, answer(200, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "3600" }));
    await expect(gate.turn(never, "submitting")).rejects.toMatchObject({
      code: "SERVICE_BUSY",
      retryAfterMs: expect.toSatisfy((ms: number) => ms > 3_500_000),
    });
  });
});

describe("what a service refused", () => {
  it("is learned, and reported to the other workers, which keep to it", async () => {
    const clock = new FakeClock();
    const one = worker(clock);
    await learn60(one, clock);
    expect(one.gate.quota).toEqual({ calls: 60, windowMs: MINUTE, source: "learned" });
    expect(one.pauses).toEqual([50_000]);
    const other = worker(clock);
    other.gate.follow({
      callers: 2,
      pauseMs: 0,
      quotas: one.reported.map((each) => ({ ...each, ageMs: 0 })),
    });
    expect(other.gate.quota).toEqual(one.gate.quota);
    expect(other.reported).toEqual([]);
  });

  it("is for all workers together: each of them got as much through", async () => {
    const clock = new FakeClock();
    const { gate, reported } = worker(clock);
    gate.share(1);
    gate.share(3);
    const turns = await leave(gate, clock, 21);
    gate.heard(turns[20]!, answer(429, { "retry-after": "50" }));
    expect(reported).toEqual([{ source: "learned", quotas: [{ calls: 60, windowMs: MINUTE }] }]);
  });

  it("is a pause and no limit while nothing else waits", async () => {
    const clock = new FakeClock();
    const { gate, reported, pauses } = worker(clock);
    gate.heard(await gate.turn(never, "other"), answer(429));
    expect(gate.quota.source).toBe("set");
    expect(reported).toEqual([]);
    expect(pauses).toEqual([1_200]);
  });

  it("is a pause and no limit where only a few calls came before: something else is wrong", async () => {
    const clock = new FakeClock();
    const { gate, reported, pauses } = worker(clock);
    const turns = await leave(gate, clock, 9);
    gate.heard(turns[8]!, answer(429));
    for (const pauseMs of [1_200, 2_400, 4_800]) {
      await clock.advance(pauseMs);
      gate.heard(await gate.turn(never, "submitting"), answer(429));
    }
    expect(reported).toEqual([]);
    expect(pauses).toEqual([1_200, 2_400, 4_800, 9_600]);
  });

  it("holds for an hour, doubles then each ten minutes, and is what held where that was too much", async () => {
    const clock = new FakeClock();
    const given = worker(clock);
    const { gate } = given;
    await learn60(given, clock);
    await clock.advance(50_000);
    gate.heard(await gate.turn(never, "other"), answer(200));
    await clock.advance(HOUR - 51_000);
    expect(gate.quota.calls).toBe(60);
    await clock.advance(2_000);
    expect(gate.quota.calls).toBe(120);
    await clock.advance(10 * MINUTE);
    expect(gate.quota.calls).toBe(240);
    const turns = await leave(gate, clock, 100);
    gate.heard(turns[99]!, answer(429, { "retry-after": "30" }));
    expect(gate.quota).toEqual({ calls: 60, windowMs: MINUTE, source: "learned" });
  });

  it("holds for ten minutes where the limit is set: others used it up for a while", async () => {
    const clock = new FakeClock();
    const { gate } = worker(clock, { maxRequestsPerMinute: 60 });
    const turns = await leave(gate, clock, 41);
    gate.heard(turns[40]!, answer(429, { "retry-after": "20" }));
    expect(gate.quota).toEqual({ calls: 40, windowMs: MINUTE, source: "learned" });
    await clock.advance(10 * MINUTE);
    expect(gate.quota).toEqual({ calls: 60, windowMs: MINUTE, source: "set" });
  });

  it("falls further where what was learned is refused again", async () => {
    const clock = new FakeClock();
    const given = worker(clock);
    const { gate } = given;
    await learn60(given, clock);
    await clock.advance(50_000);
    const [first, ...turns] = await leave(gate, clock, 31);
    gate.heard(first!, answer(200));
    gate.heard(turns.at(-1)!, answer(429, { "retry-after": "30" }));
    expect(gate.quota.calls).toBe(30);
  });

  it("is never more than what is set", async () => {
    const clock = new FakeClock();
    const { gate } = worker(clock, { maxRequestsPerMinute: 60 });
    gate.heard(await gate.turn(never, "other"), answer(200, { "ratelimit-policy": "600;w=60" }));
    expect(gate.quota).toEqual({ calls: 60, windowMs: MINUTE, source: "set" });
  });
});

describe("what headers say", () => {
  it("is reported once, and again where it changes", async () => {
    const clock = new FakeClock();
    const { gate, reported } = worker(clock);
    for (const limit of ["60", "60", "30"]) {
      gate.heard(await gate.turn(never, "other"), answer(200, { "ratelimit-policy": `${limit};w=60` }));
      await clock.advance(5_000);
    }
    expect(reported.map(({ quotas }) => quotas[0]?.calls)).toEqual([60, 30]);
  });

  it("has calls wait for the next window where nothing is left of this one, though others used it up", async () => {
    const clock = new FakeClock();
    const { gate } = worker(clock);
    const says = { "ratelimit-limit": "60", "ratelimit-remaining": "0", "ratelimit-reset": "20" };
    gate.heard(await gate.turn(never, "other"), answer(200, says));
    let isThrough = false;
    void gate.turn(never, "other").then(() => {
      isThrough = true;
    });
    await clock.advance(19_900);
    expect(isThrough).toBe(false);
    await clock.advance(2_000);
    expect(isThrough).toBe(true);
  });

  it("spreads what is left over what remains of the window", async () => {
    const clock = new FakeClock();
    const { gate } = worker(clock);
    const says = { "ratelimit-limit": "60", "ratelimit-remaining": "5", "ratelimit-reset": "50" };
    gate.heard(await gate.turn(never, "other"), answer(200, says));
    const [, ...turns] = await leave(gate, clock, 5);
    expect(Math.min(...turns.map(({ at }, nth) => at - (turns[nth - 1]?.at ?? 0)))).toBeGreaterThan(9_900);
  });
});
