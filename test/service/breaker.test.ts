import { describe, expect, it } from "vitest";
import { Failure, type FailureCode } from "../../src/core/failures.ts";
import { type BreakerChange, CircuitBreaker } from "../../src/service/http/breaker.ts";
import { FakeClock } from "./fake-clock.ts";
import { failureOf } from "./with-client.ts";

function setUp() {
  const clock = new FakeClock();
  const breaker = new CircuitBreaker(clock, () => 0);
  const changes: BreakerChange[] = [];
  breaker.onChange((change) => changes.push(change));
  const fail = (code: FailureCode = "SERVICE_UNAVAILABLE", retryAfterMs?: number) =>
    failureOf(breaker.guard(() => Promise.reject(new Failure(code, { message: "x", retryAfterMs }))));
  const failTimes = async (times: number, code?: FailureCode) => {
    for (let count = 0; count < times; count += 1) await fail(code);
  };
  const succeed = () => breaker.guard(async () => "answer");
  return { clock, breaker, changes, fail, failTimes, succeed };
}

describe("the circuit breaker", () => {
  it("opens after five failures in a row and holds calls back with the time until the next probe", async () => {
    const { breaker, failTimes, succeed } = setUp();
    await failTimes(4);
    await succeed();
    await failTimes(4);
    expect(breaker.state).toBe("closed");
    await failTimes(1);
    expect(breaker.state).toBe("open");
    expect(await failureOf(succeed())).toMatchObject({
      code: "SERVICE_PAUSED",
      class: "transient",
      retryAfterMs: 5_000,
    });
  });

  it("lets a single probe through when its time is over, and closes when that succeeds", async () => {
    const { clock, breaker, changes, failTimes, succeed } = setUp();
    await failTimes(5);
    await clock.advance(5_000);
    expect(breaker.state).toBe("half-open");
    let answer: (text: string) => void = () => {};
    const probe = breaker.guard(
      () =>
        new Promise<string>((resolve) => {
          answer = resolve;
        }),
    );
    expect((await failureOf(succeed())).code).toBe("SERVICE_PAUSED");
    answer("back");
    expect(await probe).toBe("back");
    expect(await succeed()).toBe("answer");
    expect(changes.map((change) => change.state)).toEqual(["open", "half-open", "closed"]);
  });

  it("says whether the last call was answered, and nothing before the first", async () => {
    const { breaker, fail, succeed } = setUp();
    expect(breaker.isAnswering).toBeUndefined();
    await fail("SERVICE_UNREACHABLE");
    expect([breaker.state, breaker.isAnswering]).toEqual(["closed", false]);
    await fail("SERVICE_REFUSED");
    expect(breaker.isAnswering).toBe(true);
    await fail();
    await succeed();
    expect(breaker.isAnswering).toBe(true);
  });

  it("tells since when calls are held back, the latest reason, and when the next one is let through, until it closes", async () => {
    const { clock, breaker, failTimes, fail, succeed } = setUp();
    await failTimes(5);
    const since = new Date(clock.now());
    const inMs = (ms: number) => new Date(clock.now() + ms);
    const first = { since, cause: { code: "SERVICE_UNAVAILABLE", text: "x" }, nextTryAt: inMs(5_000) };
    expect(breaker.opening).toEqual(first);
    await clock.advance(5_000);
    expect(breaker.state).toBe("half-open");
    expect(breaker.opening).toEqual(first);
    await fail("SERVICE_UNREACHABLE");
    const second = { since, cause: { code: "SERVICE_UNREACHABLE", text: "x" }, nextTryAt: inMs(10_000) };
    expect(breaker.opening).toEqual(second);
    await clock.advance(10_000);
    await succeed();
    expect(breaker.opening).toBeUndefined();
  });

  it("stays open twice as long after each failed probe, up to five minutes", async () => {
    const { clock, changes, failTimes, fail } = setUp();
    await failTimes(5);
    for (let probe = 0; probe < 8; probe += 1) {
      await clock.advance(changes.findLast((change) => change.openMs)?.openMs ?? 0);
      await fail();
    }
    const lengths = changes.flatMap((change) => change.openMs ?? []);
    expect(lengths).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => seconds * 1_000));
  });

  it("stays open as long as the service asked for", async () => {
    const { changes, failTimes, fail } = setUp();
    await failTimes(4);
    await fail("SERVICE_UNAVAILABLE", 120_000);
    expect(changes[0]?.openMs).toBe(120_000);
  });

  it("opens at once for refused credentials", async () => {
    const { breaker, fail } = setUp();
    await fail("SERVICE_CREDENTIALS_REFUSED");
    expect(breaker).toMatchObject({
      state: "open",
      opening: { cause: { code: "SERVICE_CREDENTIALS_REFUSED" } },
    });
  });

  it.each(["SERVICE_REFUSED", "SERVICE_NOT_FOUND", "SERVICE_STOPPED"] as const)(
    "takes %s for no sign of trouble",
    async (code) => {
      const { breaker, failTimes } = setUp();
      await failTimes(20, code);
      expect(breaker.state).toBe("closed");
    },
  );

  it("lets the next call probe when the probe itself was stopped by us", async () => {
    const { clock, breaker, failTimes, fail, succeed } = setUp();
    await failTimes(5);
    await clock.advance(5_000);
    await fail("SERVICE_STOPPED");
    expect(breaker.state).toBe("half-open");
    await succeed();
    expect(breaker.state).toBe("closed");
  });

  it("says that reads may be tried again until two calls have failed in a row", async () => {
    const { clock, breaker, failTimes, succeed } = setUp();
    await failTimes(1);
    expect(breaker.mayRepeat).toBe(true);
    await failTimes(1);
    expect(breaker.mayRepeat).toBe(false);
    await succeed();
    expect(breaker.mayRepeat).toBe(true);
    await failTimes(5);
    await clock.advance(5_000);
    expect(breaker).toMatchObject({ state: "half-open", mayRepeat: true });
  });

  it("isn't closed by a late success of a call that began before", async () => {
    const { breaker, failTimes } = setUp();
    let answer: (text: string) => void = () => {};
    const early = breaker.guard(
      () =>
        new Promise<string>((resolve) => {
          answer = resolve;
        }),
    );
    await failTimes(5);
    answer("late");
    await early;
    expect(breaker.state).toBe("open");
  });
});
