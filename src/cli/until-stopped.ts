import type { Io } from "./io.ts";

/** Waits until the process is asked to stop; for ever where nobody can ask. */
export function untilStopped(io: Io): Promise<void> {
  return new Promise((resolve) => {
    const end = io.onStop?.(() => {
      end?.();
      resolve();
    });
  });
}
