import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { type JobQueues, openQueues, type QueueBackend } from "../../src/jobs/queues.ts";
import { openPool } from "../../src/ledger/database.ts";
import { eventually } from "../support/eventually.ts";
import { machineHas } from "../support/needs.ts";
import { withRedis } from "../support/redis-server.ts";
import { startTestServer } from "../support/test-server.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";

/** A server that keeps the jobs, and that a test may take down. */
interface QueueServer {
  open(): Promise<JobQueues>;
  crash(): Promise<void>;
  start(): Promise<void>;
}
type WithServer = (test: (server: QueueServer) => Promise<void>) => Promise<void>;

const withPostgres: WithServer = (test) =>
  withFolder(async (folder) => {
    const server = await startTestServer(join(folder, "server"));
    const { connection } = server;
    const settings = {
      connection,
      schema: "bullmq",
      max: 10,
      applicationName: "test",
      pauseAfterFailureMs: 100,
    };
    const pool = openPool(settings, silent);
    const opened: JobQueues[] = [];
    try {
      await test({
        open: () => openAndKeep(opened, { kind: "postgres", pool }),
        crash: server.crash,
        start: server.start,
      });
    } finally {
      await closeAll(opened);
      await pool.end();
      await server.remove();
    }
  });

const withRedisServer: WithServer = (test) =>
  withRedis(async ({ url, crash, start }) => {
    const opened: JobQueues[] = [];
    try {
      await test({
        open: () => openAndKeep(opened, { kind: "redis", url, prefix: "cryobridge-TEST01" }),
        crash,
        start,
      });
    } finally {
      await closeAll(opened);
    }
  });

async function openAndKeep(opened: JobQueues[], backend: QueueBackend): Promise<JobQueues> {
  const queues = await openQueues(backend, silent);
  opened.push(queues);
  return queues;
}

/** Closing twice does no harm. */
async function closeAll(opened: readonly JobQueues[]): Promise<void> {
  for (const queues of opened) await queues.close(500);
}

const job = (batch: number) => ({
  jobId: `submit-b${batch}`,
  data: { batch },
});

const SERVERS: readonly (readonly [string, boolean, WithServer])[] = [
  ["PostgreSQL", true, withPostgres],
  ["Redis", machineHas("redis-server"), withRedisServer],
];

describe.concurrent.each(SERVERS)("job queues on %s", (_name, isThere, withServer) => {
  test.runIf(isThere)("take the same job id once while the first is there", () =>
    withServer(async ({ open }) => {
      const queues = await open();
      await queues.add("submit", [job(1), job(2)]);
      await queues.add("submit", [job(1)]);
      expect((await queues.list("submit", 10)).map(({ jobId }) => jobId).sort()).toEqual([
        "submit-b1",
        "submit-b2",
      ]);
    }),
  );

  test.runIf(isThere)("tell which jobs exist, how many wait, and what they carry", () =>
    withServer(async ({ open }) => {
      const queues = await open();
      await queues.add("submit", [job(1), job(2)]);
      await queues.add("track", [{ jobId: "track-f12", data: { facilityId: 12 } }]);
      const found = await queues.findExisting("submit", ["submit-b1", "submit-b3", "submit-b2"]);
      expect([...found].sort()).toEqual(["submit-b1", "submit-b2"]);
      const counts = await queues.counts();
      expect([counts.submit.waiting, counts.track.waiting, counts.deliver.waiting]).toEqual([2, 1, 0]);
      const [shown] = await queues.list("track", 10);
      expect(shown).toMatchObject({
        queue: "track",
        jobId: "track-f12",
        state: "waiting",
        data: { facilityId: 12 },
      });
    }),
  );

  test.runIf(isThere)("run every job once and forget it, and take its id again afterwards", () =>
    withServer(async ({ open }) => {
      const queues = await open();
      const ran: number[] = [];
      await queues.work("submit", 4, async ({ batch }) => {
        ran.push(batch);
      });
      await queues.add(
        "submit",
        Array.from({ length: 20 }, (_, index) => job(index + 1)),
      );
      await eventually(() => ran.length === 20);
      await eventually(async () => (await queues.list("submit", 10)).length === 0);
      await queues.add("submit", [job(7)]);
      await eventually(() => ran.length === 21);
      expect(new Set(ran).size).toBe(20);
    }),
  );

  test.runIf(isThere)("go on after a job that throws", () =>
    withServer(async ({ open }) => {
      const queues = await open();
      const ran: number[] = [];
      await queues.work("submit", 1, async ({ batch }) => {
        ran.push(batch);
        if (batch === 1) throw new Error("broken");
      });
      await queues.add("submit", [job(1), job(2)]);
      await eventually(() => ran.length === 2);
      await eventually(async () => (await queues.list("submit", 10)).length === 0);
    }),
  );

  test.runIf(isThere)("forget all jobs when they are cleared, those that a dead worker held included", () =>
    withServer(async ({ open }) => {
      const dead = await open();
      await dead.work("track", 1, () => new Promise(() => undefined));
      await dead.add("track", [{ jobId: "track-f12", data: { facilityId: 12 } }]);
      await eventually(async () => (await dead.counts()).track.active === 1);
      await dead.close(0);
      const queues = await open();
      await queues.clear();
      const ran: number[] = [];
      await queues.work("track", 1, async ({ facilityId }) => {
        ran.push(facilityId);
      });
      await queues.add("track", [{ jobId: "track-f12", data: { facilityId: 12 } }]);
      await eventually(() => ran.length === 1);
    }),
  );

  test.runIf(isThere)("wait for the jobs in hand when they are closed", () =>
    withServer(async ({ open }) => {
      const queues = await open();
      const begun = Promise.withResolvers<void>();
      let isDone = false;
      await queues.work("submit", 1, async () => {
        begun.resolve();
        await systemClock.sleep(300);
        isDone = true;
      });
      await queues.add("submit", [job(1)]);
      await begun.promise;
      await queues.close(60_000);
      expect(isDone).toBe(true);
    }),
  );

  test.runIf(isThere)("give up on jobs that go on after the deadline, and say so to them", () =>
    withServer(async ({ open }) => {
      const queues = await open();
      let isReported = false;
      await queues.work("submit", 1, async (_data, signal) => {
        await systemClock.sleep(60_000, signal).catch(() => undefined);
        isReported = signal.aborted;
      });
      await queues.add("submit", [job(1)]);
      await eventually(async () => (await queues.counts()).submit.active === 1);
      await queues.close(200);
      await eventually(() => isReported, { what: "the news that it is too late" });
    }),
  );

  test.runIf(isThere)(
    "go on after their server was lost, with workers that were idle and workers that were not",
    () =>
      withServer(async ({ open, crash, start }) => {
        const queues = await open();
        const ran: string[] = [];
        await queues.work("submit", 2, async ({ batch }) => {
          ran.push(`b${batch}`);
        });
        await queues.work("track", 1, async ({ facilityId }) => {
          ran.push(`f${facilityId}`);
        });
        await queues.add("submit", [job(1)]);
        await eventually(() => ran.length === 1);
        await crash();
        await start();
        await eventually(async () => queues.add("submit", [job(2)]).then(() => true));
        await eventually(async () =>
          queues.add("track", [{ jobId: "track-f12", data: { facilityId: 12 } }]).then(() => true),
        );
        await eventually(() => ran.includes("b2") && ran.includes("f12"));
      }),
  );

  test.runIf(isThere)("close within the deadline and a little when their server is out of reach", () =>
    withServer(async ({ open, crash }) => {
      const queues = await open();
      await queues.work("submit", 2, async () => undefined);
      await crash();
      const startedAt = performance.now();
      await queues.close(500);
      // Nobody would come back without the deadline; a busy machine takes its time.
      expect(performance.now() - startedAt).toBeLessThan(15_000);
    }),
  );

  test.runIf(isThere)("refuse to open when their server can't be reached", () =>
    withServer(async ({ open, crash }) => {
      await crash();
      await expect(open()).rejects.toMatchObject({ class: "transient" });
    }),
  );
});

test("queues on PostgreSQL make their tables anew when somebody dropped them", () =>
  withFolder(async (folder) => {
    const server = await startTestServer(join(folder, "server"));
    const { connection } = server;
    const settings = {
      connection,
      schema: "bullmq",
      max: 10,
      applicationName: "test",
      pauseAfterFailureMs: 100,
    };
    const pool = openPool(settings, silent);
    const queues = await openQueues({ kind: "postgres", pool }, silent);
    try {
      const ran: number[] = [];
      await queues.work("submit", 2, async ({ batch }) => {
        ran.push(batch);
      });
      // The server may end it for a deadlock with what the workers ask at this moment.
      await eventually(() => pool.query("drop schema bullmq cascade"));
      const before = process.cpuUsage();
      await systemClock.sleep(1_000);
      const { user, system } = process.cpuUsage(before);
      await queues.add("submit", [job(1)]);
      await eventually(() => ran.length === 1);
      expect((user + system) / 1_000_000).toBeLessThan(0.4);
    } finally {
      await queues.close(500);
      await pool.end();
      await server.remove();
    }
  }));
