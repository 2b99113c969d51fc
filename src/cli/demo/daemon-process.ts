import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, fstatSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";

export interface DaemonProcessOptions {
  readonly configFile: string;
  /** Where what it writes is put; appended to. */
  readonly logFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Called when it died without having been asked to; it is started again. */
  readonly onDeath: (words: string) => void;
  /** Called when it is there again after that. */
  readonly onReturn: (pid: number, afterMs: number) => void;
}

/** A daemon in a process of its own, started again whenever it dies. */
export interface DaemonProcess {
  readonly pid: number;
  /** What a power cut would do to it. */
  kill(): void;
  /** Ends it in good order, and the hard way when that takes too long. */
  stop(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL("../../../bin/cryobridge.mjs", import.meta.url));
/** Beside this file, as TypeScript in a checkout and as JavaScript where it was built. */
const PRELOADED = new URL(`./end-with-parent${extname(import.meta.filename)}`, import.meta.url).href;
/** What its log says once it can take orders. An answer over HTTP could be another program's. */
const READY = '"msg":"cryobridge is running"';
const LOOK_EVERY_MS = 100;
const RESTART_AFTER_MS = 300;
/** The daemon itself gives up on an orderly end after 15 s. */
const STOP_WITHIN_MS = 18_000;
const LOG_LINES_TOLD = 4;

/** One life of the daemon. */
interface Life {
  readonly child: ChildProcess;
  /** Where in the log it begins. */
  readonly logFrom: number;
}

/**
 * Starts the daemon and waits until it can take orders.
 *
 * @throws Failure CLI_DEMO_NOT_STARTED with its last words when it ends before that; the signal's reason when aborted.
 */
export async function startDaemonProcess(
  options: DaemonProcessOptions,
  signal: AbortSignal,
): Promise<DaemonProcess> {
  const { clock } = options;
  let life = launch(options);
  let isStopping = false;
  const keepAlive = async () => {
    while (!isStopping) {
      await untilEnded(life.child);
      if (isStopping) return;
      const diedAt = clock.monotonic();
      options.onDeath(describeEnd(life.child));
      await clock.sleep(RESTART_AFTER_MS);
      if (isStopping) return;
      life = launch(options);
      if (await isReady(life, options)) options.onReturn(life.child.pid ?? 0, clock.monotonic() - diedAt);
    }
  };
  const stop = async () => {
    isStopping = true;
    await end(life.child, clock);
  };
  try {
    if (!(await isReady(life, options, signal))) throw await notStarted(life, options.logFile);
  } catch (error) {
    await stop();
    throw error;
  }
  void keepAlive();
  return {
    get pid() {
      return life.child.pid ?? 0;
    },
    kill: () => {
      life.child.kill("SIGKILL");
    },
    stop,
  };
}

/** In a process group of its own, so that Ctrl-C at the terminal reaches us alone and the order of ending is ours. */
function launch({ configFile, logFile, env }: DaemonProcessOptions): Life {
  const log = openSync(logFile, "a");
  try {
    const args = ["--import", PRELOADED, PROGRAM, "start", "--config", configFile];
    const logFrom = fstatSync(log).size;
    const child = spawn(process.execPath, args, { detached: true, env, stdio: ["ignore", log, log, "ipc"] });
    return { child, logFrom };
  } finally {
    closeSync(log);
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function untilEnded(child: ChildProcess): Promise<void> {
  if (!hasEnded(child)) await once(child, "exit");
}

/** Letting go of it makes it end by itself. */
async function end(child: ChildProcess, clock: Clock): Promise<void> {
  if (child.connected) child.disconnect();
  const waiting = new AbortController();
  const isLate = clock.sleep(STOP_WITHIN_MS, waiting.signal).then(
    () => child.kill("SIGKILL"),
    () => undefined,
  );
  await untilEnded(child);
  waiting.abort();
  await isLate;
}

/** Reads its log until it says that it is ready; false when it ends first. */
async function isReady(
  { child, logFrom }: Life,
  { logFile, clock }: DaemonProcessOptions,
  signal?: AbortSignal,
): Promise<boolean> {
  while (!hasEnded(child)) {
    const log = await readFile(logFile);
    if (log.includes(READY, logFrom)) return true;
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
  return false;
}

function describeEnd({ pid, exitCode, signalCode }: ChildProcess): string {
  return signalCode === null
    ? `the daemon (process ${pid}) ended with status ${exitCode}`
    : `the daemon (process ${pid}) was ended by ${signalCode}`;
}

async function notStarted({ child, logFrom }: Life, logFile: string): Promise<Failure> {
  const log = (await readFile(logFile).catch(() => Buffer.alloc(0))).subarray(logFrom).toString("utf8");
  const last = log.trim().split("\n").slice(-LOG_LINES_TOLD);
  return new Failure(
    "CLI_DEMO_NOT_STARTED",
    [`${describeEnd(child)} before it was ready; its last words in ${logFile}:`, ...last].join("\n"),
  );
}
