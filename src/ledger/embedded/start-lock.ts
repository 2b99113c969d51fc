import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import { type HeldLock, tryLock } from "./lock.ts";

const POLL_MS = 20;
/** Making the first database takes a second here, but may take a minute on an old disk. */
const PATIENCE_MS = 180_000;

/**
 * Runs an action while no other process starts, joins or leaves the server of this data folder.
 * Throws LEDGER_START_BLOCKED when another process does so for minutes, and what the action throws.
 */
export async function withStartLock<T>(
  dataDir: string,
  clock: Clock,
  signal: AbortSignal | undefined,
  action: () => Promise<T>,
): Promise<T> {
  const lock = await awaitLock(dataDir, clock, signal);
  try {
    return await action();
  } finally {
    await lock.release();
  }
}

async function awaitLock(dataDir: string, clock: Clock, signal: AbortSignal | undefined): Promise<HeldLock> {
  const startedAt = clock.monotonic();
  for (;;) {
    const attempt = await tryLock(dataDir, "start", clock);
    if ("lock" in attempt) return attempt.lock;
    if (clock.monotonic() - startedAt > PATIENCE_MS) {
      throw new Failure(
        "LEDGER_START_BLOCKED",
        `${attempt.holder} has been starting or stopping the database of ${dataDir} for too long`,
      );
    }
    await clock.sleep(POLL_MS, signal);
  }
}
