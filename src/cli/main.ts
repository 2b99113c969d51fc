/** The process of the command line: its streams, its signals, its exit status. `run` does the rest. */
import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../core/failures.ts";
import { endProcess } from "./end-process.ts";
import { EXIT } from "./exit-status.ts";
import { flush, type Io, type Output, type Screen } from "./io.ts";
import { run } from "./run.ts";

// What a package is going to drop some day is for whoever updates it; a daemon's log has one JSON document a line.
process.noDeprecation = true;

/** How long a program that was asked to end waits for the reader of its output, ms. */
const STUCK_MS = 1_000;

await endProcess(await main());

async function main(): Promise<number> {
  const stdout = guard(process.stdout);
  const stderr = guard(process.stderr);
  const { io, wasAsked } = processIo(stdout.output, stderr.output);
  const status = await run(process.argv.slice(2), io);
  // Output to a pipe may still be on its way. Who asks a program to end doesn't wait for a reader that hangs.
  const flushed = Promise.all([process.stdout, process.stderr].map(flush));
  await (wasAsked() ? Promise.race([flushed, sleep(STUCK_MS)]) : flushed);
  await nextTurn();
  const failure = stdout.failure();
  if (failure === undefined) return status;
  stderr.output.write(`error: the output can't be written (${failure}); what was printed is not all of it\n`);
  await flush(process.stderr);
  return status || EXIT.failed;
}

/** The process as the commands see it, and whether it was asked to end. */
function processIo(stdout: Output, stderr: Output): { readonly io: Io; wasAsked(): boolean } {
  const reloaders = new Set<() => void>();
  const isInteractive = process.stdin.isTTY === true && process.stdout.isTTY === true;
  let wasAsked = false;
  const io: Io = {
    stdout,
    stderr,
    stdin: process.stdin,
    env: process.env,
    isTTY: process.stdout.isTTY === true,
    isErrorTTY: process.stderr.isTTY === true,
    columns: process.stdout.columns || undefined,
    screen: process.stdout.isTTY === true ? processScreen() : undefined,
    ask: isInteractive ? ask : undefined,
    // A terminal that is closed says so by SIGHUP: what runs in it ends. So does what reads nothing again.
    onStop: (listener) =>
      subscribe(["SIGINT", "SIGTERM", "SIGHUP"], (event) => {
        if (event === "SIGHUP" && reloaders.size > 0) return;
        wasAsked = true;
        listener();
      }),
    onReload: isInteractive
      ? undefined
      : (listener) => {
          reloaders.add(listener);
          const end = subscribe(["SIGHUP"], listener);
          return () => {
            reloaders.delete(listener);
            end();
          };
        },
    onCrash: (listener) => subscribe(["uncaughtException", "unhandledRejection"], listener),
  };
  return { io, wasAsked: () => wasAsked };
}

function subscribe(events: readonly string[], listener: (event: unknown) => void): () => void {
  for (const event of events) process.on(event, listener);
  return () => {
    for (const event of events) process.off(event, listener);
  };
}

/** Some terminals, such as serial ones, say that they have no columns and rows. */
function processScreen(): Screen {
  const { stdin, stdout } = process;
  return {
    get columns() {
      return stdout.columns || 80;
    },
    get rows() {
      return stdout.rows || 24;
    },
    onKeys: (listener) => {
      if (stdin.isTTY !== true) return () => {};
      const onData = (bytes: Buffer) => listener(bytes.toString("utf8"));
      stdin.setRawMode(true).on("data", onData).resume();
      return () => {
        stdin.off("data", onData).pause();
        stdin.setRawMode(false);
      };
    },
    onResize: (listener) => {
      stdout.on("resize", listener);
      return () => stdout.off("resize", listener);
    },
  };
}

/**
 * A stream whose errors end nothing. A reader that has seen enough (`| head`) ends its pipe, which is no error of ours and
 * must not end a daemon; anything else, such as a full disk, is reported at the end.
 */
function guard(stream: NodeJS.WriteStream): { readonly output: Output; failure(): string | undefined } {
  let isClosed = false;
  let failure: string | undefined;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    isClosed = true;
    if (error.code !== "EPIPE" && error.code !== "EIO") failure ??= error.code ?? error.name;
  });
  const output: Output = {
    write: (text) => isClosed || stream.write(text),
    drained: async () => {
      await flush(stream);
      await nextTurn();
      return !isClosed;
    },
  };
  return { output, failure: () => failure };
}

/** Streams report errors, and signals come, only when what runs lets go. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question(question);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AbortError") throw error;
    throw new Failure("CLI_USAGE", "the question was not answered; nothing was done");
  } finally {
    terminal.close();
  }
}
