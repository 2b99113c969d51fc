import {
  chmod,
  constants,
  copyFile,
  lchown,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
} from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../core/failures.ts";
import { findObstacle, isCode, openDataDir, unusable } from "./home.ts";
import { isDaemonThere } from "./lock.ts";
import { isServing, readPostmaster } from "./server.ts";

/** The database of a data folder, as far as it can be seen without starting it. */
interface StoredDatabase {
  /** The major version of the PostgreSQL that wrote it, such as `18`. */
  readonly major: string;
  readonly bytes: number;
}

/** Parts of a data folder that a copy of its database needs. */
const PARTS = ["postgres/data", "postgres/password"];
/** What a server notes of itself while it runs; on a copy it would keep the next one from starting. */
const NOT_COPIED = new Set(["postmaster.pid", "postmaster.opts"]);

/**
 * Looks at the database of a data folder; nothing is made or changed.
 *
 * @throws Failure CLI_LEDGER_MISSING, LEDGER_DATA_LINKED, LEDGER_FOLDER_UNUSABLE
 */
export async function findStoredDatabase(dataDir: string): Promise<StoredDatabase> {
  const obstacle = await findObstacle(dataDir);
  if (obstacle?.code === "LEDGER_DATA_LINKED") throw obstacle;
  try {
    const major = await readFile(join(dataDir, "postgres/data/PG_VERSION"), "utf8");
    let bytes = 0;
    for (const part of PARTS) bytes += await sizeOf(join(dataDir, part));
    return { major: major.trim(), bytes };
  } catch (error) {
    if (isCode(error, "ENOENT", "ENOTDIR"))
      throw new Failure("CLI_LEDGER_MISSING", `there is no ledger in ${dataDir}`);
    throw unusable(dataDir, error);
  }
}

/**
 * Whether a daemon, or the database's server, works on a data folder right now; on none where there is no folder.
 *
 * @param roles that daemons do
 * @throws Failure LEDGER_FOLDER_UNUSABLE
 */
export async function isDataDirInUse(dataDir: string, roles: readonly string[]): Promise<boolean> {
  const folder = await unlessGone(realpath(dataDir)).catch((error) => {
    throw unusable(dataDir, error);
  });
  if (folder === undefined) return false;
  for (const role of roles) if (await isDaemonThere(folder, role)) return true;
  const data = join(folder, "postgres/data");
  const postmaster = await readPostmaster(data);
  return postmaster !== undefined && (await isServing(postmaster, data));
}

/**
 * Copies the database of a data folder that nobody works on into a new data folder, with owners and rights.
 *
 * @param to is made; its parent exists
 * @throws Failure LEDGER_DATA_LINKED for a link, which would lead from the copy to the data; LEDGER_FOLDER_UNUSABLE; and the
 *   signal's reason
 */
export async function copyDatabase(from: string, to: string, signal: AbortSignal): Promise<void> {
  try {
    await openDataDir(to);
    await mkdir(join(to, "postgres"), { mode: 0o700 });
    for (const part of PARTS) await copyWhole(join(from, part), join(to, part), signal);
  } catch (error) {
    throw unusable(to, error);
  }
}

async function copyWhole(from: string, to: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const found = await lstat(from);
  if (found.isSymbolicLink())
    throw new Failure("LEDGER_DATA_LINKED", `${from} is a link to another place, which a copy would share`);
  if (found.isDirectory()) {
    await mkdir(to, { mode: 0o700 });
    for (const name of await readdir(from))
      if (!NOT_COPIED.has(name)) await copyWhole(join(from, name), join(to, name), signal);
    await chmod(to, found.mode & 0o777);
    // Where the file system can share blocks, the copy takes no room.
  } else if (found.isFile()) await copyFile(from, to, constants.COPYFILE_FICLONE);
  if (process.getuid?.() === 0) await lchown(to, found.uid, found.gid);
}

async function sizeOf(path: string): Promise<number> {
  const found = await lstat(path);
  if (!found.isDirectory()) return found.size;
  let bytes = 0;
  // A server that was started meanwhile removes files.
  for (const name of await readdir(path)) bytes += (await unlessGone(sizeOf(join(path, name)))) ?? 0;
  return bytes;
}

/** Undefined where there is nothing of that name. */
function unlessGone<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error) => {
    if (isCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  });
}
