import type { Io } from "../io.ts";

/** Watches for the wish to end: Ctrl-C, SIGTERM, a closed terminal, or a key. */
export interface Ending {
  /** Aborted at the first wish. */
  readonly signal: AbortSignal;
  /** Wishes for the end. */
  ask(): void;
  /** Calls back when somebody asks again, while what was begun is still ended in good order. */
  onImpatience(listener: () => void): void;
  unwatch(): void;
}

export function watchForEnd(io: Pick<Io, "onStop">): Ending {
  const controller = new AbortController();
  const listeners: (() => void)[] = [];
  const ask = () => {
    if (controller.signal.aborted) for (const listener of listeners) listener();
    controller.abort(new Error("the demonstration was asked to end"));
  };
  const unsubscribe = io.onStop?.(ask);
  process.on("SIGHUP", ask);
  return {
    signal: controller.signal,
    ask,
    onImpatience: (listener) => {
      listeners.push(listener);
    },
    unwatch: () => {
      unsubscribe?.();
      process.off("SIGHUP", ask);
    },
  };
}
