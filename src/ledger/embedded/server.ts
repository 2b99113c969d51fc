import { spawn } from "node:child_process";
import { chmod, open, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { codeOf } from "../../core/failures.ts";
import { CHILD_ENVIRONMENT, type Home, makePassage, runAs } from "./home.ts";
import type { Programs } from "./programs.ts";

/** Where a server listens: the folder of its Unix socket, or 127.0.0.1 on Windows. */
export interface ServerPlace {
  readonly host: string;
  readonly port: number;
}

/** A server process that was just started. It belongs to nobody: it lives on when this process dies. */
interface Launch extends ServerPlace {
  /** The server's own words once it has ended, such as why it could not start; undefined while it runs. */
  findEnd(): Promise<string | undefined>;
}

/** What a server writes about itself while it runs, in `postmaster.pid`. */
interface Postmaster extends ServerPlace {
  readonly pid: number;
}

/** Part of a socket's file name; no port is opened under it. */
const SOCKET_PORT = 5432;
const LOOPBACK = "127.0.0.1";
const FAST_STOP_SECONDS = 30;

/**
 * Starts the server on the home's data: detached from our terminal (Ctrl-C stops Cryobridge, which then stops the
 * server), with nothing of our environment or open files. It is ready when it answers. Call it when no server of these
 * data runs.
 *
 * @param lastPort on Windows, the port to use again after a restart, so that callers' pools find it
 */
export async function launchServer(
  home: Home,
  programs: Programs,
  lastPort: number | undefined,
): Promise<Launch> {
  const outputFile = join(home.path, "start.log");
  if (process.platform === "win32") {
    const place = { host: LOOPBACK, port: lastPort ?? (await findFreePort()) };
    // Only pg_ctl can shed an administrator's rights there.
    const options = `-c config_file="${await writeSettings(home, place)}"`;
    const args = ["start", "-W", "-D", home.data, "-l", outputFile, "-o", options];
    const { status, output } = await runAs(undefined, programs.pgCtl, args, home.path);
    return { ...place, findEnd: async () => (status === 0 ? undefined : output.trim()) };
  }
  const place = { host: join(home.path, "run"), port: SOCKET_PORT };
  // Left of a killed server, it names a process number that another process may have by now, and keeps PostgreSQL from
  // starting: numbers come again after a restart of the machine, and of a container nearly always.
  await rm(join(place.host, `.s.PGSQL.${SOCKET_PORT}.lock`), { force: true });
  const settingsFile = await writeSettings(home, place);
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
  return { ...place, findEnd: async () => end && `${end}: ${await readReason(outputFile)}` };
}

/** Stops the server: open transactions are rolled back, and what was committed is on disk. False when it would not stop. */
export async function stopServer(home: Home, programs: Programs): Promise<boolean> {
  for (const mode of ["fast", "immediate"]) {
    const args = ["stop", "-D", home.data, "-m", mode, "-w", "-t", String(FAST_STOP_SECONDS)];
    if ((await runAs(home.account, programs.pgCtl, args, home.path)).status === 0) return true;
  }
  return false;
}

/** Reads `postmaster.pid`; undefined when there is none, or not yet all of it. It may be left of a killed server. */
export async function readPostmaster(data: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
  // Lines: process, data folder, start time, port, socket folder, listen address, shared memory key, status.
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  return pid > 0 && port > 0 ? { pid, port, host: lines[4] || LOOPBACK } : undefined;
}

/**
 * Whether the process named in `postmaster.pid` is a server of these data, not just another process that got the same
 * number later. Only Linux says which process it is; elsewhere a live process is taken for the server.
 */
export async function isServing({ pid }: Postmaster, data: string): Promise<boolean> {
  return process.platform === "linux" ? await worksIn(pid, await realpath(data)) : isAlive(pid);
}

/**
 * Removes a `postmaster.pid` whose process number was given to another process, which would keep PostgreSQL from
 * starting. Left alone while any process still works on the data: the file is PostgreSQL's only trace to it. Linux only.
 */
export async function removeStalePostmaster({ pid }: Postmaster, data: string): Promise<void> {
  // Of one that is dead PostgreSQL sees that for itself.
  if (process.platform !== "linux" || !isAlive(pid)) return;
  const folder = await realpath(data);
  for (const name of await readdir("/proc")) {
    if (/^\d+$/.test(name) && (await worksIn(Number(name), folder))) return;
  }
  await rm(join(data, "postmaster.pid"), { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** PostgreSQL's processes all have their data folder as working folder. */
async function worksIn(pid: number, folder: string): Promise<boolean> {
  return (await readlink(`/proc/${pid}/cwd`).catch(() => undefined)) === folder;
}

/** The settings, written at each start, so that nobody's edits weaken them, in a folder that the server can't write to. */
async function writeSettings(home: Home, place: ServerPlace): Promise<string> {
  const folder = join(home.path, "conf");
  await makePassage(folder);
  const hbaFile = join(folder, "pg_hba.conf");
  const settingsFile = join(folder, "postgresql.conf");
  const access = place.host === LOOPBACK ? `host all all ${LOOPBACK}/32` : "local all all";
  const texts = [
    [hbaFile, `${access} scram-sha-256\n`],
    [settingsFile, encodeSettings(place, join(home.path, "log"), hbaFile)],
  ] as const;
  for (const [path, text] of texts) {
    await writeFile(path, text);
    await chmod(path, 0o644);
  }
  return settingsFile;
}

/**
 * The text of `postgresql.conf`. Durability is spelled out although it is the default: what is committed is forgotten by
 * whoever sent it. Only messages of the server itself are logged (`log_min_messages = log` leaves out ERROR, which quotes
 * the value that a statement choked on), and never a statement or its parameters: they hold personal data.
 */
function encodeSettings({ host, port }: ServerPlace, logDir: string, hbaFile: string): string {
  const isLoopback = host === LOOPBACK;
  const settings: Readonly<Record<string, string>> = {
    listen_addresses: isLoopback ? LOOPBACK : "",
    port: String(port),
    // Folder lists are separated by commas; a name with one must be quoted.
    unix_socket_directories: isLoopback ? "" : `"${host.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    hba_file: hbaFile,
    allow_alter_system: "off",
    password_encryption: "scram-sha-256",

    fsync: "on",
    full_page_writes: "on",
    synchronous_commit: "on",

    max_connections: "200",
    superuser_reserved_connections: "2",
    shared_buffers: "64MB",
    work_mem: "4MB",
    maintenance_work_mem: "64MB",
    min_wal_size: "80MB",
    max_wal_size: "512MB",
    max_wal_senders: "0",
    max_logical_replication_workers: "0",
    max_worker_processes: "2",
    max_parallel_workers: "0",
    max_parallel_workers_per_gather: "0",
    io_method: "sync",
    huge_pages: "off",
    jit: "off",

    timezone: "UTC",
    log_timezone: "UTC",
    lc_messages: "C",

    // A file for each weekday, overwritten a week later.
    logging_collector: "on",
    log_directory: logDir,
    log_filename: "postgres-%a.log",
    log_rotation_age: "1d",
    log_rotation_size: "0",
    log_truncate_on_rotation: "on",
    log_min_messages: "log",
    log_error_verbosity: "terse",
    log_min_error_statement: "panic",
    log_statement: "none",
    log_min_duration_statement: "-1",
    log_parameter_max_length: "0",
    log_parameter_max_length_on_error: "0",
    log_checkpoints: "off",
    debug_print_plan: "off",
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''").replaceAll("\\", "\\\\")}'\n`)
    .join("");
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

async function readReason(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch(() => "");
  const lines = text.trim().split("\n");
  return lines.findLast((line) => line.includes("FATAL")) ?? lines.at(-1) ?? "";
}
