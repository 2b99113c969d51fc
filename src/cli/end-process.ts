import { setTimeout as sleep } from "node:timers/promises";

/** What is under way with files at the end ends by itself within this time, or hangs, ms. */
const HUNG_MS = 5_000;
const LOOK_EVERY_MS = 50;

/**
 * Ends the process. Node.js waits at the end for its threads, also for one that waits for a file on a server that is away: a process with
 * such a one is killed, after it said what is wrong, since it would never end.
 */
export async function endProcess(status: number, hungMs = HUNG_MS): Promise<never> {
  for (let waitedMs = 0; isFileUnderWay() && waitedMs < hungMs; waitedMs += LOOK_EVERY_MS)
    await sleep(LOOK_EVERY_MS);
  if (isFileUnderWay()) process.kill(process.pid, "SIGKILL");
  process.exit(status);
}

function isFileUnderWay(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq"));
}
