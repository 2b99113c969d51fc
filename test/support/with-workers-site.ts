import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { stringify } from "yaml";
import { systemClock } from "../../src/core/clock.ts";
import { openPool } from "../../src/ledger/database.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { type Account, account, isAtItsEnd } from "./account.ts";
import { type ChildDaemon, startChildDaemon } from "./child-daemon.ts";
import { type CuttableLink, openLink } from "./cuttable-link.ts";
import { type LabFolder, openLabFolder } from "./lab-folder.ts";
import type { PlannedOrder } from "./lab-load.ts";
import { startTestServer, type TestServer } from "./test-server.ts";
import { siteConfig } from "./with-daemon.ts";
import { withFolder } from "./with-folder.ts";
import { silent } from "./with-ledger.ts";

/** A machine of a site: one daemon, in a process of its own, with networks of its own. */
export interface Machine {
  readonly name: string;
  /** To the database, and to the service. */
  readonly links: { readonly ledger: CuttableLink; readonly service: CuttableLink };
  readonly daemon: ChildDaemon | undefined;
  readonly logFile: string;
  start(): ChildDaemon;
  /** Stops its processes where they are, as a machine that hangs. */
  freeze(): void;
  thaw(): void;
  /** Has its wall clock jump. */
  jump(): void;
}

/** A lab whose folders several daemons watch, on one ledger. */
export interface WorkersSite {
  readonly simulator: Simulator;
  readonly server: TestServer;
  readonly pool: pg.Pool;
  readonly lab: LabFolder;
  readonly machines: readonly Machine[];
  /** Waits until every planned order is at its end and reported to the lab, or gives what is missing by then. */
  waitForEnd(planned: readonly PlannedOrder[], withinMs: number): Promise<Account>;
}

export interface WorkersSiteOptions {
  readonly workers: number;
  readonly simulator?: SimulatorOptions;
  /** Keys of the section `service` of the configuration. */
  readonly service?: Readonly<Record<string, unknown>>;
  /** Whole sections of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

const CLOCK = new URL("./jumping-clock.mjs", import.meta.url);

/** Gives a test such a site and takes it away afterwards. No daemon is started. */
export async function withWorkersSite<T>(
  options: WorkersSiteOptions,
  test: (site: WorkersSite) => Promise<T>,
): Promise<T> {
  return await withFolder(async (folder) => {
    const server = await startTestServer(join(folder, "server"));
    const simulator = await createSimulator({ ...options.simulator, port: 0 });
    const settings = { connection: server.connection, schema: "cryobridge", max: 4, applicationName: "test" };
    const pool = openPool(settings, silent);
    const machines: Machine[] = [];
    const closers: (() => Promise<unknown>)[] = [];
    try {
      for (let n = 1; n <= options.workers; n += 1) {
        const machine = await makeMachine(folder, `m${n}`, { server, simulator, options });
        machines.push(machine);
        closers.push(async () => {
          machine.thaw();
          await machine.daemon?.end("SIGKILL");
          await machine.links.ledger.close();
          await machine.links.service.close();
        });
      }
      const lab = openLabFolder(folder);
      const waitForEnd = waiting({ pool, simulator, lab });
      return await test({ simulator, server, pool, lab, machines, waitForEnd });
    } catch (error) {
      const words = await Promise.all(machines.map(({ logFile }) => lastWords(logFile)));
      throw new Error(`${error instanceof Error ? error.message : error}\n${words.join("\n\n")}`, {
        cause: error,
      });
    } finally {
      for (const close of closers) await close();
      await pool.end();
      await simulator.close();
      await server.remove();
    }
  });
}

async function makeMachine(
  folder: string,
  name: string,
  {
    server,
    simulator,
    options,
  }: {
    readonly server: TestServer;
    readonly simulator: Simulator;
    readonly options: WorkersSiteOptions;
  },
): Promise<Machine> {
  const { host, port, user, password, database } = server.connection;
  const ledger = await openLink(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { port });
  const service = await openLink({ port: Number(new URL(simulator.url).port) });
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  const databaseUrl = `postgres://${login}@127.0.0.1:${ledger.port}/${database}`;
  const base = siteConfig(folder, `http://127.0.0.1:${service.port}`, databaseUrl);
  const configFile = join(folder, `${name}.yaml`);
  const logFile = join(folder, `${name}.log`);
  const config = {
    ...base,
    dataDir: join(folder, name),
    worker: { name },
    service: { ...(base.service as object), ...options.service },
    log: { level: "info", pretty: false },
    ...options.config,
  };
  await writeFile(configFile, stringify(config), { mode: 0o600 });
  let daemon: ChildDaemon | undefined;
  const signal = (word: NodeJS.Signals) => {
    if (daemon && !daemon.hasEnded) process.kill(daemon.pid, word);
  };
  return {
    name,
    links: { ledger, service },
    logFile,
    get daemon() {
      return daemon;
    },
    start: () => {
      daemon = startChildDaemon(configFile, logFile, [], `--import ${CLOCK.href}`);
      return daemon;
    },
    freeze: () => signal("SIGSTOP"),
    thaw: () => signal("SIGCONT"),
    jump: () => signal("SIGUSR2"),
  };
}

function waiting({ pool, simulator, lab }: Pick<WorkersSite, "pool" | "simulator" | "lab">) {
  return async (planned: readonly PlannedOrder[], withinMs: number): Promise<Account> => {
    const endsAt = performance.now() + withinMs;
    for (;;) {
      const ledger = await listOrders(pool, { limit: 100_000 });
      const isOver = performance.now() > endsAt;
      if (isOver || (ledger.length >= planned.length && ledger.every(isAtItsEnd))) {
        const [hl7Results, csvResults] = await Promise.all([lab.read("hl7", "out"), lab.read("csv", "out")]);
        const found = account({ planned, ledger, simulator, hl7Results, csvResults });
        if (isOver || found.unreported.length === 0) return found;
      }
      await systemClock.sleep(250);
    }
  };
}

async function lastWords(logFile: string): Promise<string> {
  const text = await readFile(logFile, "utf8").catch(() => "");
  return `${logFile}:\n${text.trim().split("\n").slice(-10).join("\n")}`;
}
