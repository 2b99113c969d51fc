import { readdir, readFile, readlink, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

/** What a server writes about itself while it runs, in `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** Empty when it listens on TCP only. */
  readonly socketDir: string;
}

/** Reads `postmaster.pid`; undefined when there is none, or not yet all of it. It may be left of a killed server. */
export async function readPostmaster(data: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
  // Lines: process, data folder, start time, port, socket folder, listen address, shared memory key, status.
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!(pid > 0) || !(port > 0)) return undefined;
  return { pid, port, socketDir: lines[4] ?? "" };
}

/**
 * Whether the process named in `postmaster.pid` is a server of these data, not just another process that got the same
 * number later. Only Linux can tell; elsewhere a live process is taken for the server.
 */
export async function isServing(postmaster: Postmaster, data: string): Promise<boolean> {
  if (process.platform === "linux") return await worksIn(postmaster.pid, await realpath(data));
  try {
    process.kill(postmaster.pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/**
 * Removes a `postmaster.pid` whose process number was given to another process, which would keep PostgreSQL from
 * starting. Left alone while any process still works on the data: the file is PostgreSQL's only trace to it. Linux only.
 */
export async function removeStalePostmaster(postmaster: Postmaster, data: string): Promise<void> {
  if (process.platform !== "linux") return;
  try {
    process.kill(postmaster.pid, 0);
  } catch {
    // Dead, or another user's: PostgreSQL sees that for itself.
    return;
  }
  const folder = await realpath(data);
  for (const name of await readdir("/proc")) {
    if (/^\d+$/.test(name) && (await worksIn(Number(name), folder))) return;
  }
  await rm(join(data, "postmaster.pid"), { force: true });
}

/** PostgreSQL's processes all have their data folder as working folder. */
async function worksIn(pid: number, folder: string): Promise<boolean> {
  return (await readlink(`/proc/${pid}/cwd`).catch(() => undefined)) === folder;
}
