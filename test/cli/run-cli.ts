import { Readable } from "node:stream";
import type { Screen } from "../../src/cli/io.ts";
import { run } from "../../src/cli/run.ts";
import type { Clock } from "../../src/core/clock.ts";

export interface CliResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliWorld {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly isTTY?: boolean;
  readonly isErrorTTY?: boolean;
  readonly columns?: number;
  /** The terminal's window, where it has one. */
  readonly screen?: Screen;
  /** What comes by standard input, in these pieces. */
  readonly stdin?: readonly Buffer[];
  /** What the person at the terminal answers; nobody is there without it. */
  readonly answer?: string | ((question: string) => string);
  readonly onStop?: (listener: () => void) => () => void;
  readonly onStdout?: (text: string) => void;
  readonly onStderr?: (text: string) => void;
  /** Whether standard output is still read; it is without this. */
  readonly isRead?: () => boolean;
  readonly clock?: Clock;
}

/** Runs one command line in this process. */
export async function runCli(argv: readonly string[], world: CliWorld = {}): Promise<CliResult> {
  let stdout = "";
  let stderr = "";
  const { answer } = world;
  const status = await run(argv, {
    stdout: {
      write: (text) => {
        stdout += text;
        world.onStdout?.(text);
      },
      drained: async () => world.isRead?.() ?? true,
    },
    stderr: {
      write: (text) => {
        stderr += text;
        world.onStderr?.(text);
      },
    },
    stdin: world.stdin && Readable.from(world.stdin),
    env: world.env ?? {},
    isTTY: world.isTTY ?? false,
    isErrorTTY: world.isErrorTTY,
    columns: world.columns,
    screen: world.screen,
    ask:
      answer === undefined
        ? undefined
        : async (question) => (typeof answer === "string" ? answer : answer(question)),
    onStop: world.onStop,
    clock: world.clock,
  });
  return { status, stdout, stderr };
}
