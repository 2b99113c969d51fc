import { randomBytes } from "node:crypto";
import { lchown, lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { syncFolder } from "../../core/sync-folder.ts";
import type { PostgresPackage, Programs } from "./binaries.ts";
import { type Home, isCode } from "./home.ts";
import { runAs } from "./unprivileged.ts";

/** The server's superuser; Cryobridge itself works as {@link OWNER}. */
export const SUPERUSER = "postgres";
/** Name of the role that owns the ledger's database, and of that database. */
export const OWNER = "cryobridge";

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
    const lastLine = output.trim().split("\n").at(-1) ?? "";
    throw new Failure("LEDGER_INIT_FAILED", `the database could not be made in ${home.path}: ${lastLine}`);
  }
  await rename(data, home.data);
  await syncFolder(home.path);
  await rm(partial, { recursive: true, force: true });
}

async function writeDurably(path: string, text: string): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  const file = await open(partial, "wx", 0o600);
  await file.writeFile(text);
  await file.sync();
  await file.close();
  await rename(partial, path);
}
