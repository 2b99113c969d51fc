import { describe, expect, it } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { Limiter } from "../../src/service/http/limiter.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { failureOf, never } from "./with-client.ts";

const settings = { maxRequestsPerSecond: 20, concurrency: 4, maxWaitMs: 15_000 };
/** So many a second that only the limit at once counts. */
const FAST = { maxRequestsPerSecond: 10_000 };
const limiter = (clock: FakeClock, given = {}) => new Limiter({ ...settings, ...given }, clock, () => 0);

describe("the rate", () => {
  it("lets no more than the configured number a second through, and one tenth of a second's worth at once", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock);
    let left = 0;
    for (let call = 0; call < 100; call += 1) {
      gate.turn(never).then(() => {
        left += 1;
      });
    }
    await settle();
    expect(left).toBe(2);
    for (let second = 1; second <= 4; second += 1) {
      await clock.advance(1_000);
      expect(left).toBe(2 + second * 20);
    }
  });

  it("starts at a tenth after a pause and rises to the whole within 20 s", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock, { maxRequestsPerSecond: 100 });
    gate.pause(1_000);
    let left = 0;
    const run = async () => {
      for (;;) {
        await gate.turn(never);
        left += 1;
      }
    };
    run();
    await clock.advance(2_000);
    expect(left).toBeGreaterThan(5);
    expect(left).toBeLessThan(25);
    await clock.advance(20_000);
    const before = left;
    await clock.advance(1_000);
    expect(left - before).toBeGreaterThanOrEqual(99);
  });
});

describe("a rate a minute", () => {
  it("is kept from the first call after a pause on, since a tenth of a few calls is none for minutes", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock, { maxRequestsPerMinute: 6 });
    gate.pause(5_000);
    let left = 0;
    const run = async () => {
      for (;;) {
        await gate.turn(never);
        left += 1;
      }
    };
    void run();
    for (let second = 0; second < 66; second += 1) await clock.advance(1_000);
    expect(left).toBe(6);
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
        const run = async () => {
          for (;;) {
            await gate.turn(never);
            left.push(clock.monotonic());
          }
        };
        void run();
      }
      for (let second = 0; second < 600; second += 1) await clock.advance(1_000);
      const inMinute = left.map((from) => left.filter((at) => at >= from && at < from + 60_000).length);
      // A worker has one request in a minute, though they are more than the limit.
      expect(Math.max(...inMinute)).toBeLessThanOrEqual(Math.max(most, workers));
      expect(left.length).toBeGreaterThanOrEqual(
        (600 / 61.2) * workers * Math.floor(Math.max(1, most / workers)) - workers,
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
    let left = 0;
    const run = async (gate: Limiter) => {
      for (;;) {
        await gate.turn(never);
        left += 1;
      }
    };
    for (const gate of workers) run(gate);
    await clock.advance(1_000);
    const before = left;
    await clock.advance(9_000);
    expect(left - before).toBeGreaterThanOrEqual(174);
    expect(left - before).toBeLessThanOrEqual(180);
  });

  it("one that comes waits until the others have heard of it", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock);
    gate.share(2);
    let isThrough = false;
    gate.turn(never).then(() => {
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
    for (let call = 0; call < 10; call += 1)
      gate.run(never, "other", () => new Promise<void>((end) => ends.push(end)));
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
    gate.turn(never).then(() => {
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
    expect(await failureOf(gate.turn(never))).toMatchObject({ code: "SERVICE_BUSY", retryAfterMs: 50_000 });
  });

  it("isn't shortened by a shorter one", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock);
    gate.pause(60_000);
    gate.pause(1_000);
    expect((await failureOf(gate.turn(never))).retryAfterMs).toBe(60_000);
  });
});

describe("concurrency", () => {
  it("runs that many at once, and the others in the order in which they came", async () => {
    const gate = limiter(new FakeClock(), FAST);
    const started: number[] = [];
    const ends: (() => void)[] = [];
    for (let call = 0; call < 7; call += 1) {
      gate.run(never, "other", () => {
        started.push(call);
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
    const first = gate.run(
      never,
      "other",
      () =>
        new Promise<void>((_resolve, reject) => {
          end = reject;
        }),
    );
    const leaver = gate.run(stop.signal, "other", async () => "never");
    const last = gate.run(never, "other", async () => "ran");
    await settle();
    stop.abort(new Failure("SERVICE_STOPPED", "gone"));
    await expect(leaver).rejects.toThrow("gone");
    end(new RangeError("failed"));
    await expect(first).rejects.toThrow("failed");
    expect(await last).toBe("ran");
  });
});

describe("calls that follow orders", () => {
  it("take turns with a backlog of others, and leave them the whole rate when there are none", async () => {
    const clock = new FakeClock();
    const gate = limiter(clock, { maxRequestsPerSecond: 1.5 });
    const left: string[] = [];
    const call = (purpose: "following" | "other") =>
      gate.run(never, purpose, async () => {
        left.push(purpose);
      });
    for (let waiting = 0; waiting < 100; waiting += 1) void call("other");
    // Pages are read one after the other.
    const readPages = async () => {
      for (let page = 0; page < 10; page += 1) await call("following");
    };
    void readPages();
    await clock.advance(20_000);
    const early = left.splice(0);
    expect(early.filter((purpose) => purpose === "following")).toHaveLength(10);
    expect(early.length).toBeGreaterThanOrEqual(29);
    await clock.advance(20_000);
    expect(left.length).toBeGreaterThanOrEqual(29);
  });

  it("get every second place while the service answers slowly", async () => {
    const gate = limiter(new FakeClock(), { ...FAST, concurrency: 2 });
    const ends: (() => void)[] = [];
    const left: string[] = [];
    const call = (purpose: "following" | "other") =>
      gate.run(never, purpose, () => {
        left.push(purpose);
        return new Promise<void>((end) => ends.push(end));
      });
    for (let waiting = 0; waiting < 5; waiting += 1) void call("other");
    void call("following");
    await settle();
    expect(left).toEqual(["other", "following"]);
    void call("following");
    ends[0]?.();
    await settle();
    ends[1]?.();
    await settle();
    expect(left).toEqual(["other", "following", "other", "following"]);
  });
});
