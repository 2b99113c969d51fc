import { expect, test } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import type { ServiceNews } from "../../src/core/service-outage.ts";
import { joinWorkers, type Membership } from "../../src/ledger/workers/membership.ts";
import { asCaller, readServiceNews } from "../../src/ledger/workers/roster.ts";
import { reportToOthers } from "../../src/ledger/workers/service-pause.ts";
import { createServiceClient, type ServiceClient } from "../../src/service/client.ts";
import { FakeClock } from "../service/fake-clock.ts";
import { StubService, send } from "../service/stub-service.ts";
import { settings } from "../service/with-client.ts";
import { eventually } from "../support/eventually.ts";
import { hastyClock } from "../support/hasty-clock.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;

/** The pauses between two tries of a read end at once, longer ones when a test says so. */
class WorkerClock extends FakeClock {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return ms < 1_000 ? Promise.resolve() : super.sleep(ms, signal);
  }
}

interface Worker {
  readonly member: Membership;
  readonly client: ServiceClient;
  /** By which the client waits. */
  readonly clock: WorkerClock;
  /** What came with its heartbeats. */
  readonly heard: readonly Pick<ServiceNews, "pauseMs">[];
}

/** Enters workers of one ledger, each with a client of the service, as daemons do. */
async function withWorkers(
  count: number,
  test: (parts: {
    readonly workers: readonly Worker[];
    readonly stub: StubService;
    readonly ledger: TestLedger;
    readonly enter: () => Promise<Worker>;
  }) => Promise<void>,
): Promise<void> {
  await withLedger(async (ledger) => {
    const { connection, pool } = ledger;
    const stub = await new StubService().start();
    const closers: (() => Promise<void>)[] = [];
    const enter = async () => {
      const member = await joinWorkers({
        ...{ connection, pool, clock: hastyClock, logger: silent },
        self: { name: "w", host: "here", pid: 1, version: "1.0.0", roles: ["worker"], connectors: [] },
        onDrain: () => {},
      });
      const clock = new WorkerClock();
      const client = createServiceClient(
        { ...settings(stub.baseUrl), concurrency: 9, longestPauseMs: 1 },
        { clock, logger: silent, others: reportToOthers(pool, silent), random: () => 0 },
      );
      const heard: Pick<ServiceNews, "pauseMs">[] = [];
      member.onNews((news) => {
        client.follow(news);
        heard.push(news);
      });
      // One that comes to others waits until they have made room for its calls.
      await clock.advance(2_000);
      closers.push(
        () => client.close(),
        () => member.leave(),
      );
      return { member, client, clock, heard };
    };
    try {
      const workers: Worker[] = [];
      for (let n = 0; n < count; n += 1) workers.push(await enter());
      await eventually(() => workers.every(({ member }) => member.workers === count));
      await test({ workers, stub, ledger, enter });
    } finally {
      for (const close of closers) await close();
      await stub.stop();
    }
  });
}

/** One call; gives its failure's code. */
const callOf = async ({ client }: Worker): Promise<string> =>
  client.getRequest(1, never).then(
    () => "ok",
    (error: unknown) => (error instanceof Failure ? error.code : String(error)),
  );

const statesOf = (workers: readonly Worker[]) => workers.map(({ client }) => client.breaker.state);
const all = (state: string) => (states: readonly string[]) => states.every((each) => each === state);

const answerWith = (stub: StubService, status: number, headers: Record<string, string> = {}) => {
  stub.intercept = (_request, response) => {
    send(response, status, { message: "no" }, headers);
    return true;
  };
};

test("what one worker finds holds back the others, then each tries once, and all go on when the service is back", () =>
  withWorkers(3, async ({ workers, stub, enter }) => {
    const [finder, ...others] = workers as [Worker, Worker, Worker];
    answerWith(stub, 502);
    while (finder.client.breaker.state === "closed") await callOf(finder);
    await eventually(() => all("open")(statesOf(workers)));
    const seen = stub.seen.length;
    expect(await Promise.all(others.map(callOf))).toEqual(["SERVICE_PAUSED", "SERVICE_PAUSED"]);
    const { cause, since } = finder.client.breaker.opening ?? {};
    expect(others[0]?.client.breaker.opening).toMatchObject({ cause, since });
    // One that starts meanwhile needs no calls to find it out.
    const fresh = await enter();
    expect(fresh.client.breaker.state).toBe("open");
    expect(stub.seen).toHaveLength(seen);

    // One try of each, which fails: they wait on.
    const everyone = [...workers, fresh];
    const pass = (ms: number) => Promise.all(everyone.map(({ clock }) => clock.advance(ms)));
    await pass(5_000);
    expect(statesOf(everyone)).toEqual(everyone.map(() => "half-open"));
    for (const code of ["SERVICE_UNAVAILABLE", "SERVICE_PAUSED"])
      expect(await Promise.all(everyone.map(callOf))).toEqual(everyone.map(() => code));
    stub.intercept = () => false;
    await eventually(async () => {
      await pass(10_000);
      await Promise.all(everyone.map(callOf));
      return all("closed")(statesOf(everyone));
    });
  }));

test("a worker that the service answers goes on while another one can't reach it", () =>
  withWorkers(2, async ({ workers, stub }) => {
    const [cut, well] = workers as [Worker, Worker];
    const { client } = cut;
    answerWith(stub, 502);
    await callOf(cut);
    stub.intercept = () => false;
    await Promise.all([cut, well].map(({ clock }) => clock.advance(300)));
    await callOf(well);
    answerWith(stub, 502);
    while (client.breaker.state === "closed") await callOf(cut);
    stub.intercept = () => false;
    const before = well.heard.length;
    await eventually(() => well.heard.length >= before + 3);
    expect(client.breaker.state).not.toBe("closed");
    expect(well.client.breaker.state).toBe("closed");
  }));

test("a pause that the service asked one worker for is kept by all", () =>
  withWorkers(2, async ({ workers, stub }) => {
    const [asked, other] = workers as [Worker, Worker];
    answerWith(stub, 429, { "retry-after": "60" });
    expect(await callOf(asked)).toBe("SERVICE_BUSY");
    const seen = stub.seen.length;
    await eventually(() => other.heard.some(({ pauseMs }) => pauseMs > 0));
    expect(await callOf(other)).toBe("SERVICE_BUSY");
    expect(stub.seen).toHaveLength(seen);
  }));

test("what is left of an earlier outage holds nobody back", () =>
  withWorkers(1, async ({ workers, ledger, enter }) => {
    await ledger.pool.query(
      "update service_pause set cause = 'SERVICE_UNREACHABLE', text = 'x', since = now(), failing_since = now(), until_at = now(), asked_until = now()",
    );
    const fresh = await enter();
    expect(await Promise.all([...workers, fresh].map(callOf))).toEqual([
      "SERVICE_NOT_FOUND",
      "SERVICE_NOT_FOUND",
    ]);
  }));

test("one that only heard of an outage tries when another one says that it is over; the one that found it keeps to its time", () =>
  withWorkers(2, async ({ workers, stub, ledger }) => {
    const [finder, other] = workers as [Worker, Worker];
    answerWith(stub, 502, { "retry-after": "60" });
    while (finder.client.breaker.state === "closed") await callOf(finder);
    await eventually(() => other.client.breaker.state === "open");
    reportToOthers(ledger.pool, silent).reportRecovery();
    await eventually(() => other.client.breaker.state === "half-open");
    expect(finder.client.breaker.state).toBe("open");
    stub.intercept = () => false;
    expect(await callOf(other)).toBe("SERVICE_NOT_FOUND");
  }));

test("a worker makes room for an inventory while that calls the service, and still works alone", () =>
  withWorkers(1, async ({ workers: [one], ledger: { pool } }) => {
    const { client, member } = one as Worker;
    const isShared = (by: number) => eventually(() => client.callsAtOnce === Math.floor(9 / by));
    await isShared(1);
    await asCaller(pool, async () => {
      await isShared(2);
      expect(member.workers).toBe(1);
      expect((await readServiceNews(pool)).callers).toBe(2);
    });
    await isShared(1);
  }));

test("how many calls the service takes is learned by one worker, and kept by all and by those that come later", () =>
  withWorkers(2, async ({ workers, stub, ledger, enter }) => {
    stub.rows["procedure-requests"] = [{ id: 1 }];
    answerWith(stub, 200, { "ratelimit-policy": "120;w=60" });
    await callOf(workers[0] as Worker);
    const limit = { calls: 120, windowMs: 60_000, source: "header" };
    const isKept = ({ client }: Worker) => client.limit.quota.source === "header";
    await eventually(() => workers.every(isKept));
    expect(workers.map(({ client }) => client.limit.quota)).toEqual([limit, limit]);
    const later = await enter();
    await eventually(() => isKept(later));
    const { quotas } = await readServiceNews(ledger.pool);
    expect(quotas).toMatchObject([{ source: "header", quotas: [{ calls: 120, windowMs: 60_000 }] }]);
    // Each has its share of it.
    await eventually(() => later.client.limit.sharedBy === 3);
    expect(Math.round(later.client.limit.mostPerMinute)).toBe(118);
  }));
