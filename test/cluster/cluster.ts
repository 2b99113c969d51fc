import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { pino } from "pino";
import { stringify } from "yaml";
import { openPool } from "../../src/ledger/database.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import type { Account } from "../support/account.ts";
import { type CuttableLink, openLink } from "../support/cuttable-link.ts";
import { findPort } from "../support/find-port.ts";
import { type LabFolder, openLabFolder } from "../support/lab-folder.ts";
import type { PlannedOrder } from "../support/lab-load.ts";
import { findProgram } from "../support/needs.ts";
import { startRedis, type TestRedis } from "../support/redis-server.ts";
import { waitForEnd } from "../support/wait-for-end.ts";
import { siteConfig } from "../support/with-daemon.ts";
import { withFolder } from "../support/with-folder.ts";
import { type ClusterDaemon, type DaemonPlace, startClusterDaemon } from "./daemon.ts";
import { type ClusterPostgres, startPostgres } from "./postgres.ts";

/** Several daemons on one ledger, beside a simulated service and the servers that they share. */
export interface Cluster {
  readonly daemons: readonly ClusterDaemon[];
  readonly postgres: ClusterPostgres;
  /** Undefined where the queue is in PostgreSQL. */
  readonly redis: TestRedis | undefined;
  /** In this process. `close` and `listen` take it down and up. */
  readonly simulator: Simulator;
  /** A look at the ledger, with connections of its own that come back after an outage. */
  readonly pool: pg.Pool;
  /** Drops files and reads results, of `hl7`, `csv` and (results only) `mllp`. */
  readonly lab: LabFolder;
  readonly folders: {
    /** What the others lie in. */
    readonly all: string;
    readonly hl7: string;
    readonly csv: string;
    /** Results of messages that came by MLLP, to whichever daemon: `out` in it. */
    readonly mllp: string;
  };
  /** Waits until every planned order is at its end and reported to the lab, or gives what is missing by then. */
  waitForEnd(planned: readonly PlannedOrder[], withinMs: number): Promise<Account>;
  /** Stops everything in the order in which work flows; the folder stays. A second call changes nothing. */
  stop(): Promise<void>;
}

export interface ClusterOptions {
  /** How many daemons. */
  readonly workers: number;
  /** Where the job queue is; `postgres` unless set. */
  readonly queue?: "postgres" | "redis" | undefined;
  /** A folder that is empty or not there. Every account must get through to it, since root's database runs under another. */
  readonly folder: string;
  /** Of the first daemon's console; the others' count on. Free ones unless set. */
  readonly port?: number | undefined;
  readonly simulator?: SimulatorOptions | undefined;
  /**
   * Keys of the section `service`, beside those of `siteConfig`, which has short times: a call that is frozen for longer than
   * `reconcile.giveUpAfter` may reach the service after it was given up.
   */
  readonly service?: Readonly<Record<string, unknown>> | undefined;
  /** Keys of the section `console` beside the port. */
  readonly console?: Readonly<Record<string, unknown>> | undefined;
  /** Whole sections of each daemon's configuration, which may name the port that is its own. */
  readonly config?:
    | ((daemon: { readonly mllpPort: number }) => Readonly<Record<string, unknown>>)
    | undefined;
  /** Puts something between the daemons and the simulator; gives its URL. */
  readonly front?:
    | ((simulatorUrl: string) => Promise<{ readonly url: string; close(): Promise<void> }>)
    | undefined;
  /** Whether each daemon reaches the ledger and the service by networks of its own, that can be cut; and its clock can jump. */
  readonly isHarmful?: boolean | undefined;
  /** Is called when a daemon ends and nobody asked for it here. */
  readonly onEnd?: ((daemon: string, why: string) => void) | undefined;
}

/**
 * Starts a cluster, and resolves once every daemon takes orders in. All share the drop folders; each has a data folder, a
 * console, an MLLP port and a name of its own.
 *
 * @throws Error with what is in the way; everything that was started is stopped again.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { folder, workers, queue = "postgres" } = options;
  if (queue === "redis" && !findProgram("redis-server"))
    throw new Error(
      "redis-server is not installed. Hint: install the package redis-server, or take --queue postgres",
    );
  /** Later parts are closed first. */
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    const failures: unknown[] = [];
    for (const close of closers.splice(0).reverse())
      await close().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw new AggregateError(failures, "a part of the cluster could not be stopped");
  };
  const opened = <T>(part: T, close: (part: T) => Promise<unknown>): T => {
    closers.push(() => close(part));
    return part;
  };
  try {
    await mkdir(folder, { recursive: true });
    const postgres = opened(await startPostgres(join(folder, "server")), (part) => part.stop());
    const redis = queue === "redis" ? opened(await startRedis(), (part) => part.crash()) : undefined;
    const simulator = opened(await createSimulator({ ...options.simulator, port: 0 }), (part) =>
      part.close(),
    );
    const front = options.front && opened(await options.front(simulator.url), (part) => part.close());
    const pool = opened(openLook(postgres), (part) => part.end());
    const shared = {
      serviceUrl: front?.url ?? simulator.url,
      databaseUrl: postgres.url,
      queue: redis ? { backend: "redis", url: redis.url } : { backend: "postgres" },
    };
    const daemons: ClusterDaemon[] = [];
    closers.push(() => Promise.all(daemons.map((daemon) => daemon.stop())));
    const allStarted: Promise<void>[] = [];
    for (let index = 0; index < workers; index++) {
      const links = options.isHarmful ? await openLinks(postgres, simulator, closers) : undefined;
      const place = await layDaemon(options, { ...shared, ...links?.urls }, index, links);
      const { daemon, started } = startClusterDaemon(place, (why) => options.onEnd?.(place.name, why));
      daemons.push(daemon);
      allStarted.push(started);
    }
    await Promise.all(allStarted);
    const [hl7, csv, mllp] = ["hl7", "csv", "mllp"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const folders = { all: folder, hl7, csv, mllp };
    const lab = openLabFolder(folder);
    return {
      ...{ daemons, postgres, redis, simulator, pool, lab, folders, stop },
      waitForEnd: (planned, withinMs) => waitForEnd({ pool, simulator, lab }, planned, withinMs),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function openLook({ connection }: ClusterPostgres): pg.Pool {
  const silent = pino({ level: "silent" });
  return openPool({ connection, schema: "cryobridge", max: 4, applicationName: "cluster-look" }, silent);
}

interface Shared {
  readonly serviceUrl: string;
  readonly databaseUrl: string;
  readonly queue: Readonly<Record<string, unknown>>;
}

interface Links {
  readonly ledger: CuttableLink;
  readonly service: CuttableLink;
  readonly urls: Pick<Shared, "serviceUrl" | "databaseUrl">;
}

/** Networks of one daemon's own. */
async function openLinks(
  postgres: ClusterPostgres,
  simulator: Simulator,
  closers: (() => Promise<unknown>)[],
): Promise<Links> {
  const through = async (url: string) => {
    const there = new URL(url);
    const link = await openLink(Number(there.port));
    closers.push(() => link.close());
    there.port = String(link.port);
    there.hostname = "127.0.0.1";
    return [link, there.href.replace(/\/$/, "")] as const;
  };
  const [ledger, databaseUrl] = await through(postgres.url);
  const [service, serviceUrl] = await through(simulator.url);
  return { ledger, service, urls: { databaseUrl, serviceUrl } };
}

/** Writes a daemon's configuration. */
async function layDaemon(
  options: ClusterOptions,
  shared: Shared,
  index: number,
  links: Links | undefined,
): Promise<DaemonPlace> {
  const { folder } = options;
  const name = `worker-${index + 1}`;
  const home = join(folder, name);
  const mllpPort = await findPort();
  const consolePort = options.port === undefined ? await findPort() : options.port + index;
  const base = siteConfig(folder, shared.serviceUrl, shared.databaseUrl);
  const mllp = {
    name: "mllp",
    type: "mllp",
    listen: { port: mllpPort },
    results: { directory: join(folder, "mllp/out") },
  };
  const sections = options.config?.({ mllpPort }) ?? {};
  const config = {
    ...base,
    dataDir: join(home, "data"),
    connectors: [...(base.connectors as readonly object[]), mllp],
    service: { ...(base.service as object), ...options.service },
    queue: shared.queue,
    console: { port: consolePort, ...options.console },
    log: { level: "info", pretty: false },
    ...sections,
    worker: { name, ...(sections.worker as object | undefined) },
  };
  await mkdir(home, { recursive: true });
  const configFile = join(home, "cryobridge.yaml");
  await writeFile(configFile, stringify(config), { mode: 0o600 });
  return {
    ...{ name, configFile, mllpPort, dataDir: config.dataDir, logFile: join(home, "daemon.log") },
    consoleUrl: `http://127.0.0.1:${consolePort}`,
    links: links && { ledger: links.ledger, service: links.service },
  };
}

/** Gives a test a cluster in a folder of its own, and takes both away afterwards. */
export async function withCluster<T>(
  options: Omit<ClusterOptions, "folder">,
  test: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  return await withFolder(async (folder) => {
    const cluster = await startCluster({ ...options, folder });
    try {
      return await test(cluster);
    } finally {
      await cluster.stop();
    }
  });
}
