import { chown, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { openDataDir, openHome, runAs } from "../../src/ledger/embedded/home.ts";
import { OWNER, openPrograms, SUPERUSER } from "../../src/ledger/embedded/programs.ts";
import { type OlderMajor, olderPostgres } from "./needs.ts";
import type { TestServer } from "./test-server.ts";
import { silent } from "./with-ledger.ts";

/**
 * Starts a server of an older PostgreSQL on a folder of its own, with an empty database that a role owns which is no superuser.
 * Guard such tests with `machineHas("PostgreSQL 13")`.
 */
export async function startOlderServer(major: OlderMajor, dataDir: string): Promise<TestServer> {
  const native = olderPostgres(major);
  const home = await openHome(await openDataDir(dataDir));
  const { version } = JSON.parse(await readFile(join(native, "../package.json"), "utf8"));
  const programs = await openPrograms({ native, serverVersion: version, major: `${major}` }, home, silent);
  const run = async (program: string, ...args: string[]) => {
    const { status, output } = await runAs(home.account, program, args, home.path);
    if (status !== 0) throw new Error(`${program} ended with ${status}: ${output}`);
  };
  const host = join(home.path, "run");
  const start = () =>
    run(
      programs.pgCtl,
      ...["start", "-w", "-D", home.data, "-l", join(home.path, "log/server.log")],
      ...["-o", `-F -k ${host} -c listen_addresses=''`],
    );
  const stop = () => run(programs.pgCtl, "stop", "-D", home.data, "-m", "immediate");
  await mkdir(home.data, { mode: 0o700 });
  if (home.account) await chown(home.data, home.account.uid, home.account.gid);
  await run(
    programs.initdb,
    ...["-D", home.data, "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C"],
  );
  await start();
  const admin = new pg.Client({ host, user: SUPERUSER, database: "postgres" });
  await admin.connect();
  await admin.query(`create role ${OWNER} login`);
  await admin.query(`create database ${OWNER} owner ${OWNER}`);
  await admin.end();
  return {
    url: `postgres://${OWNER}@localhost/${OWNER}?host=${encodeURIComponent(host)}`,
    connection: { host, port: 5432, user: OWNER, password: "", database: OWNER, application_name: "test" },
    crash: stop,
    start,
    remove: async () => {
      await stop();
      await rm(home.path, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
