import { readdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { withStartLock } from "../../src/ledger/embedded/lock.ts";

/** Ends an outage; resolves when the server may come back. */
export type EndOutage = () => Promise<void>;

/** Kills the embedded server of a data folder, and keeps its daemon from starting it again. */
export async function killServer(dataDir: string): Promise<EndOutage> {
  const held = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const holding = withStartLock(await realpath(dataDir), systemClock, undefined, () => {
    held.resolve();
    return over.promise;
  });
  await Promise.race([held.promise, holding]);
  process.kill(await findServer(dataDir), "SIGKILL");
  return async () => {
    over.resolve();
    await holding;
  };
}

/** Stops all processes of the embedded server where they are, as a disk that hangs does: nobody is refused or answered. */
export async function freezeServer(dataDir: string): Promise<EndOutage> {
  const server = await findServer(dataDir);
  // The server first, so that it makes no more of them.
  process.kill(server, "SIGSTOP");
  const processes = [server, ...(await listChildren(server))];
  for (const pid of processes) signal(pid, "SIGSTOP");
  return async () => {
    for (const pid of processes) signal(pid, "SIGCONT");
  };
}

async function findServer(dataDir: string): Promise<number> {
  const note = await readFile(join(dataDir, "postgres/data/postmaster.pid"), "utf8");
  return Number(note.split("\n")[0]);
}

/** Of /proc, which Linux has. */
async function listChildren(parent: number): Promise<number[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0);
  const parents = await Promise.all(pids.map(findParent));
  return pids.filter((_, n) => parents[n] === parent);
}

async function findParent(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const parent = /^PPid:\s*(\d+)/m.exec(status)?.[1];
  return parent === undefined ? undefined : Number(parent);
}

/** One that has ended by now needs no signal. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
