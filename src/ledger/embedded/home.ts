import { execFile } from "node:child_process";
import { chmod, lchown, lstat, mkdir, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf, Failure } from "../../core/failures.ts";
import { makeFolders } from "../../core/make-folders.ts";

/** The account that PostgreSQL's programs run under. */
interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Where the embedded server lives and who runs it. */
export interface Home {
  /**
   * `<dataDir>/postgres`. Belongs to whoever starts Cryobridge; of the folders in it, `data`, `run` and `log` belong to
   * {@link account}.
   */
  readonly path: string;
  /** The cluster itself. May not exist yet. */
  readonly data: string;
  /** Set when we are root: the server runs under this account. */
  readonly account: Account | undefined;
}

/** Entered by all (so that the server's account gets through), listed by nobody. */
const PASSAGE_MODE = 0o711;
const PRIVATE_MODE = 0o700;
/** Accounts tried in this order when root starts the server; `cryobridge` is there when an operator made it. */
const ACCOUNT_NAMES = ["cryobridge", "nobody"] as const;
/** A socket's path is cut off at 104 bytes on macOS and 108 on Linux, the closing NUL included. */
const LONGEST_SOCKET_PATH = process.platform === "darwin" ? 103 : 107;
/** The longest names of sockets below the data folder: the server's, and a lock's while it is taken. */
const SOCKET_NAMES = ["postgres/run/.s.PGSQL.5432", "daemon-console.lock.4194304"] as const;

/**
 * What our child processes see of the environment: nothing of the daemon's own, which holds secrets.
 * Windows adds the variables that it cannot do without by itself.
 */
export const CHILD_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
};

/** The data folder's real path; made if missing. Throws LEDGER_FOLDER_UNUSABLE, also for a path too long for sockets. */
export async function openDataDir(dataDir: string): Promise<string> {
  try {
    const firstMade = await makeFolders(dataDir, PRIVATE_MODE);
    if (firstMade !== undefined && isRoot()) await openPassage(firstMade, dataDir);
    const path = await realpath(dataDir);
    requireShort(path);
    return path;
  } catch (cause) {
    throw unusable(dataDir, cause);
  }
}

/**
 * Finds or makes the home of a data folder's server. Call it with the start lock held.
 *
 * It is always `<dataDir>/postgres`, so that a copy of the data folder holds everything: a link to another place is
 * refused, LEDGER_DATA_LINKED. As root the server runs under an unprivileged account, which has to get through to it:
 * else LEDGER_PLACE_UNREACHABLE, also where the data exist.
 *
 * @param dataDir a real path, see {@link openDataDir}
 */
export async function openHome(dataDir: string): Promise<Home> {
  const path = join(dataDir, "postgres");
  const data = join(path, "data");
  try {
    await requireOwn(data);
    await refuseLinks(path);
    const account = isRoot() ? await chooseAccount(data) : undefined;
    if (account) {
      await requireReach(account, dataDir);
      await makePassage(path);
    } else {
      await makeFolders(path, PRIVATE_MODE);
    }
    for (const name of ["run", "log"]) await makeFolder(join(path, name), account);
    return { path, data, account };
  } catch (error) {
    throw unusable(path, error);
  }
}

/**
 * What would keep a data folder's server from starting there, and no other folder from being chosen; undefined when nothing
 * is known. It makes and changes nothing, and the folder need not exist yet.
 */
export async function findObstacle(dataDir: string): Promise<Failure | undefined> {
  try {
    const home = join(dataDir, "postgres");
    await requireOwn(join(home, "data"));
    await refuseLinks(home);
    if (isRoot()) await requireReach(await chooseAccount(join(home, "data")), await nearestExisting(dataDir));
    return undefined;
  } catch (error) {
    const failure = unusable(dataDir, error);
    if (failure instanceof Failure) return failure;
    throw failure;
  }
}

/** Makes a folder that every account gets through and only its owner writes to, whatever our umask. */
export async function makePassage(path: string): Promise<void> {
  await makeFolders(path);
  await chmod(path, PASSAGE_MODE);
}

/** Whether an error carries one of these system codes, such as `ENOENT`. */
export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(codeOf(error) ?? "");
}

/** The failure for a folder that the system refuses to make, read or write; any other error as it is. */
export function unusable(path: string, cause: unknown): unknown {
  if (cause instanceof Failure || !(cause instanceof Error) || !("code" in cause)) return cause;
  return new Failure("LEDGER_FOLDER_UNUSABLE", {
    message: `${path} cannot be made or used: ${cause.code}`,
    cause,
  });
}

/**
 * The account that root hands the server to: `cryobridge` if the system has it, else `nobody`.
 * Looked up through the system (`id`), so that accounts of a directory service count. Throws LEDGER_NO_ACCOUNT.
 */
export async function findAccount(): Promise<Account> {
  for (const name of ACCOUNT_NAMES) {
    const uid = await readId("-u", name);
    const gid = uid && (await readId("-g", name));
    if (uid && gid !== undefined) return { uid, gid };
  }
  throw new Failure(
    "LEDGER_NO_ACCOUNT",
    "the database server must not run as root, and this system has neither an account cryobridge nor nobody",
  );
}

/** A number of an account; undefined where the system has no such account. */
async function readId(option: "-u" | "-g", name: string): Promise<number | undefined> {
  const { status, output } = await runAs(undefined, "id", [option, name], "/");
  return status === 0 && Number.isInteger(Number(output)) ? Number(output) : undefined;
}

interface ProgramResult {
  /** Its exit status, or -1 when a signal ended it or it could not be started. */
  readonly status: number;
  readonly output: string;
}

/** Runs a program to its end under an account (ours unless given), in a folder that it can enter. Never throws. */
export async function runAs(
  account: Account | undefined,
  program: string,
  args: readonly string[],
  folder: string,
): Promise<ProgramResult> {
  return await new Promise((resolve) => {
    const options = { env: CHILD_ENVIRONMENT, cwd: folder, windowsHide: true, ...account };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (!error) return resolve({ status: 0, output: `${stdout}${stderr}` });
      const status = typeof error.code === "number" ? error.code : -1;
      resolve({ status, output: `${stdout}${stderr}` || error.message });
    });
  });
}

/** PostgreSQL refuses to run as root. */
function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function requireShort(dataDir: string): void {
  if (process.platform === "win32") return;
  const longest = Math.max(...SOCKET_NAMES.map((name) => Buffer.byteLength(join(dataDir, name))));
  if (longest <= LONGEST_SOCKET_PATH) return;
  const over = longest - LONGEST_SOCKET_PATH;
  const why = `too long by ${over} bytes for the sockets of the database; choose a shorter dataDir`;
  throw new Failure("LEDGER_FOLDER_UNUSABLE", `the path ${dataDir} is ${why}`);
}

/** Makes a private folder that belongs to the account; nothing happens when it exists. */
async function makeFolder(path: string, account: Account | undefined): Promise<void> {
  try {
    await mkdir(path, { mode: PRIVATE_MODE });
  } catch (error) {
    if (isCode(error, "EEXIST")) return;
    throw error;
  }
  if (account) await lchown(path, account.uid, account.gid);
}

/** Lets the server's account through the folders that were just made, from the outermost to the data folder. */
async function openPassage(outermost: string, dataDir: string): Promise<void> {
  for (let path = resolve(dataDir); path.length >= outermost.length; path = dirname(path)) {
    await chmod(path, PASSAGE_MODE);
  }
}

/** The parts that somebody may have put elsewhere: then a copy of the data folder has a link in their place. */
async function refuseLinks(home: string): Promise<void> {
  for (const path of [home, join(home, "data"), join(home, "data/pg_wal")]) {
    const found = await lstat(path).catch(ignoreMissing);
    if (!found?.isSymbolicLink()) continue;
    throw new Failure(
      "LEDGER_DATA_LINKED",
      `${path} is a link to another place, so a copy of the data folder would not hold the database`,
    );
  }
}

/** Before anything in it is looked at, which only its owner may. Root runs the server under the account that has the data. */
async function requireOwn(data: string): Promise<void> {
  const owner = await findOwner(data);
  if (!owner || !process.getuid || isRoot() || owner.uid === process.getuid()) return;
  throw new Failure(
    "LEDGER_DATA_NOT_OURS",
    `${data} belongs to user ${owner.uid}, and this process runs as user ${process.getuid()}`,
  );
}

/** Throws LEDGER_PLACE_UNREACHABLE, which names the outermost folder that the account can't enter. */
async function requireReach(account: Account, folder: string): Promise<void> {
  if (await canEnter(account, folder)) return;
  let closed = folder;
  for (let path = folder; path !== dirname(path); path = dirname(path)) {
    if (!(await canEnter(account, path))) closed = path;
  }
  throw new Failure(
    "LEDGER_PLACE_UNREACHABLE",
    `started as root, the database server runs as user ${account.uid}, who may not enter ${closed}`,
  );
}

/** Tried rather than reckoned: access lists and security modules count too. */
async function canEnter(account: Account, folder: string): Promise<boolean> {
  return (await runAs(account, "/bin/sh", ["-c", 'cd -- "$1"', "sh", folder], "/")).status === 0;
}

async function nearestExisting(path: string): Promise<string> {
  const found = await realpath(path).catch(ignoreMissing);
  return found ?? (await nearestExisting(dirname(resolve(path))));
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
