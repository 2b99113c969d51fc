import { createHash } from "node:crypto";
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  readFile,
  readlink,
  realpath,
  rmdir,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { type Account, canEnter, findAccount, isRoot } from "./unprivileged.ts";

/** Where the embedded server lives and who runs it. */
export interface Home {
  /**
   * `<dataDir>/postgres`, or what that links to. Belongs to whoever starts Cryobridge; of the folders in it,
   * `data`, `run` and `log` belong to {@link account}.
   */
  readonly path: string;
  /** The cluster itself. May not exist yet. */
  readonly data: string;
  /** Set when we are root: the server runs under this account. */
  readonly account: Account | undefined;
}

/** Where root puts the server when its account cannot reach the data folder. */
const SYSTEM_FOLDER = "/var/lib/cryobridge";
/** Names the data folder that a home outside it belongs to. */
const OWNER_FILE = "belongs-to";
/** Entered by all (so that the server's account gets through), listed by nobody. */
const PASSAGE_MODE = 0o711;
const PRIVATE_MODE = 0o700;

/** The data folder's real path; made if missing. Throws LEDGER_FOLDER_UNUSABLE. */
export async function openDataDir(dataDir: string): Promise<string> {
  try {
    const firstMade = await mkdir(dataDir, { recursive: true, mode: PRIVATE_MODE });
    if (firstMade !== undefined && isRoot()) await openPassage(firstMade, dataDir);
    return await realpath(dataDir);
  } catch (cause) {
    throw unusable(dataDir, cause);
  }
}

/**
 * Finds or makes the home of a data folder's server. Call it with the start lock held.
 *
 * As an ordinary user it is `<dataDir>/postgres`. As root the server runs under an unprivileged account; where that
 * account cannot reach the data folder (`/root/x`), the home is made in `/var/lib/cryobridge` and linked from the
 * data folder. Data that exist are never abandoned for an empty place: that is LEDGER_PLACE_UNREACHABLE.
 *
 * @param dataDir a real path, see {@link openDataDir}
 */
export async function openHome(dataDir: string, logger: Logger): Promise<Home> {
  const entry = join(dataDir, "postgres");
  try {
    const home = isRoot() ? await openAsRoot(dataDir, entry, logger) : await openAsUser(entry);
    for (const name of ["run", "log"]) await makeFolder(join(home.path, name), home.account);
    return home;
  } catch (error) {
    throw unusable(entry, error);
  }
}

/** Makes a folder that every account gets through and only its owner writes to, whatever our umask. */
export async function makePassage(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, PASSAGE_MODE);
}

/** Makes a private folder that belongs to the account; nothing happens when it exists. */
export async function makeFolder(path: string, account: Account | undefined): Promise<void> {
  try {
    await mkdir(path, { mode: PRIVATE_MODE });
  } catch (error) {
    if (isCode(error, "EEXIST")) return;
    throw error;
  }
  if (account) await lchown(path, account.uid, account.gid);
}

/** Whether an error carries one of these system codes, such as `ENOENT`. */
export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** Lets the server's account through the folders that were just made, from the outermost to the data folder. */
async function openPassage(outermost: string, dataDir: string): Promise<void> {
  for (let path = resolve(dataDir); path.length >= outermost.length; path = dirname(path)) {
    await chmod(path, PASSAGE_MODE);
  }
}

async function openAsUser(entry: string): Promise<Home> {
  await mkdir(entry, { recursive: true, mode: PRIVATE_MODE });
  const path = await realpath(entry);
  const data = join(path, "data");
  const owner = await findOwner(data);
  if (owner && process.getuid && owner.uid !== process.getuid()) {
    throw new Failure(
      "LEDGER_DATA_NOT_OURS",
      `${data} belongs to user ${owner.uid}, and this process runs as user ${process.getuid()}`,
    );
  }
  return { path, data, account: undefined };
}

async function openAsRoot(dataDir: string, entry: string, logger: Logger): Promise<Home> {
  const found = await lstat(entry).catch(ignoreMissing);
  if (found?.isSymbolicLink()) return await openLinked(dataDir, entry);
  if (!found) await makePassage(entry);
  const data = join(entry, "data");
  const account = await chooseAccount(data);
  if (await canEnter(account, entry)) return { path: entry, data, account };
  if (await findOwner(data)) throw unreachable(entry, account);
  const home = await makeElsewhere(dataDir, account);
  await rmdir(entry);
  await symlink(home.path, entry);
  logger.warn(
    { dataDir, home: home.path },
    "the database server's account cannot enter the data folder; the database is kept in home and linked from there",
  );
  return home;
}

/** Follows an existing link and refuses one that a copied data folder brought along. */
async function openLinked(dataDir: string, entry: string): Promise<Home> {
  const target = resolve(dirname(entry), await readlink(entry));
  const path = await realpath(target).catch(ignoreMissing);
  if (!path) {
    throw new Failure(
      "LEDGER_PLACE_UNREACHABLE",
      `${entry} links to ${target}, which is not there; is its disk mounted?`,
    );
  }
  const owner = await readFile(join(path, OWNER_FILE), "utf8").catch(ignoreMissing);
  if (owner !== undefined && owner !== dataDir) {
    const theirs = await realpath(join(owner, "postgres")).catch(() => undefined);
    if (theirs === path) {
      throw new Failure(
        "LEDGER_DATA_NOT_OURS",
        `${entry} links to ${path}, which belongs to the data folder ${owner}; this one looks like a copy of it`,
      );
    }
    await writeFile(join(path, OWNER_FILE), dataDir);
  }
  const data = join(path, "data");
  const account = await chooseAccount(data);
  if (!(await canEnter(account, path))) throw unreachable(path, account);
  return { path, data, account };
}

async function makeElsewhere(dataDir: string, account: Account): Promise<Home> {
  const hash = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  const path = join(SYSTEM_FOLDER, hash);
  try {
    await makePassage(SYSTEM_FOLDER);
    await makePassage(path);
    await writeFile(join(path, OWNER_FILE), dataDir);
  } catch (cause) {
    throw unusable(path, cause);
  }
  if (!(await canEnter(account, path))) throw unreachable(path, account);
  return { path, data: join(path, "data"), account };
}

/** Existing data keep their owner: whoever made them can run them. */
async function chooseAccount(data: string): Promise<Account> {
  const owner = await findOwner(data);
  return owner && owner.uid !== 0 ? owner : await findAccount();
}

async function findOwner(path: string): Promise<Account | undefined> {
  const found = await lstat(path).catch(ignoreMissing);
  return found && { uid: found.uid, gid: found.gid };
}

function ignoreMissing(error: unknown): undefined {
  if (!isCode(error, "ENOENT")) throw error;
}

function unreachable(path: string, account: Account): Failure {
  return new Failure(
    "LEDGER_PLACE_UNREACHABLE",
    `user ${account.uid}, under which the database server runs, cannot enter ${path}`,
  );
}

/** The failure for a folder that the system refuses to make, read or write; any other error as it is. */
export function unusable(path: string, cause: unknown): unknown {
  if (cause instanceof Failure || !(cause instanceof Error) || !("code" in cause)) return cause;
  return new Failure("LEDGER_FOLDER_UNUSABLE", {
    message: `${path} cannot be made or used: ${cause.code}`,
    cause,
  });
}
