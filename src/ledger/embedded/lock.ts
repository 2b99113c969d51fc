import { createHash } from "node:crypto";
import { link, lstat, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { createConnection, createServer, type Server } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Role } from "../../core/role.ts";
import { FILE_WITHIN_MS, LATE, within } from "../../core/within.ts";
import { isCode, openDataDir, unusable } from "./home.ts";

/** A lock that this process holds until it releases it or dies. */
interface HeldLock {
  release(): Promise<void>;
}

/** Either the lock, or who has it, in words (`process 4711 on host lab1`). */
type LockAttempt = { readonly lock: HeldLock } | { readonly holder: string };

/** How long a socket file that replaced a dead one must stay ours before we believe in it. */
const REPLACED_FOR_MS = 50;
const POLL_MS = 20;
/** Making the first database takes a second here, but may take a minute on an old disk. */
const START_PATIENCE_MS = 180_000;

/**
 * Makes this process the one daemon of a data folder that does this role; the folder is made if missing. Held until the
 * returned function is called or the process dies (`kill -9` frees it at once), also while the process is stopped (SIGSTOP).
 * Throws LEDGER_IN_USE naming the process that has it, LEDGER_FOLDER_UNUSABLE also for a folder that hangs.
 */
export async function acquireDaemonLock(
  dataDir: string,
  clock: Clock = systemClock,
  role: Role = "worker",
): Promise<() => Promise<void>> {
  const folder = await within(openDataDir(dataDir), FILE_WITHIN_MS, clock);
  if (folder === LATE) throw new Failure("LEDGER_FOLDER_UNUSABLE", `${dataDir} does not answer`);
  const attempt = await tryLock(folder, `daemon-${role}`, clock);
  if ("lock" in attempt) return attempt.lock.release;
  const message = `${folder} is in use by ${attempt.holder}, which does the role ${role}`;
  throw new Failure("LEDGER_IN_USE", { message, hint: await endingHint(folder, role) });
}

/**
 * Whether a daemon does this role on a data folder right now. It only looks: nothing is taken or made.
 *
 * @throws Failure LEDGER_FOLDER_UNUSABLE when the folder can't be reached
 */
export async function isDaemonThere(dataDir: string, role: Role): Promise<boolean> {
  try {
    const folder = await realpath(dataDir);
    const addresses = [kernelAddress(folder, `daemon-${role}`), join(folder, `daemon-${role}.lock`)];
    for (const address of addresses) if (address !== undefined && (await isAnswered(address))) return true;
    return false;
  } catch (error) {
    if (isCode(error, "ENOENT")) return false;
    throw unusable(dataDir, error);
  }
}

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
  const startedAt = clock.monotonic();
  for (;;) {
    const attempt = await tryLock(dataDir, "start", clock);
    if ("lock" in attempt) {
      try {
        return await action();
      } finally {
        await attempt.lock.release();
      }
    }
    if (clock.monotonic() - startedAt > START_PATIENCE_MS) {
      throw new Failure(
        "LEDGER_START_BLOCKED",
        `${attempt.holder} has been starting or stopping the database of ${dataDir} for too long`,
      );
    }
    await clock.sleep(POLL_MS, signal);
  }
}

/**
 * Tries to take the lock `name` of a folder. It is a listening socket: the kernel frees it when its process is killed,
 * and keeps it while its process is stopped. On Linux it is an abstract socket, which can't be left over, and on Windows a
 * named pipe. Everywhere but on Windows a socket file in the folder comes on top: other containers that share the folder see it.
 *
 * @param folder a real path, so that two ways to one folder give one lock
 * @throws Failure LEDGER_FOLDER_UNUSABLE when no socket can be made there
 */
export async function tryLock(folder: string, name: string, clock: Clock): Promise<LockAttempt> {
  const noteFile = join(folder, `${name}.pid`);
  const held: HeldLock[] = [];
  const release = async () => {
    for (const each of held.splice(0).reverse()) await each.release();
  };
  try {
    for (const take of [takeInKernel, takeSocketFile]) {
      const taken = await take(folder, name, clock);
      if (taken === "taken") {
        await release();
        return { holder: await describeHolder(noteFile) };
      }
      if (taken) held.push(taken);
    }
    await writeFile(noteFile, `${process.pid} ${hostname()}\n`);
    held.push({ release: () => rm(noteFile, { force: true }) });
    return { lock: { release } };
  } catch (error) {
    await release();
    throw unusable(folder, error);
  }
}

/** Undefined where the system has no sockets outside the file system. */
function kernelAddress(folder: string, name: string): string | undefined {
  const hash = createHash("sha256").update(folder).digest("hex").slice(0, 32);
  if (process.platform === "linux") return `\0cryobridge/${hash}/${name}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\cryobridge-${hash}-${name}` : undefined;
}

async function takeInKernel(folder: string, name: string): Promise<HeldLock | "taken" | undefined> {
  const address = kernelAddress(folder, name);
  if (address === undefined) return undefined;
  try {
    const server = await listen(address);
    return { release: () => close(server) };
  } catch (error) {
    if (isCode(error, "EADDRINUSE", "EACCES")) return "taken";
    throw error;
  }
}

/**
 * Socket files outlive their process, so a dead one must be replaced, and two processes may try at once. Each listens
 * under a name of its own and links that to the lock's name, which succeeds for one only. A dead file is replaced by
 * renaming over it; since another may do the same in the same moment, the winner is who still has the name a little later.
 */
async function takeSocketFile(
  folder: string,
  name: string,
  clock: Clock,
): Promise<HeldLock | "taken" | undefined> {
  if (process.platform === "win32") return undefined;
  const path = join(folder, `${name}.lock`);
  const ownPath = `${path}.${process.pid}`;
  await rm(ownPath, { force: true });
  const server = await listen(ownPath);
  let isOurs = false;
  try {
    const { ino } = await lstat(ownPath);
    const hasName = async () => (await lstat(path).catch(() => undefined))?.ino === ino;
    isOurs = await link(ownPath, path).then(
      () => true,
      async (error) => {
        if (!isCode(error, "EEXIST")) throw error;
        if (await isAnswered(path)) return false;
        await rename(ownPath, path);
        await clock.sleep(REPLACED_FOR_MS);
        return await hasName();
      },
    );
    if (!isOurs) return "taken";
    const release = async () => {
      if (await hasName()) await rm(path, { force: true });
      await close(server);
    };
    return { release };
  } finally {
    if (!isOurs) await close(server);
    await rm(ownPath, { force: true });
  }
}

/** Whether a process listens there. A stopped one does: the kernel answers for it. */
async function isAnswered(path: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error) => resolve(!isCode(error, "ECONNREFUSED", "ENOENT")));
  });
}

async function listen(path: string): Promise<Server> {
  return await new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once("error", reject);
    server.listen({ path, exclusive: true }, () => resolve(server));
  });
}

async function close(server: Server): Promise<void> {
  await new Promise((resolve) => server.close(resolve));
}

async function describeHolder(noteFile: string): Promise<string> {
  const { pid, host } = await readHolder(noteFile);
  return pid && host ? `process ${pid} on host ${host}` : "another process";
}

async function readHolder(noteFile: string): Promise<{ readonly pid?: string; readonly host?: string }> {
  const [pid, host] = (await readFile(noteFile, "utf8").catch(() => "")).trim().split(" ");
  return pid && host ? { pid, host } : {};
}

/** How the daemon that has the lock is ended; undefined where it isn't known which process that is. */
async function endingHint(folder: string, role: Role): Promise<string | undefined> {
  const { pid, host } = await readHolder(join(folder, `daemon-${role}.pid`));
  if (pid === undefined) return undefined;
  const where = host === hostname() ? "" : ` on ${host}`;
  return `\`kill ${pid}\`${where} ends it orderly (a service manager: its own command, such as \`systemctl stop cryobridge\`); for a restore \`--stop\` does so. Or give this daemon its own \`dataDir\`.`;
}
