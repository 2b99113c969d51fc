import { existsSync, readFileSync } from "node:fs";
import { appendFile, chmod, mkdtemp, realpath, rm } from "node:fs/promises";
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
import { createLedgerTemplate } from "./ledger-template.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The run's own database server. */
    postgres: EmbeddedConnection;
    /** Lines of what the machine lacked, written by `machineHas`. */
    leftOutFile: string;
  }
}

/** Starts one embedded server for the whole run, and removes it with all its data at the end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "cryobridge-test-"));
  // Root's server runs under another account, which has to get through.
  await chmod(folder, 0o711);
  // Daemons and commands that tests start load in half the time.
  process.env.NODE_COMPILE_CACHE = join(folder, "compile-cache");
  const dataDir = join(folder, "data");
  const server = await startEmbeddedPostgres({
    dataDir,
    clock: systemClock,
    logger: pino({ level: "error" }, pino.destination(2)),
  });
  await makeFast(dataDir, server.connection);
  await createLedgerTemplate(server.connection);
  const leftOutFile = join(folder, "left-out");
  project.provide("postgres", server.connection);
  project.provide("leftOutFile", leftOutFile);
  return async () => {
    await server.stop();
    printLeftOut(leftOutFile);
    await rm(await realpath(join(dataDir, "postgres")), { recursive: true, force: true });
    // A daemon that is just ending may still write what it compiled.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
}

/** Tests of durability start servers of their own; this one need not wait for the disk. */
async function makeFast(dataDir: string, connection: EmbeddedConnection): Promise<void> {
  await appendFile(join(dataDir, "postgres/conf/postgresql.conf"), "fsync = off\nfull_page_writes = off\n");
  const superuser = new Client({ ...connection, user: "postgres" });
  await superuser.connect();
  await superuser.query("SELECT pg_reload_conf()");
  await superuser.end();
}

function printLeftOut(file: string): void {
  if (!existsSync(file)) return;
  const needs = [...new Set(readFileSync(file, "utf8").trim().split("\n"))].sort();
  console.log(`Left out: tests that need ${needs.join(", ")}, which this machine does not have.`);
}
