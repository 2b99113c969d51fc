import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, lstat, open, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { Failure } from "../../core/failures.ts";
import type { Programs } from "./binaries.ts";
import { type Home, makeFolder, makePassage } from "./home.ts";
import { LONGEST_SOCKET_PATH } from "./lock.ts";
import { encodeAccessRules, encodeSettings } from "./settings.ts";
import { CHILD_ENVIRONMENT, runAs } from "./unprivileged.ts";

/** A server process that was just started. It belongs to nobody: it lives on when this process dies. */
export interface Launch {
  readonly host: string;
  readonly port: number;
  /** The server's own words once it has ended, such as why it could not start; undefined while it runs. */
  findEnd(): Promise<string | undefined>;
}

/** Part of a socket's file name; no port is opened under it. */
const SOCKET_PORT = 5432;
const LOOPBACK = "127.0.0.1";
const FAST_STOP_SECONDS = 30;

/**
 * Starts the server on the home's data: detached from our terminal (Ctrl-C stops Cryobridge, which then stops the
 * server), with nothing of our environment or open files. It is ready when it answers, see `knock`.
 * Call it when no server of these data runs.
 *
 * @param lastPort on Windows, the port to use again after a restart, so that callers' pools find it
 */
export async function launchServer(
  home: Home,
  programs: Programs,
  lastPort: number | undefined,
): Promise<Launch> {
  const socketDir = process.platform === "win32" ? undefined : await openSocketDir(home);
  const port = socketDir === undefined ? (lastPort ?? (await findFreePort())) : SOCKET_PORT;
  // Left of a killed server, it names a process number that another process may have by now, and keeps PostgreSQL from
  // starting: numbers come again after a restart of the machine, and of a container nearly always.
  if (socketDir !== undefined) await rm(join(socketDir, `.s.PGSQL.${port}.lock`), { force: true });
  const settingsFile = await writeSettings(home, socketDir, port);
  const outputFile = join(home.path, "start.log");
  const place = { host: socketDir ?? LOOPBACK, port };
  if (process.platform === "win32") {
    // Only pg_ctl can shed an administrator's rights there.
    const options = `-c config_file="${settingsFile}"`;
    const args = ["start", "-W", "-D", home.data, "-l", outputFile, "-o", options];
    const { status, output } = await runAs(undefined, programs.pgCtl, args, home.path);
    return { ...place, findEnd: async () => (status === 0 ? undefined : output.trim()) };
  }
  const output = await open(outputFile, "w", 0o600);
  const child = spawn(programs.postgres, ["-D", home.data, "-c", `config_file=${settingsFile}`], {
    ...home.account,
    cwd: home.path,
    env: CHILD_ENVIRONMENT,
    detached: true,
    stdio: ["ignore", output.fd, output.fd],
  });
  let end: string | undefined;
  child.once("error", (error) => {
    end = error.message;
  });
  child.once("exit", (status, signal) => {
    end = `it ended with ${signal ?? `status ${status}`}`;
  });
  child.unref();
  await output.close();
  return { ...place, findEnd: async () => end && `${end}: ${await readLastLine(outputFile)}` };
}

/** Stops the server: open transactions are rolled back, and what was committed is on disk. False when it would not stop. */
export async function stopServer(home: Home, programs: Programs): Promise<boolean> {
  for (const mode of ["fast", "immediate"]) {
    const args = ["stop", "-D", home.data, "-m", mode, "-w", "-t", String(FAST_STOP_SECONDS)];
    if ((await runAs(home.account, programs.pgCtl, args, home.path)).status === 0) return true;
  }
  return false;
}

/** The settings stay in a folder that the server's account cannot write to. */
async function writeSettings(home: Home, socketDir: string | undefined, port: number): Promise<string> {
  const folder = join(home.path, "conf");
  await makePassage(folder);
  const hbaFile = join(folder, "pg_hba.conf");
  const settingsFile = join(folder, "postgresql.conf");
  const settings = encodeSettings({ socketDir, port, logDir: join(home.path, "log"), hbaFile });
  await writeReadable(hbaFile, encodeAccessRules(socketDir));
  await writeReadable(settingsFile, settings);
  return settingsFile;
}

async function writeReadable(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o644);
}

/** `run` in the home, or a short private folder when that makes the socket's path too long for the system. */
async function openSocketDir(home: Home): Promise<string> {
  const usual = join(home.path, "run");
  if (Buffer.byteLength(join(usual, `.s.PGSQL.${SOCKET_PORT}`)) <= LONGEST_SOCKET_PATH) return usual;
  const hash = createHash("sha256").update(home.path).digest("hex").slice(0, 16);
  const uid = process.getuid?.() ?? 0;
  const systemRun = process.platform === "darwin" ? "/var/run" : "/run";
  const path = uid === 0 ? `${systemRun}/cryobridge-${hash}` : `/tmp/cryobridge-${uid}-${hash}`;
  await makeFolder(path, home.account);
  // Others may write to /tmp: what stands there under that name must be a private folder of ours.
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== (home.account?.uid ?? uid) || (found.mode & 0o077) !== 0) {
    throw new Failure("LEDGER_FOLDER_UNUSABLE", `${path} is not a private folder of the database server`);
  }
  return path;
}

async function findFreePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, LOOPBACK, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

async function readLastLine(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch(() => "");
  const lines = text.trim().split("\n");
  return lines.findLast((line) => line.includes("FATAL")) ?? lines.at(-1) ?? "";
}
