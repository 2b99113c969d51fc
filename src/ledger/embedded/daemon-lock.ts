import { realpath } from "node:fs/promises";
import { type Clock, systemClock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import { isCode, openDataDir, unusable } from "./home.ts";
import { isLocked, tryLock } from "./lock.ts";

/**
 * Makes this process the one daemon of a data folder that does this role; the folder is made if missing. Held until the
 * returned function
 * is called or the process dies (`kill -9` frees it at once), also while the process is stopped (SIGSTOP).
 * Throws LEDGER_IN_USE naming the process that has it.
 */
export async function acquireDaemonLock(
  dataDir: string,
  clock: Clock = systemClock,
  role = "worker",
): Promise<() => Promise<void>> {
  const folder = await openDataDir(dataDir);
  const attempt = await tryLock(folder, `daemon-${role}`, clock);
  if ("lock" in attempt) return attempt.lock.release;
  throw new Failure("LEDGER_IN_USE", `${folder} is in use by ${attempt.holder}, which does the role ${role}`);
}

/**
 * Whether a daemon does this role on a data folder right now. It only looks: a daemon that starts meanwhile finds its lock
 * free, and no folder is made.
 *
 * @throws Failure LEDGER_FOLDER_UNUSABLE when the folder can't be reached
 */
export async function isDaemonThere(dataDir: string, role: string): Promise<boolean> {
  try {
    return await isLocked(await realpath(dataDir), `daemon-${role}`);
  } catch (error) {
    if (isCode(error, "ENOENT")) return false;
    throw unusable(dataDir, error);
  }
}
