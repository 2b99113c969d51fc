import { readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { stringify } from "yaml";
import { systemClock } from "../../src/core/clock.ts";
import { openPool } from "../../src/ledger/database.ts";
import { startEmbeddedPostgres } from "../../src/ledger/embedded/embedded-postgres.ts";
import { isServing, readPostmaster } from "../../src/ledger/embedded/server.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import type { Account } from "./account.ts";
import { type ChildDaemon, startChildDaemon } from "./child-daemon.ts";
import { eventually } from "./eventually.ts";
import { type LabFolder, openLabFolder } from "./lab-folder.ts";
import type { PlannedOrder } from "./lab-load.ts";
import { layDatabase } from "./test-server.ts";
import { waitForEnd } from "./wait-for-end.ts";
import { withFolder } from "./with-folder.ts";

/** A site whose daemon is a process of its own with its embedded database, so that it can be killed. */
export interface ChildSite {
  readonly folder: string;
  readonly dataDir: string;
  readonly simulator: Simulator;
  readonly lab: LabFolder;
  readonly logFile: string;
  /** Starts the daemon, with further words of the command line; only one at a time. */
  start(words?: readonly string[]): ChildDaemon;
  /** Orders as the ledger has them, by way of the daemon's own server. Needs a daemon that runs. */
  orders(): Promise<LedgerOrder[]>;
  /** Waits until every planned order is at its end and reported to the lab, or gives what is missing by then. */
  waitForEnd(planned: readonly PlannedOrder[], withinMs: number): Promise<Account>;
}

export interface ChildSiteOptions {
  readonly simulator?: SimulatorOptions;
  /** Keys of the section `service` of the configuration. */
  readonly service?: Readonly<Record<string, unknown>>;
  /** Whole sections of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Where the data and the lab's folders are; beside the configuration unless set. */
  readonly disk?: string;
  /** Puts something between the daemon and the simulator. */
  readonly front?: (simulatorUrl: string) => Promise<Front>;
}

/** What stands between the daemon and the simulator. */
export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

const silent = pino({ level: "silent" });

/** Gives a test such a site and takes it away afterwards: the daemon, its server, all data. */
export async function withChildSite<T>(
  options: ChildSiteOptions,
  test: (site: ChildSite) => Promise<T>,
): Promise<T> {
  return await withFolder(async (folder) => {
    const simulator = await createSimulator({ ...options.simulator, port: 0 });
    const front = await options.front?.(simulator.url);
    const configFile = join(folder, "cryobridge.yaml");
    const disk = options.disk ?? folder;
    const dataDir = join(disk, "data");
    const logFile = join(folder, "daemon.log");
    await writeFile(configFile, stringify(childConfig(disk, front?.url ?? simulator.url, options)), {
      mode: 0o600,
    });
    // On a disk whose power is cut the program itself makes its database, and flushes it.
    if (options.disk === undefined) await layDatabase(dataDir);
    const lab = openLabFolder(disk);
    const daemons: ChildDaemon[] = [];
    const orders = () => withPool(dataDir, async (pool) => await listOrders(pool, { limit: 100_000 }));
    const site: ChildSite = {
      folder,
      dataDir,
      simulator,
      lab,
      logFile,
      orders,
      start: (words = []) => {
        const daemon = startChildDaemon(configFile, logFile, words);
        daemons.push(daemon);
        return daemon;
      },
      waitForEnd: (planned, withinMs) =>
        withPool(dataDir, (pool) => waitForEnd({ pool, simulator, lab }, planned, withinMs)),
    };
    try {
      return await test(site);
    } catch (error) {
      throw new Error(
        `${error instanceof Error ? error.message : error}\nThe daemon's last words:\n${await lastWords(logFile)}`,
        {
          cause: error,
        },
      );
    } finally {
      for (const daemon of daemons) await daemon.end("SIGKILL");
      await front?.close();
      await simulator.close();
      await removeServer(dataDir);
    }
  });
}

/** A configuration with short times, on the embedded database. */
function childConfig(disk: string, serviceUrl: string, options: ChildSiteOptions): unknown {
  const drop = { stableFor: "50ms", scanInterval: "500ms" };
  return {
    dataDir: join(disk, "data"),
    service: {
      baseUrl: serviceUrl,
      auth: {
        tokenUrl: `${serviceUrl}/oauth/token`,
        clientId: "cryobridge",
        clientSecret: "simulator-secret",
      },
      timeout: "1s",
      maxRequestsPerSecond: 2_000,
      polling: { first: "200ms", max: "1s", factor: 1.5 },
      reconcile: { checks: ["200ms", "1s"], giveUpAfter: "4s" },
      ...options.service,
    },
    facilities: { NORTH: 12, SOUTH: 13 },
    connectors: [
      { name: "hl7", type: "hl7-drop", directory: join(disk, "hl7"), ...drop },
      { name: "csv", type: "csv-drop", directory: join(disk, "csv"), ...drop, resultsEvery: "500ms" },
    ],
    console: { port: 0 },
    log: { level: "info", pretty: false },
    ...options.config,
  };
}

/**
 * Joins the server that the daemon runs, which starts some programs: to look again and again is the work of one pool.
 */
export async function withPool<T>(
  dataDir: string,
  work: (pool: ReturnType<typeof openPool>) => Promise<T>,
): Promise<T> {
  const server = await startEmbeddedPostgres({ dataDir, logger: silent, clock: systemClock });
  const { connection } = server;
  const pool = openPool({ connection, schema: "cryobridge", max: 2, applicationName: "test" }, silent);
  try {
    return await work(pool);
  } finally {
    await pool.end();
    await server.stop();
  }
}

async function lastWords(logFile: string): Promise<string> {
  const text = await readFile(logFile, "utf8").catch(() => "");
  return text.trim().split("\n").slice(-15).join("\n");
}

/** A killed daemon leaves its server behind; its data are removed, too. */
async function removeServer(dataDir: string): Promise<void> {
  const home = await endServer(dataDir);
  if (home !== undefined) await rm(home, { recursive: true, force: true, maxRetries: 10 });
}

/** Ends the server of a killed daemon, without a word; gives its folder. */
export async function endServer(dataDir: string): Promise<string | undefined> {
  const pid = await findServer(dataDir);
  if (pid !== undefined) {
    process.kill(pid, "SIGQUIT");
    const isOver = async () => (await findServer(dataDir)) === undefined;
    await eventually(isOver, { what: "the end of the database server" });
  }
  return await realpath(join(dataDir, "postgres")).catch(() => undefined);
}

/** The process number of the server of these data; undefined when none runs. */
export async function findServer(dataDir: string): Promise<number | undefined> {
  const data = join(dataDir, "postgres/data");
  const postmaster = await readPostmaster(data);
  return postmaster && (await isServing(postmaster, data)) ? postmaster.pid : undefined;
}
