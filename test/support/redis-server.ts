import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { eventually } from "./eventually.ts";
import { findPort } from "./find-port.ts";
import { findProgram } from "./needs.ts";

/** A Redis server of a test's own, which keeps nothing on disk. */
export interface TestRedis {
  readonly url: string;
  /** Kills it: all it held is gone. */
  crash(): Promise<void>;
  /** Starts it at the same address, empty. */
  start(): Promise<void>;
}

/** Gives a test a Redis server, and ends it. Guard such tests with `machineHas("redis-server")`. */
export async function withRedis<T>(test: (redis: TestRedis) => Promise<T>): Promise<T> {
  const port = await findPort();
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const start = async () => {
    const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    child = spawn(findProgram("redis-server") ?? "redis-server", args, { stdio: "ignore", cwd: "/" });
    const client = new Redis(url, { lazyConnect: true });
    client.on("error", () => undefined);
    await eventually(async () => (await client.ping()) === "PONG", { what: "the start of redis-server" });
    client.disconnect();
  };
  const crash = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  await start();
  try {
    return await test({ url, crash, start });
  } finally {
    await crash();
  }
}
