import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { QueueBackend } from "../../src/jobs/queue-place.ts";
import { type JobQueues, openQueues, QUEUE_NAMES } from "../../src/jobs/queues.ts";
import { openPool } from "../../src/ledger/database.ts";
import { eventually } from "../support/eventually.ts";
import { machineHas } from "../support/needs.ts";
import {
  type TestRedisGroup,
  type WithRedisGroup,
  withCluster,
  withOneRedis,
  withSentinels,
} from "../support/redis-server.ts";
import { startTestServer } from "../support/test-server.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";

/** A server that keeps the jobs, and that a test may take down. */
interface QueueServer {
  /** Queues of the same ledger each time. */
  open(connectors?: readonly string[]): Promise<JobQueues>;
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
        open: (connectors) => openAndKeep(opened, { kind: "postgres", pool }, connectors),
        crash: server.crash,
        start: server.start,
      });
    } finally {
      await closeAll(opened);
      await pool.end();
      await server.remove();
    }
  });

let ledgers = 0;

async function onRedis(
  { way, crash, start }: TestRedisGroup,
  test: Parameters<WithServer>[0],
): Promise<void> {
  const opened: JobQueues[] = [];
  const prefix = `cryobridge-${ledgers++}`;
  try {
    await test({
      open: (connectors) => openAndKeep(opened, { kind: "redis", prefix, ...way }, connectors),
      ...{ crash, start },
    });
  } finally {
    await closeAll(opened);
  }
}

/** Servers that several tests share while none takes them down; they end with the file. */
const endings: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of endings) await end();
});

function shared(withGroup: WithRedisGroup): WithServer {
  let group: Promise<TestRedisGroup> | undefined;
  const begin = async () => {
    const begun = Promise.withResolvers<TestRedisGroup>();
    const over = Promise.withResolvers<void>();
    const whole = withGroup(async (opened) => {
      begun.resolve(opened);
      await over.promise;
    });
    whole.catch(begun.reject);
    endings.push(async () => {
      over.resolve();
      await whole;
    });
    return await begun.promise;
  };
  return async (test) => {
    group ??= begin();
    await onRedis(await group, test);
  };
}

async function openAndKeep(
  opened: JobQueues[],
  backend: QueueBackend,
  connectors: readonly string[] = [],
): Promise<JobQueues> {
  const queues = await openQueues(backend, connectors, silent);
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

const never = () => new Promise<void>(() => undefined);

const redis = (name: string, withGroup: WithRedisGroup) => ({
  ...{ name, isThere: machineHas("redis-server"), withServer: shared(withGroup) },
  withOwnServer: ((test) => withGroup((group) => onRedis(group, test))) satisfies WithServer,
});
const SERVERS = [
  { name: "PostgreSQL", isThere: true, withServer: withPostgres, withOwnServer: withPostgres },
  redis("one Redis", withOneRedis),
  redis("a Redis with sentinels", withSentinels),
  redis("a Redis cluster", withCluster),
];

describe.concurrent.each(SERVERS)("job queues on $name", ({ isThere, withServer, withOwnServer }) => {
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
      const queues = await open(["lims"]);
      await queues.add("submit", [job(1), job(2)]);
      await queues.add("track", [{ jobId: "track-f12", data: { facilityId: 12 } }]);
      const found = await queues.findExisting(["submit-b1", "submit-b3", "submit-b2"]);
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

  test.runIf(isThere)(
    "give out again what a dead worker held, and hold up nothing of another worker's number meanwhile",
    () =>
      withServer(async ({ open }) => {
        const dead = await open(["lims"]);
        const begun: string[] = [];
        await dead.work("submit", 1, async ({ batch }) => {
          begun.push(`b${batch}`);
          await never();
        });
        await dead.work("track", 1, async () => {
          begun.push("track");
          await never();
        });
        await dead.work("deliver", 1, async () => {
          begun.push("deliver");
          await never();
        });
        await dead.add("submit", [job(1)]);
        await dead.add("track", [{ jobId: "track-f12-w1", data: { facilityId: 12 } }]);
        await dead.add("deliver", [{ jobId: "deliver-lims-w1", data: { connector: "lims" } }]);
        await eventually(() => begun.length === 3);
        await dead.close(0);

        const queues = await open(["lims"]);
        const ran: string[] = [];
        await queues.work("submit", 1, async ({ batch }) => void ran.push(`b${batch}`));
        await queues.work("track", 1, async ({ facilityId }) => void ran.push(`f${facilityId}`));
        await queues.work("deliver", 1, async ({ connector }) => void ran.push(connector));
        await queues.add("track", [{ jobId: "track-f12-w2", data: { facilityId: 12 } }]);
        await queues.add("deliver", [{ jobId: "deliver-lims-w2", data: { connector: "lims" } }]);
        await eventually(() => ran.length === 2);
        expect(ran.sort()).toEqual(["f12", "lims"]);
        // Its lock of 4 s, and two looks 2.5 s apart.
        await eventually(() => ran.length === 5, { withinMs: 30_000 });
        expect(ran.sort()).toEqual(["b1", "f12", "f12", "lims", "lims"]);
      }),
  );

  test.runIf(isThere)("give a connector's results to those that have the connector, and to nobody else", () =>
    withServer(async ({ open }) => {
      const both = await open(["lims", "bench"]);
      const one = await open(["lims"]);
      const ran: string[] = [];
      await one.work("deliver", 1, async ({ connector }) => void ran.push(connector));
      await both.add(
        "deliver",
        ["bench", "lims"].map((connector) => ({ jobId: `deliver-${connector}-w1`, data: { connector } })),
      );
      await eventually(() => ran.length === 1);
      expect(ran).toEqual(["lims"]);
      await eventually(async () => (await both.counts()).deliver.active === 0);
      expect((await both.list("deliver", 10)).map(({ jobId }) => jobId)).toEqual(["deliver-bench-w1"]);
      expect((await both.counts()).deliver.waiting).toBe(1);
      await both.work("deliver", 1, async ({ connector }) => void ran.push(connector));
      await eventually(() => ran.length === 2);
      expect(ran).toEqual(["lims", "bench"]);
    }),
  );

  test.runIf(isThere)("leave the jobs to others while they are told to, and take them again", () =>
    withServer(async ({ open }) => {
      const [told, other] = [await open(), await open()];
      const ran: Record<"told" | "other", number[]> = { told: [], other: [] };
      await told.work("submit", 2, async ({ batch }) => void ran.told.push(batch));
      told.take("submit", false);
      const jobs = (from: number) => Array.from({ length: 10 }, (_, n) => job(from + n));
      await other.add("submit", jobs(1));
      // One may have been given out to a worker that waited for it.
      const isLeft = async () => (await other.counts()).submit.waiting === 10 - ran.told.length;
      await eventually(async () => ran.told.length <= 1 && (await isLeft()));
      await other.work("submit", 2, async ({ batch }) => void ran.other.push(batch));
      await eventually(() => ran.told.length + ran.other.length === 10);
      expect(ran.told.length).toBeLessThanOrEqual(1);
      await other.close(500);
      told.take("submit", true);
      await told.add("submit", jobs(11));
      await eventually(() => ran.told.length + ran.other.length === 20);
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

  test.runIf(isThere)("end by themselves when nothing is in hand, and don't use the deadline up", () =>
    withServer(async ({ open }) => {
      const queues = await open(["lims", "bench"]);
      for (const name of QUEUE_NAMES) await queues.work(name, 1, async () => undefined);
      const over = new AbortController();
      const late = systemClock.sleep(30_000, over.signal).then(
        () => "late",
        () => "late",
      );
      expect(await Promise.race([queues.close(60_000).then(() => "ended"), late])).toBe("ended");
      over.abort();
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
      withOwnServer(async ({ open, crash, start }) => {
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
        expect(queues.trouble).toBeUndefined();
        await crash();
        // Longer than BullMQ waits for a job: its workers have been known to stay away after that.
        await systemClock.sleep(7_000);
        await start();
        await eventually(async () => queues.add("submit", [job(2)]).then(() => true));
        await eventually(async () =>
          queues.add("track", [{ jobId: "track-f12", data: { facilityId: 12 } }]).then(() => true),
        );
        await eventually(() => ran.includes("b2") && ran.includes("f12"));
        expect(queues.trouble).toBeUndefined();
      }),
  );

  test.runIf(isThere)("close within the deadline and a little when their server is out of reach", () =>
    withOwnServer(async ({ open, crash }) => {
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
    withOwnServer(async ({ open, crash }) => {
      await crash();
      await expect(open()).rejects.toMatchObject({ class: "transient" });
    }),
  );
});

describe.runIf(machineHas("redis-server")).concurrent("job queues on Redis", () => {
  const onEach = (
    test: (redis: {
      queues: JobQueues;
      ran: string[];
      node: TestRedisGroup["nodes"][number];
    }) => Promise<void>,
    withGroup: WithRedisGroup = withOneRedis,
  ) =>
    withGroup((group) =>
      onRedis(group, async ({ open }) => {
        const queues = await open(["lims"]);
        const ran: string[] = [];
        await queues.work("submit", 2, async ({ batch }) => void ran.push(`b${batch}`));
        await queues.work("track", 1, async ({ facilityId }) => void ran.push(`f${facilityId}`));
        await queues.work("deliver", 1, async ({ connector }) => void ran.push(connector));
        await test({ queues, ran, node: group.nodes[0] as TestRedisGroup["nodes"][number] });
      }),
    );
  /** As the feeder does: the same jobs again until they ran. */
  const addUntilRun = async (queues: JobQueues, ran: string[], batch: number) => {
    ran.length = 0;
    await eventually(
      async () => {
        await queues.add("submit", [job(batch)]);
        await queues.add("track", [{ jobId: "track-f12-w1", data: { facilityId: 12 } }]);
        await queues.add("deliver", [{ jobId: "deliver-lims-w1", data: { connector: "lims" } }]);
        return [`b${batch}`, "f12", "lims"].every((job) => ran.includes(job));
      },
      { withinMs: 30_000, what: "a job of each queue" },
    );
  };

  test("go on when everything is flushed, with workers that wait for a job", () =>
    onEach(async ({ queues, ran, node }) => {
      await addUntilRun(queues, ran, 1);
      await node.run("flushall");
      await addUntilRun(queues, ran, 2);
      await node.run("flushall");
      await node.run("script", "flush");
      await addUntilRun(queues, ran, 3);
    }));

  test("go on when any single key of theirs was thrown away", () =>
    withOneRedis((group) =>
      onRedis(group, async ({ open }) => {
        const [node] = group.nodes as [TestRedisGroup["nodes"][number]];
        const queues = await open(["lims"]);
        const add = async () => {
          await queues.add("submit", [job(1)]);
          await queues.add("track", [{ jobId: "track-f12-w1", data: { facilityId: 12 } }]);
          await queues.add("deliver", [{ jobId: "deliver-lims-w1", data: { connector: "lims" } }]);
        };
        await add();
        const keys = (await node.run("keys", "*")) as string[];
        expect(keys.length).toBeGreaterThan(6);
        for (const key of keys) {
          await node.run("del", key);
          // What has no place in a queue is no job, so its orders are handed over anew.
          const isThere = (await queues.findExisting(["submit-b1"])).size === 1;
          expect([key, isThere]).toEqual([key, !key.endsWith("submit:wait")]);
          await add();
        }
        const ran: string[] = [];
        await queues.work("submit", 2, async ({ batch }) => void ran.push(`b${batch}`));
        await queues.work("track", 1, async ({ facilityId }) => void ran.push(`f${facilityId}`));
        await queues.work("deliver", 1, async ({ connector }) => void ran.push(connector));
        await eventually(() => ["b1", "f12", "lims"].every((name) => ran.includes(name)));
        expect(ran.filter((name) => name.includes("undefined"))).toEqual([]);
        await addUntilRun(queues, ran, 2);
      }),
    ));

  test("say that they take no jobs while their server is full, rest meanwhile, and go on afterwards", () =>
    onEach(async ({ queues, ran, node }) => {
      await addUntilRun(queues, ran, 1);
      expect(await queues.findRisks()).toEqual([]);
      await node.run("config", "set", "maxmemory", "1mb");
      await expect(queues.add("submit", [job(2)])).rejects.toThrow(/OOM/);
      expect(queues.trouble).toContain("takes no jobs");
      await node.run("config", "set", "maxmemory", "0");
      await addUntilRun(queues, ran, 2);
      expect(queues.trouble).toBeUndefined();
    }));

  test("say which setting of their server would let it throw jobs away, and the command that changes it", () =>
    onEach(async ({ queues, node }) => {
      await node.run("config", "set", "maxmemory-policy", "allkeys-lru");
      const [risk] = await queues.findRisks();
      expect(risk?.message).toContain("maxmemory-policy allkeys-lru");
      expect(risk?.hint).toContain(
        `redis-cli -h 127.0.0.1 -p ${node.port} config set maxmemory-policy noeviction`,
      );
    }));

  test.each(["died", "froze"])("go on with the replica when the server %s", (what) =>
    onEach(async ({ queues, ran, node }) => {
      await addUntilRun(queues, ran, 1);
      if (what === "died") await node.crash();
      else node.freeze(true);
      await addUntilRun(queues, ran, 2);
      node.freeze(false);
    }, withSentinels),
  );

  test("say that their server is away", () =>
    onEach(async ({ queues, ran, node }) => {
      await addUntilRun(queues, ran, 1);
      await node.crash();
      await eventually(() => queues.trouble?.includes("can't be reached"));
      await node.start();
      await eventually(() => queues.trouble === undefined);
    }));
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
    const queues = await openQueues({ kind: "postgres", pool }, [], silent);
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
