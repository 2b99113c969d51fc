import { createHash } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { link, lstat, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createConnection, createServer, type Server } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { isCode, unusable } from "./home.ts";

/** A lock that this process holds until it releases it or dies. */
export interface HeldLock {
  release(): Promise<void>;
}

/** Either the lock, or who has it, in words (`process 4711 on host lab1`). */
export type LockAttempt = { readonly lock: HeldLock } | { readonly holder: string };

/** A socket's path is cut off at 104 bytes on macOS and 108 on Linux, the closing NUL included. */
export const LONGEST_SOCKET_PATH = process.platform === "darwin" ? 103 : 107;
/** How long a socket file that replaced a dead one must stay ours before we believe in it. */
const SETTLE_MS = 50;

/**
 * Tries to take the lock `name` of a folder. It is a listening socket: the kernel frees it when its process is killed,
 * and keeps it while its process is stopped.
 *
 * On Linux it is an abstract socket, which cannot be left behind, and on Windows a named pipe. Everywhere but on
 * Windows a socket file in the folder comes on top: it is seen from other containers that share the folder.
 *
 * @param folder a real path, so that two ways to one folder give one lock
 * @throws Failure LEDGER_FOLDER_UNUSABLE when nothing can be written there
 */
export async function tryLock(folder: string, name: string, clock: Clock): Promise<LockAttempt> {
  const noteFile = join(folder, `${name}.pid`);
  const kernel = await listenInKernel(folder, name);
  if (kernel === "taken") return { holder: await describeHolder(noteFile) };
  let file: HeldLock | "taken" | undefined;
  const release = async () => {
    if (typeof file === "object") await file.release();
    await close(kernel);
  };
  try {
    if (process.platform !== "win32") file = await takeSocketFile(folder, `${name}.lock`, clock);
    if (file !== "taken") await writeFile(noteFile, `${process.pid} ${hostname()}\n`);
  } catch (error) {
    await release();
    throw unusable(folder, error);
  }
  if (file === "taken") {
    await release();
    return { holder: await describeHolder(noteFile) };
  }
  return {
    lock: {
      release: async () => {
        await rm(noteFile, { force: true });
        await release();
      },
    },
  };
}

/**
 * Whether some process has the lock `name` of a folder. Unlike {@link tryLock} it takes nothing and writes nothing, so it is
 * in nobody's way. Where the socket may not be asked, the lock counts as taken.
 *
 * @param folder as in {@link tryLock}
 */
export async function isLocked(folder: string, name: string): Promise<boolean> {
  const address = kernelAddress(folder, name);
  if (address !== undefined && (await isAnswered(address))) return true;
  if (process.platform === "win32") return false;
  const fileName = `${name}.lock`;
  const reach = openReach(folder, fileName);
  try {
    return await isAnswered(join(reach.folder, fileName));
  } finally {
    reach.close();
  }
}

/** Undefined where the system has no sockets outside the file system. */
function kernelAddress(folder: string, name: string): string | undefined {
  const hash = createHash("sha256").update(folder).digest("hex").slice(0, 32);
  if (process.platform === "linux") return `\0cryobridge/${hash}/${name}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\cryobridge-${hash}-${name}` : undefined;
}

async function listenInKernel(folder: string, name: string): Promise<Server | "taken" | undefined> {
  const address = kernelAddress(folder, name);
  if (address === undefined) return undefined;
  try {
    return await listen(address);
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
  const path = join(folder, name);
  const ownName = `${name}.${process.pid}`;
  const ownPath = join(folder, ownName);
  const reach = openReach(folder, ownName);
  let server: Server | undefined;
  try {
    await rm(ownPath, { force: true });
    server = await listen(join(reach.folder, ownName));
    const own = await lstat(ownPath);
    const isOurs = async () => (await lstat(path).catch(() => undefined))?.ino === own.ino;
    const isTaken = await link(ownPath, path).then(
      () => false,
      async (error) => {
        if (!isCode(error, "EEXIST")) throw error;
        if (await isAnswered(join(reach.folder, name))) return true;
        await rename(ownPath, path);
        await clock.sleep(SETTLE_MS);
        return !(await isOurs());
      },
    );
    await rm(ownPath, { force: true });
    const held = server;
    const release = async () => {
      if (await isOurs()) await rm(path, { force: true });
      await close(held);
    };
    if (!isTaken) return { release };
    await close(server);
    return "taken";
  } catch (error) {
    await close(server);
    await rm(ownPath, { force: true });
    // Linux has its abstract socket; some mounts (Docker Desktop's, exFAT) hold no socket files.
    if (process.platform === "linux" && isCode(error, "EOPNOTSUPP", "ENOTSUP", "EPERM")) return undefined;
    throw error;
  } finally {
    reach.close();
  }
}

/** The folder under a name short enough for a socket's path: on Linux by way of an open descriptor. */
function openReach(
  folder: string,
  longestName: string,
): { readonly folder: string; readonly close: () => void } {
  if (process.platform !== "linux" || Buffer.byteLength(join(folder, longestName)) <= LONGEST_SOCKET_PATH) {
    return { folder, close: () => undefined };
  }
  const descriptor = openSync(folder, "r");
  return { folder: `/proc/self/fd/${descriptor}`, close: () => closeSync(descriptor) };
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

async function close(server: Server | undefined): Promise<void> {
  if (server?.listening) await new Promise((resolve) => server.close(resolve));
}

async function describeHolder(noteFile: string): Promise<string> {
  const [pid, host] = (await readFile(noteFile, "utf8").catch(() => "")).trim().split(" ");
  return pid && host ? `process ${pid} on host ${host}` : "another process";
}
