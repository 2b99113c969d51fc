import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, type StatsFs, writeFileSync } from "node:fs";
import { appendFile, chmod, mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import { systemClock } from "../../src/core/clock.ts";
import {
  type EmbeddedConnection,
  startEmbeddedPostgres,
} from "../../src/ledger/embedded/embedded-postgres.ts";
import { createLedgerTemplate, type FreshLedger } from "./ledger-template.ts";
import { removeRunFolder } from "./run-folder.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The run's own database server. */
    postgres: EmbeddedConnection;
    freshLedger: FreshLedger;
    /** A data folder with an embedded database as its first start makes it, and no server. */
    unusedDataDir: string;
    /** Lines of what the machine lacked, written by `machineHas`. */
    leftOutFile: string;
  }
}

/**
 * Starts one embedded server for the whole run, and removes it with all its data at the end. The run's folder is also the
 * place of all temporary files of the tests.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await makeRunFolder();
  // Root's server runs under another account, which has to get through.
  await chmod(folder, 0o711);
  process.env.TMPDIR = folder;
  // Daemons and commands that tests start load in half the time.
  process.env.NODE_COMPILE_CACHE = join(folder, "compile-cache");
  const dataDir = join(folder, "data");
  const start = () =>
    startEmbeddedPostgres({
      dataDir,
      clock: systemClock,
      logger: pino({ level: "error" }, pino.destination(2)),
    });
  await (await start()).stop();
  const unusedDataDir = join(folder, "unused");
  execFileSync("cp", ["-a", dataDir, unusedDataDir]);
  await makeFast(dataDir);
  const server = await start();
  await makePasswordsFast(server.connection);
  const leftOutFile = join(folder, "left-out");
  project.provide("postgres", server.connection);
  project.provide("freshLedger", await createLedgerTemplate(server.connection));
  project.provide("unusedDataDir", unusedDataDir);
  project.provide("leftOutFile", leftOutFile);
  return async () => {
    await server.stop();
    printLeftOut(leftOutFile);
    await removeRunFolder(folder);
  };
}

/** A file system in memory. */
const MEMORY = "/dev/shm";
/** What a run fills at most, with room to spare. */
const ROOM_BYTES = 3 * 1024 ** 3;

/**
 * Makes the run's folder: in memory where there is room, else at the usual place. Tests make and remove a hundred thousand
 * files, which on a disk takes half of the time of all processors. Those about the disk mount one of their own.
 */
async function makeRunFolder(): Promise<string> {
  const make = (place: string) => mkdtemp(join(place, "cryobridge-"));
  const { bavail = 0, bsize = 0 } = await statfs(MEMORY).catch(() => ({}) as Partial<StatsFs>);
  const folder = await make(bavail * bsize >= ROOM_BYTES ? MEMORY : tmpdir()).catch(() => make(tmpdir()));
  if (!folder.startsWith(MEMORY) || mayRun(folder)) return folder;
  await rm(folder, { recursive: true });
  return await make(tmpdir());
}

/** Tests run programs of their own, which some containers forbid in memory. */
function mayRun(folder: string): boolean {
  const program = join(folder, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
  return spawnSync(program).status === 0;
}

/**
 * Tests of durability start servers of their own; this one need not wait for the disk. Every test connects a few times, so
 * passwords are compared as they are. Tables are analyzed by those tests alone that ask how a query is planned. Daemons ask each
 * second who holds which lock, for which the server goes through its table of predicate locks, which nobody has: the least of it.
 */
async function makeFast(dataDir: string): Promise<void> {
  const data = join(dataDir, "postgres/data");
  const access = join(data, "pg_hba.conf");
  await writeFile(access, "local all all password\nhost all all 127.0.0.1/32 password\n");
  // The program writes a `postgresql.conf` at each start; this file has the last word.
  await appendFile(
    join(data, "postgresql.auto.conf"),
    `fsync = off\nfull_page_writes = off\nautovacuum = off\nmax_connections = 500\nmax_pred_locks_per_transaction = 10\nhba_file = '${access}'\n`,
  );
}

/** A server compares a password by as much work as it was stored with. */
async function makePasswordsFast(connection: EmbeddedConnection): Promise<void> {
  const superuser = new Client({ ...connection, user: "postgres" });
  await superuser.connect();
  await superuser.query("SET scram_iterations = 1");
  for (const role of ["postgres", connection.user]) {
    await superuser.query(`ALTER ROLE ${role} PASSWORD ${superuser.escapeLiteral(connection.password)}`);
  }
  await superuser.end();
}

function printLeftOut(file: string): void {
  if (!existsSync(file)) return;
  const needs = [...new Set(readFileSync(file, "utf8").trim().split("\n"))].sort();
  console.log(`Left out: tests that need ${needs.join(", ")}, which this machine does not have.`);
}
