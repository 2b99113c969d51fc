import type { Writable } from "node:stream";
import type { Clock } from "../core/clock.ts";

/** Where text goes. */
export interface Output {
  write(text: string): unknown;
  /** Resolves when what was written is on its way, so that no more is made than is taken; false: nobody reads any more. */
  readonly drained?: (() => Promise<boolean>) | undefined;
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
  /** Width of that terminal, in characters. */
  readonly columns?: number | undefined;
  /** Asks the person at the terminal; absent where nobody would answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Calls the listener each time the process is asked to stop; gives a function that ends that. */
  readonly onStop?: ((listener: () => void) => () => void) | undefined;
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
