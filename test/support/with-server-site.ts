import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { stringify } from "yaml";
import { type Daemon, startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Failure } from "../../src/core/failures.ts";
import type { Logger } from "../../src/core/logger.ts";
import { ROLES } from "../../src/core/role.ts";
import { openPool } from "../../src/ledger/database.ts";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import type { Account } from "./account.ts";
import { type LabFolder, openLabFolder } from "./lab-folder.ts";
import type { PlannedOrder } from "./lab-load.ts";
import { startTestServer, type TestServer } from "./test-server.ts";
import { waitForEnd } from "./wait-for-end.ts";
import { siteConfig } from "./with-daemon.ts";
import { withFolder } from "./with-folder.ts";
import { silent } from "./with-ledger.ts";

/** A site with a database server that can crash, and daemons in this process. */
export interface ServerSite {
  readonly server: TestServer;
  readonly simulator: Simulator;
  readonly lab: LabFolder;
  /** For looking at the ledger while the server runs. */
  readonly pool: pg.Pool;
  /** Starts a daemon in this process. What ends it for good is in {@link fatal}. */
  start(): Promise<Daemon>;
  readonly fatal: readonly Failure[];
  /** Waits until every planned order is at its end and reported to the lab, or gives what is missing by then. */
  waitForEnd(planned: readonly PlannedOrder[], withinMs: number): Promise<Account>;
}

export interface ServerSiteOptions {
  /** Starts the server below a folder that is the test's; by default one of the packaged PostgreSQL. */
  readonly startServer?: (dataDir: string) => Promise<TestServer>;
  readonly simulator?: SimulatorOptions;
  /** Keys of the section `service` of the configuration. */
  readonly service?: Readonly<Record<string, unknown>>;
  readonly logger?: Logger;
  /** Whole sections of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** Gives a test such a site and takes it away afterwards. */
export async function withServerSite<T>(
  options: ServerSiteOptions,
  test: (site: ServerSite) => Promise<T>,
): Promise<T> {
  return await withFolder(async (folder) => {
    const server = await (options.startServer ?? startTestServer)(join(folder, "server"));
    const simulator = await createSimulator({ ...options.simulator, port: 0 });
    const pool = openPool(
      { connection: server.connection, schema: "cryobridge", max: 4, applicationName: "test" },
      silent,
    );
    const configFile = join(folder, "cryobridge.yaml");
    const base = siteConfig(folder, simulator.url, server.url);
    const service = { ...(base.service as object), ...options.service };
    await writeFile(configFile, stringify({ ...base, service, ...options.config }), { mode: 0o600 });
    const lab = openLabFolder(folder);
    const daemons: Daemon[] = [];
    const fatal: Failure[] = [];
    try {
      await migrateLedger(pool);
      return await test({
        server,
        simulator,
        lab,
        pool,
        fatal,
        start: async () => {
          const config = loadConfig(configFile, { env: {}, profileSchema });
          const onFatal = (failure: Failure) => fatal.push(failure);
          const daemon = await startDaemon(config, {
            roles: new Set(ROLES),
            logger: options.logger ?? silent,
            onFatal,
          });
          daemons.push(daemon);
          return daemon;
        },
        waitForEnd: (planned, withinMs) => waitForEnd({ pool, simulator, lab }, planned, withinMs),
      });
    } finally {
      for (const daemon of daemons) await daemon.stop();
      await pool.end();
      await simulator.close();
      await server.remove();
    }
  });
}
