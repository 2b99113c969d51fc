import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { eventually } from "./eventually.ts";
import { findPort } from "./find-port.ts";
import { findProgram } from "./needs.ts";

/** A Redis server of a test's own, which keeps nothing on disk. */
export interface TestRedis {
  readonly url: string;
  /** Of the one that was started last. */
  readonly pid: number;
  /** Kills it: all it held is gone. */
  crash(): Promise<void>;
  /** Starts it at the same address, empty. */
  start(): Promise<void>;
  /** Empties it while it runs. */
  flush(): Promise<void>;
}

/** Starts such a server; `crash` ends it for good. */
export async function startRedis(): Promise<TestRedis> {
  const port = await findPort();
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const crash = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  const start = async () => {
    const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    // Ctrl-C ends it when its daemons have ended.
    const options = { stdio: "ignore", cwd: "/", detached: true } as const;
    child = spawn(findProgram("redis-server") ?? "redis-server", args, options);
    await ask(url, (client) => eventually(() => client.ping(), { what: "the start of redis-server" }));
  };
  await start();
  return {
    url,
    get pid() {
      return child?.pid ?? 0;
    },
    crash,
    start,
    flush: () => ask(url, (client) => client.flushall()),
  };
}

async function ask(url: string, question: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(url, { lazyConnect: true });
  client.on("error", () => undefined);
  try {
    await question(client);
  } finally {
    client.disconnect();
  }
}

/** Gives a test a Redis server, and ends it. Guard such tests with `machineHas("redis-server")`. */
export async function withRedis<T>(test: (redis: TestRedis) => Promise<T>): Promise<T> {
  const redis = await startRedis();
  try {
    return await test(redis);
  } finally {
    await redis.crash();
  }
}
