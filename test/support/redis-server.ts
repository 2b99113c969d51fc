import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import type { z } from "zod";
import { fileSchema } from "../../src/config/schema.ts";
import type { QueueBackend } from "../../src/jobs/queue-place.ts";
import { eventually } from "./eventually.ts";
import { findPort } from "./find-port.ts";
import { findProgram } from "./needs.ts";
import { withFolder } from "./with-folder.ts";

/** A Redis server of a test's own, which keeps nothing on disk. */
export interface TestRedis {
  readonly port: number;
  readonly url: string;
  /** Of the one that was started last. */
  readonly pid: number;
  /** Runs a command and gives its answer. */
  run(command: string, ...words: readonly (string | number)[]): Promise<unknown>;
  /** Kills it: all it held is gone. */
  crash(): Promise<void>;
  /** Starts it at the same address, empty. */
  start(): Promise<void>;
  /** Kills it and starts it again, empty. */
  restart(): Promise<void>;
  /** Empties it while it runs. */
  flush(): Promise<void>;
  /** Freezes it, or lets it go on. */
  freeze(isFrozen: boolean): void;
}

/** Starts such a server, with further words of its command line; `crash` ends it for good. */
export async function startRedis(words: readonly string[] = []): Promise<TestRedis> {
  const redis = await prepare(words);
  await redis.start();
  return redis;
}

/** Gives a test a Redis server, and ends it. Guard such tests with `machineHas("redis-server")`. */
export async function withRedis<T>(
  test: (redis: TestRedis) => Promise<T>,
  words: readonly string[] = [],
): Promise<T> {
  const redis = await startRedis(words);
  try {
    return await test(redis);
  } finally {
    await redis.crash();
  }
}

/** How the queues reach a group of servers, as the configuration has it. */
type Way = Pick<RedisSection, "url" | "sentinels" | "cluster">;
type RedisSection = Extract<NonNullable<z.input<typeof fileSchema>["queue"]>, { backend: "redis" }>;

/** A ledger's queues there. */
export function redisBackend(prefix: string, way: Way): QueueBackend {
  const settings = fileSchema.shape.queue.parse({ backend: "redis", ...way });
  if (settings.backend !== "redis") throw new TypeError("the configuration has no Redis");
  return { kind: "redis", prefix, settings };
}

/** Servers that keep jobs together. */
export interface TestRedisGroup {
  readonly way: Way;
  /** Those that hold data. */
  readonly nodes: readonly TestRedis[];
  /** Those that watch them. */
  readonly sentinels: readonly TestRedis[];
  /** Kills those that hold data, which is gone then. */
  crash(): Promise<void>;
  start(): Promise<void>;
}
export type WithRedisGroup = <T>(test: (group: TestRedisGroup) => Promise<T>) => Promise<T>;

export const withOneRedis: WithRedisGroup = (test) =>
  withRedis((node) =>
    test({ way: { url: node.url }, nodes: [node], sentinels: [], crash: node.crash, start: node.start }),
  );

/** A server, its replica, and three sentinels that make the replica the server within a second or two. */
export const withSentinels: WithRedisGroup = (test) => withGuardedSentinels(undefined, test);

/** The same with sentinels that ask for a password; the servers don't. */
export function withGuardedSentinels<T>(
  password: string | undefined,
  test: (group: TestRedisGroup) => Promise<T>,
): Promise<T> {
  return withFolder(async (folder) => {
    const main = await prepare(["--repl-diskless-sync-delay", "0"]);
    const replica = await prepare([
      ...["--replicaof", `127.0.0.1 ${main.port}`],
      ...["--repl-diskless-sync-delay", "0"],
    ]);
    const nodes = [main, replica];
    const sentinels = await Promise.all(
      [1, 2, 3].map(async (number) => {
        const file = join(folder, `sentinel-${number}.conf`);
        await writeFile(file, password === undefined ? "" : `requirepass ${password}\n`);
        return await prepare([file, "--sentinel"], password);
      }),
    );
    const start = async () => {
      await Promise.all(nodes.map((node) => node.start()));
      const hasReplica = async () => String(await main.run("info", "replication")).includes("state=online");
      await eventually(hasReplica, { what: "the replica" });
    };
    try {
      await start();
      for (const sentinel of sentinels) {
        await sentinel.start();
        await sentinel.run("sentinel", "monitor", "jobs", "127.0.0.1", main.port, 2);
        const times = ["down-after-milliseconds", 500, "failover-timeout", 2_000];
        await sentinel.run("sentinel", "set", "jobs", ...times);
      }
      const knowAll = async (sentinel: TestRedis) => {
        const others = (await sentinel.run("sentinel", "sentinels", "jobs")) as unknown[];
        const replicas = (await sentinel.run("sentinel", "replicas", "jobs")) as unknown[];
        return others.length === 2 && replicas.length === 1;
      };
      await eventually(async () => (await Promise.all(sentinels.map(knowAll))).every(Boolean), {
        what: "sentinels that know each other",
      });
      const way = {
        sentinels: {
          ...{ master: "jobs", nodes: sentinels.map(({ port }) => ({ host: "127.0.0.1", port })) },
          password,
        },
      };
      const crash = async () => void (await Promise.all(nodes.map((node) => node.crash())));
      return await test({ way, nodes, sentinels, crash, start });
    } finally {
      await Promise.all([...nodes, ...sentinels].map((server) => server.crash()));
    }
  });
}

/** Three servers with a third of the slots each. */
export const withCluster: WithRedisGroup = (test) =>
  withFolder(async (folder) => {
    const nodes = await Promise.all(
      [1, 2, 3].map(async (number) =>
        prepare([
          ...["--cluster-enabled", "yes", "--cluster-port", String(await findPort())],
          ...["--cluster-config-file", join(folder, `nodes-${number}.conf`)],
          ...["--cluster-node-timeout", "2000", "--dir", folder],
        ]),
      ),
    );
    const isWhole = async (node: TestRedis) =>
      String(await node.run("cluster", "info")).includes("cluster_state:ok");
    const start = async () => {
      await Promise.all(nodes.map((node) => node.start()));
    };
    const whole = () =>
      eventually(async () => (await Promise.all(nodes.map(isWhole))).every(Boolean), { what: "the cluster" });
    try {
      await start();
      const [first] = nodes as [TestRedis];
      const SLOTS = 16_384;
      for (const [at, node] of nodes.entries()) {
        const from = Math.floor((SLOTS * at) / nodes.length);
        const to = Math.floor((SLOTS * (at + 1)) / nodes.length) - 1;
        await node.run("cluster", "addslotsrange", from, to);
        await node.run("cluster", "set-config-epoch", at + 1);
      }
      for (const { port, busPort } of nodes.slice(1))
        await first.run("cluster", "meet", "127.0.0.1", port, busPort as number);
      await whole();
      const way = { cluster: nodes.map(({ port }) => ({ host: "127.0.0.1", port })) };
      const crash = async () => void (await Promise.all(nodes.map((node) => node.crash())));
      return await test({
        ...{ way, nodes, sentinels: [], crash },
        start: async () => {
          await start();
          await whole();
        },
      });
    } finally {
      await Promise.all(nodes.map((node) => node.crash()));
    }
  });

/** A server that was not started yet; `words` are further ones of its command line. */
async function prepare(
  words: readonly string[],
  password?: string,
): Promise<TestRedis & { readonly busPort?: number }> {
  const port = await findPort();
  const bus = words.indexOf("--cluster-port");
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const run = async (command: string, ...given: readonly (string | number)[]) => {
    const client = new Redis(url, {
      lazyConnect: true,
      enableReadyCheck: false,
      ...(password === undefined ? {} : { password }),
    });
    client.on("error", () => undefined);
    try {
      return await client.call(command, ...given);
    } finally {
      client.disconnect();
    }
  };
  const start = async () => {
    const isSentinel = words.includes("--sentinel");
    const place = ["--port", String(port), "--bind", "127.0.0.1"];
    const args = [...words, ...place, ...(isSentinel ? [] : ["--save", "", "--appendonly", "no"])];
    // Ctrl-C ends it when its daemons have ended.
    const options = { stdio: "ignore", cwd: "/", detached: true } as const;
    child = spawn(findProgram("redis-server") ?? "redis-server", args, options);
    await eventually(async () => (await run("ping")) === "PONG", { what: "the start of redis-server" });
  };
  const crash = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  const freeze = (isFrozen: boolean) => void child?.kill(isFrozen ? "SIGSTOP" : "SIGCONT");
  return {
    ...{ port, url, run, crash, start, freeze },
    get pid() {
      return child?.pid ?? 0;
    },
    restart: async () => {
      await crash();
      await start();
    },
    flush: async () => void (await run("flushall")),
    ...(bus === -1 ? {} : { busPort: Number(words[bus + 1]) }),
  };
}
