import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "./eventually.ts";

const BIN = join(import.meta.dirname, "../../bin/cryobridge.mjs");
/** Written once the daemon takes orders in. */
const RUNNING = "cryobridge is running";
const START_WITHIN_MS = 120_000;

/** A daemon in a process of its own. */
export interface ChildDaemon {
  readonly pid: number;
  /** Resolves once it takes orders in; fails when it ended first, with its last log lines. */
  readonly running: Promise<void>;
  readonly hasEnded: boolean;
  /** Rejects when it ends without {@link end}; never resolves. */
  readonly unexpectedEnd: Promise<never>;
  /** Sends a signal and waits for the end; gives the exit status, null after a deadly signal. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<number | null>;
}

/** Starts `cryobridge start`, with further words of the command line and for Node; its log goes to the end of `logFile`. */
export function startChildDaemon(
  configFile: string,
  logFile: string,
  words: readonly string[] = [],
  nodeOptions = process.env.CRYOBRIDGE_TEST_NODE_OPTIONS ?? "",
): ChildDaemon {
  const log = openSync(logFile, "a");
  const child = spawn(process.execPath, [BIN, "start", "--config", configFile, ...words], {
    stdio: ["ignore", log, log],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      NODE_OPTIONS: nodeOptions,
    },
  });
  closeSync(log);
  const ended = once(child, "exit").then(([status]) => status as number | null);
  let isReported = false;
  const unexpectedEnd = ended.then(async (status) => {
    if (isReported) return await new Promise<never>(() => undefined);
    throw new Error(`the daemon ended by itself with ${status ?? child.signalCode}`);
  });
  unexpectedEnd.catch(() => undefined);
  const running = waitUntilRunning(child, logFile);
  running.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    running,
    get hasEnded() {
      return hasEnded(child);
    },
    unexpectedEnd,
    end: async (signal) => {
      isReported = true;
      if (!hasEnded(child)) child.kill(signal);
      return await ended;
    },
  };
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

async function waitUntilRunning(child: ChildProcess, logFile: string): Promise<void> {
  const earlier = countRunning(await readFile(logFile, "utf8"));
  const state = await eventually(
    async () => {
      if (countRunning(await readFile(logFile, "utf8")) > earlier) return "running";
      return hasEnded(child) && "ended";
    },
    { withinMs: START_WITHIN_MS, what: "the daemon's start" },
  );
  if (state === "running") return;
  const lines = (await readFile(logFile, "utf8")).trim().split("\n").slice(-5).join("\n");
  throw new Error(`the daemon ended instead of running:\n${lines}`);
}

const countRunning = (log: string) => log.split(RUNNING).length - 1;
