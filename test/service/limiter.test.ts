import { describe, expect, it } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { CALL_PURPOSES, type CallPurpose } from "../../src/core/service-quota.ts";
import { Limiter } from "../../src/service/http/limiter.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { failureOf, never } from "./with-client.ts";

const settings = { maxRequestsPerSecond: 20, concurrency: 4, maxWaitMs: 15_000 };
/** So many a second that only the limit at once counts. */
const FAST = { maxRequestsPerSecond: 10_000 };
const limiter = (clock: FakeClock, given = {}) => new Limiter({ ...settings, ...given }, clock, () => 0);
/** Has a call run that takes its one turn at once. */
const call = (
  gate: Limiter,
  purpose: CallPurpose,
  work: () => Promise<void>,
  signal = never,
  isAhead = false,
) =>
  gate.run(signal, { purpose, isAhead }, async (turn) => {
    await turn(signal);
    await work();
  });
/** Has calls leave, one as soon as the other has; gives when each did. */
function leaveAlways(gate: Limiter, left: number[] = []): number[] {
  const run = async () => {
    for (;;) left.push((await gate.turn(never, "other")).at);
  };
  void run();
  return left;
}

describe("the rate", () => {
  it("lets calls leave evenly, and no more than the configured number in any second", async () => {
    const clock = new FakeClock();
    const left = leaveAlways(limiter(clock));
    await clock.advance(10_000);
    expect(mostWithin(1_000, left)).toBe(20);
    expect(left.length).toBeGreaterThanOrEqual(196);
  });

  it("of one a second lets no more than 60 calls through in a minute", async () => {
    const clock = new FakeClock();
    const left = leaveAlways(limiter(clock, { maxRequestsPerSecond: 1 }));
    await clock.advance(600_000);
    expect(mostWithin(60_000, left)).toBeLessThanOrEqual(60);
    expect(left.length).toBeGreaterThanOrEqual(588);
  });

  it("starts at a tenth after a pause and rises to the whole within 20 s", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock, { maxRequestsPerSecond: 100 });
    gate.pause(1_000);
    const left = leaveAlways(gate);
    await clock.advance(2_000);
    expect(left.length).toBeGreaterThan(5);
    expect(left.length).toBeLessThan(25);
    await clock.advance(20_000);
    const before = left.length;
    await clock.advance(1_000);
    expect(left.length - before).toBeGreaterThanOrEqual(97);
  });
});

/** The most that left within so long, wherever that begins. */
function mostWithin(ms: number, left: readonly number[]): number {
  return Math.max(...left.map((from) => left.filter((at) => at >= from && at < from + ms).length));
}

describe("a rate a minute", () => {
  it("is kept from the first call after a pause on, since a tenth of a few calls is none for minutes", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock, { maxRequestsPerMinute: 6 });
    gate.pause(5_000);
    const left = leaveAlways(gate);
    await clock.advance(66_000);
    expect(left).toHaveLength(6);
  });

  it.each([
    [60, 1],
    [60, 7],
    [10, 3],
    [5, 8],
  ])(
    "of %i lets no more through in any minute, by %i workers together, and nearly as many",
    async (most, workers) => {
      const clock = new FakeClock();
      const left: number[] = [];
      for (let worker = 0; worker < workers; worker += 1) {
        const gate = limiter(clock, { maxRequestsPerMinute: most });
        gate.share(workers);
        leaveAlways(gate, left);
      }
      await clock.advance(600_000);
      const share = most / workers;
      // Where there are more workers than calls, the first calls of all may come in one minute.
      expect(mostWithin(60_000, left)).toBeLessThanOrEqual(Math.max(most, workers));
      expect(left.length).toBeGreaterThanOrEqual(
        (600 / 61.2) * workers * (share >= 1 ? Math.floor(share) : share) - workers,
      );
    },
  );
});

describe("several workers on a ledger", () => {
  it("share the rate and the calls at once, each with at least one of these", async () => {
    const clock = new FakeClock();
    const workers = [1, 2, 3].map(() => limiter(clock));
    for (const gate of workers) gate.share(1);
    for (const gate of workers) gate.share(3);
    expect(workers.map(({ atOnce }) => atOnce)).toEqual([1, 1, 1]);
    const left = workers.map((gate) => leaveAlways(gate));
    await clock.advance(60_000);
    const all = left.flat();
    expect(all.length).toBeGreaterThanOrEqual(1_170);
    expect(all.length).toBeLessThanOrEqual(1_200);
  });

  it("one that comes waits until the others have heard of it", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock);
    gate.share(2);
    let isThrough = false;
    gate.turn(never, "other").then(() => {
      isThrough = true;
    });
    await clock.advance(1_000);
    expect(isThrough).toBe(false);
    await clock.advance(500);
    expect(isThrough).toBe(true);
  });

  it("one that shares with more of them lets no further call begin until enough have ended, and with fewer begins more", async () => {
    const gate = limiter(new FakeClock(), FAST);
    gate.share(1);
    const ends: (() => void)[] = [];
    for (let nth = 0; nth < 10; nth += 1)
      void call(gate, "other", () => new Promise<void>((end) => ends.push(end)));
    await settle();
    expect(ends).toHaveLength(4);
    gate.share(2);
    ends[0]?.();
    ends[1]?.();
    await settle();
    expect(ends).toHaveLength(4);
    ends[2]?.();
    await settle();
    expect(ends).toHaveLength(5);
    gate.share(1);
    await settle();
    expect(ends).toHaveLength(7);
  });
});

describe("a pause that the service asked for", () => {
  it("is waited for when it is short", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock);
    gate.pause(5_000);
    let isThrough = false;
    gate.turn(never, "other").then(() => {
      isThrough = true;
    });
    await clock.advance(4_999);
    expect(isThrough).toBe(false);
    await clock.advance(1);
    expect(isThrough).toBe(true);
  });

  it("sends callers away with the time that is left when it is long", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock);
    gate.pause(60_000);
    await clock.advance(10_000);
    expect(await failureOf(gate.turn(never, "other"))).toMatchObject({
      code: "SERVICE_BUSY",
      retryAfterMs: 50_000,
    });
  });

  it("isn't shortened by a shorter one", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock);
    gate.pause(60_000);
    gate.pause(1_000);
    expect((await failureOf(gate.turn(never, "other"))).retryAfterMs).toBe(60_000);
  });
});

describe("concurrency", () => {
  it("runs that many at once, and the others in the order in which they came", async () => {
    const gate = limiter(new FakeClock(), FAST);
    const started: number[] = [];
    const ends: (() => void)[] = [];
    for (let nth = 0; nth < 7; nth += 1) {
      void call(gate, "other", () => {
        started.push(nth);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    }
    await settle();
    expect(started).toEqual([0, 1, 2, 3]);
    ends[2]?.();
    await settle();
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });

  it("frees the place of a call that failed and of one that left while waiting", async () => {
    const gate = limiter(new FakeClock(), { ...FAST, concurrency: 1 });
    const stop = new AbortController();
    let end: (error: Error) => void = () => {};
    const first = call(
      gate,
      "other",
      () =>
        new Promise<void>((_resolve, reject) => {
          end = reject;
        }),
    );
    const leaver = call(gate, "other", async () => {}, stop.signal);
    const last = call(gate, "other", async () => {}).then(() => "ran");
    await settle();
    stop.abort(new Failure("SERVICE_STOPPED", "gone"));
    await expect(leaver).rejects.toThrow("gone");
    end(new RangeError("failed"));
    await expect(first).rejects.toThrow("failed");
    expect(await last).toBe("ran");
  });

  it("frees the place, and the turn, of a call that ended before it took one", async () => {
    const gate = limiter(new FakeClock(), { ...FAST, concurrency: 1 });
    const first = gate.run(never, { purpose: "other" }, () => Promise.reject(new RangeError("no token")));
    const last = call(gate, "other", async () => {}).then(() => "ran");
    await expect(first).rejects.toThrow("no token");
    expect(await last).toBe("ran");
  });
});

describe("calls for one purpose", () => {
  it("that end something go before those that begin something, in the order in which they came", async () => {
    const gate = limiter(new FakeClock(), { ...FAST, concurrency: 1 });
    const left: string[] = [];
    let end = () => {};
    void call(gate, "submitting", () => new Promise<void>((resolve) => (end = resolve)));
    await settle();
    const leave = (name: string, isAhead: boolean) =>
      call(gate, "submitting", async () => void left.push(name), never, isAhead);
    const all = [
      leave("look 1", false),
      leave("send 1", true),
      leave("look 2", false),
      leave("send 2", true),
    ];
    end();
    await Promise.all(all);
    expect(left).toEqual(["send 1", "send 2", "look 1", "look 2"]);
  });
});

describe("calls for different purposes", () => {
  it("take turns by weight where all of them wait, so that none has to wait for ever", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock, { maxRequestsPerMinute: 60 });
    const left = new Map<CallPurpose, number>();
    for (const purpose of CALL_PURPOSES)
      for (let nth = 0; nth < 400; nth += 1)
        void call(gate, purpose, async () => {
          left.set(purpose, (left.get(purpose) ?? 0) + 1);
        });
    await clock.advance(180 * 1_020);
    const counts = CALL_PURPOSES.map((purpose) => left.get(purpose) ?? 0);
    expect(counts.map((count) => Math.round(count / 10))).toEqual([8, 4, 3, 2, 1]);
  });

  it("leave one purpose the whole rate when no other waits, and it owes nothing for that later", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock, { maxRequestsPerMinute: 60 });
    const left: CallPurpose[] = [];
    const leave = (purpose: CallPurpose) =>
      call(gate, purpose, async () => {
        left.push(purpose);
      });
    for (let nth = 0; nth < 200; nth += 1) void leave("other");
    await clock.advance(60 * 1_020);
    expect(left).toHaveLength(61);
    left.splice(0);
    for (let nth = 0; nth < 200; nth += 1) void leave("submitting");
    await clock.advance(50 * 1_020);
    expect(left.filter((purpose) => purpose === "other").length).toBeGreaterThanOrEqual(9);
  });

  it("come one after the other where each waits for the one before, behind a backlog of others", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock, { maxRequestsPerSecond: 1.5 });
    const left: CallPurpose[] = [];
    const leave = (purpose: CallPurpose) =>
      call(gate, purpose, async () => {
        left.push(purpose);
      });
    for (let waiting = 0; waiting < 100; waiting += 1) void leave("submitting");
    // Pages are read one after the other.
    const readPages = async () => {
      for (let page = 0; page < 10; page += 1) await leave("following");
    };
    void readPages();
    await clock.advance(25_000);
    expect(left.filter((purpose) => purpose === "following")).toHaveLength(10);
    expect(left.length).toBeGreaterThanOrEqual(36);
  });

  it("get their places while the service answers slowly", async () => {
    const gate = limiter(new FakeClock(), { ...FAST, concurrency: 2 });
    const ends: (() => void)[] = [];
    const left: CallPurpose[] = [];
    const leave = (purpose: CallPurpose) =>
      call(gate, purpose, () => {
        left.push(purpose);
        return new Promise<void>((end) => ends.push(end));
      });
    for (let waiting = 0; waiting < 5; waiting += 1) void leave("submitting");
    void leave("reconciling");
    await settle();
    expect(left).toEqual(["submitting", "reconciling"]);
    void leave("reconciling");
    ends[0]?.();
    await settle();
    expect(left).toEqual(["submitting", "reconciling", "reconciling"]);
  });
});
