import type { Writable } from "node:stream";
import type { Clock } from "../core/clock.ts";
import { codeOf, Failure } from "../core/failures.ts";
import { readGivenFile } from "../core/given-file.ts";

/** Where text goes. */
export interface Output {
  write(text: string): unknown;
  /** Resolves when what was written is on its way, so that no more is made than is taken; false: nobody reads any more. */
  readonly drained?: (() => Promise<boolean>) | undefined;
}

/** A terminal's window, as it is at the moment. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  /** Calls the listener with the keys that are pressed, unechoed and without Enter; gives a function that ends that. */
  onKeys(listener: (keys: string) => void): () => void;
  /** Calls the listener each time the window has another size; gives a function that ends that. */
  onResize(listener: () => void): () => void;
}

/** The world as a command sees it: the process's own, or a test's. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Standard input; absent where there is none. */
  readonly stdin?: AsyncIterable<Buffer> | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether standard output is a terminal. */
  readonly isTTY: boolean;
  /** Whether standard error is one: somebody sees how far a long command is. */
  readonly isErrorTTY?: boolean | undefined;
  /** Width of that terminal, in characters. */
  readonly columns?: number | undefined;
  /** The window of that terminal, for pictures that stay in place; absent where there is none. */
  readonly screen?: Screen | undefined;
  /** Asks the person at the terminal; absent where nobody would answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Calls the listener each time the process is asked to stop; gives a function that ends that. */
  readonly onStop?: ((listener: () => void) => () => void) | undefined;
  /** Calls the listener each time the process is asked to read its configuration again; absent where nobody can ask. */
  readonly onReload?: ((listener: () => void) => () => void) | undefined;
  /** Calls the listener for an error that nobody caught; gives a function that ends that. */
  readonly onCrash?: ((listener: (error: unknown) => void) => () => void) | undefined;
  readonly clock?: Clock | undefined;
}

/** Waits until the process is asked to stop; for ever where nobody can ask. */
export function untilStopped(io: Io): Promise<void> {
  return new Promise((resolve) => {
    const end = io.onStop?.(() => {
      end?.();
      resolve();
    });
  });
}

/**
 * Resolves when all that was written to a stream is on its way, or when nobody reads it any more. A stream says that it
 * has drained only when it had refused to buffer more, so a write of nothing is waited for instead.
 */
export function flush(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed || stream.errored) {
      resolve();
      return;
    }
    stream.once("close", resolve);
    stream.write("", () => {
      stream.off("close", resolve);
      resolve();
    });
  });
}

/** What a command line calls standard input where it takes a file. */
export const STANDARD_INPUT = "-";

/** More than any interface's messages that somebody pipes or names; all of it is kept in memory. */
const MOST_BYTES = 256 * 1024 * 1024;

/** A file of the command line as people call it. */
export function nameOfInput(path: string): string {
  return path === STANDARD_INPUT ? "standard input" : path;
}

/**
 * All of a regular file that the command line names, or of standard input (`-`). It is kept in memory.
 * @throws Failure CLI_FILE_UNREADABLE in words; CLI_USAGE when there is too much on standard input
 */
export async function readInput(io: Io, path: string): Promise<Buffer> {
  if (path === STANDARD_INPUT) return readStandardInput(io);
  const read = readGivenFile(path, MOST_BYTES);
  if ("problem" in read) throw new Failure("CLI_FILE_UNREADABLE", `${path}: ${read.problem}`);
  return read.bytes;
}

/**
 * All that comes by standard input.
 *
 * @param connectorBytes what the connector that it is read for takes at most
 * @throws Failure CLI_FILE_UNREADABLE, FILE_TOO_LARGE for the connector, CLI_USAGE when it is too much to be kept
 */
export async function readStandardInput(
  { stdin }: Io,
  connectorBytes = Number.POSITIVE_INFINITY,
): Promise<Buffer> {
  if (stdin === undefined) throw new Failure("CLI_FILE_UNREADABLE", "there is no standard input");
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stdin) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > Math.min(connectorBytes, MOST_BYTES)) break;
    }
  } catch (error) {
    // It may be a folder, or be taken away.
    const code = codeOf(error) ?? "unknown error";
    throw new Failure("CLI_FILE_UNREADABLE", `standard input can't be read (${code})`);
  }
  if (length > connectorBytes) {
    const words = `standard input has more than ${connectorBytes} bytes, which is what the connector takes at most`;
    throw new Failure("FILE_TOO_LARGE", words);
  }
  if (length > MOST_BYTES) {
    const words = `standard input has more than ${MOST_BYTES} bytes; write it to a file, and name that`;
    throw new Failure("CLI_USAGE", words);
  }
  return Buffer.concat(chunks, length);
}
