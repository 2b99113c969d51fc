import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Failure } from "../../core/failures.ts";

const run = promisify(execFile);

/** The account that PostgreSQL's programs run under. Undefined where they run as whoever started us. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Accounts tried in this order when root starts the server; `cryobridge` is there when an operator made it. */
const ACCOUNT_NAMES = ["cryobridge", "nobody"] as const;

/**
 * What our child processes see of the environment: nothing of the daemon's own, which holds secrets.
 * Windows adds the variables that it cannot do without by itself.
 */
export const CHILD_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
};

/** Whether this process is root on a POSIX system; PostgreSQL refuses to run so. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The account that root hands the server to: `cryobridge` if the system has it, else `nobody`.
 * Looked up through the system (`id`), so that accounts of a directory service count. Throws LEDGER_NO_ACCOUNT.
 */
export async function findAccount(): Promise<Account & { readonly name: string }> {
  for (const name of ACCOUNT_NAMES) {
    const options = { env: CHILD_ENVIRONMENT };
    try {
      const uid = Number((await run("id", ["-u", name], options)).stdout);
      const gid = Number((await run("id", ["-g", name], options)).stdout);
      if (Number.isInteger(uid) && uid > 0 && Number.isInteger(gid)) return { uid, gid, name };
    } catch {
      // No such account: the next name.
    }
  }
  throw new Failure(
    "LEDGER_NO_ACCOUNT",
    "the database server must not run as root, and this system has neither an account cryobridge nor nobody",
  );
}

/** What became of a program that was run to its end. */
export interface ProgramResult {
  /** Its exit status, or -1 when a signal ended it or it could not be started. */
  readonly status: number;
  readonly output: string;
}

/** Runs a program to its end under an account, in a folder that the account can enter. Never throws. */
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

/** Whether the account can enter a folder, tried rather than reckoned: access lists and security modules count too. */
export async function canEnter(account: Account, folder: string): Promise<boolean> {
  return (await runAs(account, "/bin/sh", ["-c", 'cd -- "$1"', "sh", folder], "/")).status === 0;
}
