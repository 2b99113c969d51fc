import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A process of ours under test. */
export interface TestProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The next line of its standard output; undefined when that has ended. */
  nextLine(): Promise<string | undefined>;
  /** Resolves with the exit status when it has ended; null after a signal. */
  readonly ended: Promise<number | null>;
  /** Sends a signal and waits for its end. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Runs a program with the lines of its standard output to be read one by one; its standard error goes to ours. */
export function startProcess(
  program: string,
  args: readonly string[],
  options: SpawnOptions = {},
): TestProcess {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit").then(([status]) => status as number | null);
  const lines = child.stdout ? createInterface(child.stdout)[Symbol.asyncIterator]() : undefined;
  return {
    child,
    pid: child.pid ?? 0,
    ended,
    nextLine: async () => (await lines?.next())?.value,
    end: async (signal) => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    },
  };
}

/** Whether a process of this number runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
