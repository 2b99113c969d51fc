import { execFileSync } from "node:child_process";
import { readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { pino } from "pino";
import { systemClock } from "../../../src/core/clock.ts";
import {
  type EmbeddedConnection,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../../src/ledger/embedded/embedded-postgres.ts";
import { startProcess, type TestProcess } from "../../support/process.ts";
import { makeTestFolder, withFolder } from "../../support/with-folder.ts";

/** A data folder under test, and what was started on it. */
export interface DataDir {
  readonly path: string;
  start(isOwner?: boolean): Promise<EmbeddedPostgres>;
  /** The same in a process of its own, see `server-process.ts`. */
  startProcess(role?: "owner"): TestProcess;
  /** The process number of the server, from its own note. */
  serverPid(): Promise<number>;
}

/** Gives a test a data folder that doesn't exist yet; ends afterwards whatever was started on it, and removes it. */
export async function withFreshDataDir<T>(test: (dataDir: DataDir) => Promise<T>): Promise<T> {
  return await withOpenDataDir("data", async (dataDir) => await test(dataDir));
}

/** The same with a database that was made already, which takes a copy instead of a second. */
export async function withDataDir<T>(test: (dataDir: DataDir) => Promise<T>, name = "data"): Promise<T> {
  template ??= shareDataDir().then(async (made) => {
    await made.server.stop();
    return made;
  });
  const { dataDir: made } = await template;
  return await withOpenDataDir(name, async (dataDir) => {
    // Keeps owners and rights, which Node's own copy doesn't.
    execFileSync("cp", ["-a", made.path, dataDir.path]);
    return await test(dataDir);
  });
}

/** Made once in a worker, whose files share it; it goes with the folder of the run. */
let template: ReturnType<typeof shareDataDir> | undefined;

async function withOpenDataDir<T>(name: string, test: (dataDir: DataDir) => Promise<T>): Promise<T> {
  return await withFolder(async (folder) => {
    const { dataDir, end } = openDataDir(join(folder, name));
    try {
      return await test(dataDir);
    } finally {
      await end();
    }
  });
}

/** One data folder with a running server for tests that only look at it; `end` belongs in `afterAll`. */
export async function shareDataDir(): Promise<{
  dataDir: DataDir;
  server: EmbeddedPostgres;
  end: () => Promise<void>;
}> {
  const folder = await makeTestFolder();
  const { dataDir, end } = openDataDir(join(folder, "data"));
  const server = await dataDir.start();
  return {
    dataDir,
    server,
    end: async () => {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function openDataDir(path: string): { dataDir: DataDir; end: () => Promise<void> } {
  const servers: EmbeddedPostgres[] = [];
  const processes: TestProcess[] = [];
  const serverPid = async () =>
    Number((await readFile(join(path, "postgres/data/postmaster.pid"), "utf8")).split("\n")[0]);
  const dataDir: DataDir = {
    path,
    serverPid,
    start: async (isOwner = false) => {
      const server = await startEmbeddedPostgres({ dataDir: path, clock: systemClock, logger, isOwner });
      servers.push(server);
      return server;
    },
    startProcess: (role) => {
      const started = startProcess(process.execPath, [SERVER_PROCESS, path, ...(role ? [role] : [])]);
      processes.push(started);
      return started;
    },
  };
  const end = async () => {
    for (const started of processes) await started.end("SIGKILL");
    for (const server of servers) await server.stop();
    await serverPid()
      .then((leftPid) => process.kill(leftPid, "SIGKILL"))
      .catch(() => undefined);
    const home = await realpath(join(path, "postgres")).catch(() => path);
    // Programs of a killed process may still write for a moment.
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
  };
  return { dataDir, end };
}

/** Runs one statement on a connection of its own. */
export async function query<Row extends object>(connection: EmbeddedConnection, sql: string): Promise<Row[]> {
  const client = new Client(connection);
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

const SERVER_PROCESS = join(import.meta.dirname, "server-process.ts");
const logger = pino({ level: "silent" });
