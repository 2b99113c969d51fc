import type { Clock } from "../core/clock.ts";

/** Where text goes. */
export interface Output {
  write(text: string): unknown;
}

/** The world as a command sees it: the process's own, or a test's. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
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
