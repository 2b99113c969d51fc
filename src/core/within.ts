import type { Clock } from "./clock.ts";

/** What {@link within} gives for something that takes too long. */
export const LATE = Symbol("late");

/**
 * What comes of something beside the main job, or {@link LATE} when it takes longer than `ms`, as a disk of a server that is away
 * does. It goes on then, and nobody hears of its failure.
 */
export async function within<T>(
  work: Promise<T>,
  ms: number,
  clock: Pick<Clock, "sleep">,
): Promise<T | typeof LATE> {
  const done = new AbortController();
  const late = clock
    .sleep(ms, done.signal)
    .catch(() => undefined)
    .then((): typeof LATE => LATE);
  try {
    return await Promise.race([work, late]);
  } finally {
    // A reason spares an exception with a stack that nobody looks at.
    done.abort(LATE);
  }
}

/** What comes of a question to the ledger is waited for so long, ms: longer than a healthy one ever takes, shorter than a person waits. */
export const LEDGER_WITHIN_MS = 5_000;

/** The same of a file that nothing goes on without, ms. */
export const FILE_WITHIN_MS = 10_000;

/** What {@link patiently} gives: what was last found, and whether the latest try has no answer yet. */
interface Found<T> {
  readonly value: T | undefined;
  readonly isLate: boolean;
}

/** Asks again each time, once at a time, and waits for `ms` at most: something that hangs is asked no second time meanwhile. */
export function patiently<T>(
  ask: () => Promise<T>,
  ms: number,
  clock: Pick<Clock, "sleep">,
): () => Promise<Found<T>> {
  let underWay: Promise<T> | undefined;
  let value: T | undefined;
  return async () => {
    underWay ??= ask()
      .then((found) => {
        value = found;
        return found;
      })
      .finally(() => {
        underWay = undefined;
      });
    const isLate = (await within(underWay, ms, clock)) === LATE;
    return { value, isLate };
  };
}
