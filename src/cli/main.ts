/** The process of the command line: its streams, its signals, its exit status. `run` does the rest. */
import { createInterface } from "node:readline/promises";
import { flush } from "./flush.ts";
import type { Io, Output } from "./io.ts";
import { run } from "./run.ts";

process.exit(await main());

async function main(): Promise<number> {
  const status = await run(process.argv.slice(2), processIo());
  // Output to a pipe may still be on its way.
  await Promise.all([process.stdout, process.stderr].map(flush));
  return status;
}

function processIo(): Io {
  const isInteractive = process.stdin.isTTY === true && process.stdout.isTTY === true;
  return {
    stdout: quiet(process.stdout),
    stderr: quiet(process.stderr),
    stdin: process.stdin,
    env: process.env,
    isTTY: process.stdout.isTTY === true,
    isErrorTTY: process.stderr.isTTY === true,
    columns: process.stdout.columns,
    ask: isInteractive ? ask : undefined,
    onStop: (listener) => subscribe(["SIGINT", "SIGTERM"], listener),
    onCrash: (listener) => subscribe(["uncaughtException", "unhandledRejection"], listener),
  };
}

function subscribe(events: readonly string[], listener: (event: unknown) => void): () => void {
  for (const event of events) process.on(event, listener);
  return () => {
    for (const event of events) process.off(event, listener);
  };
}

/** A reader that has seen enough (`| head`) ends its pipe; that is no error of ours, and must not end a daemon. */
function quiet(stream: NodeJS.WriteStream): Output {
  let isClosed = false;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    isClosed = true;
  });
  return {
    write: (text) => isClosed || stream.write(text),
    drained: async () => {
      await flush(stream);
      return !isClosed;
    },
  };
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}
