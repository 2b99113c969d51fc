import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { stringify } from "yaml";
import { type Daemon, startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Logger } from "../../src/core/logger.ts";
import { isTerminal, type OrderState } from "../../src/core/order-state.ts";
import { ROLES } from "../../src/core/role.ts";
import { findOrders, listOrders } from "../../src/ledger/operator/views.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { eventually } from "./eventually.ts";
import { type OpenQueues, queuesInMemory } from "./queues-in-memory.ts";
import { shared } from "./shared.ts";
import { withFolder } from "./with-folder.ts";
import { silent, type TestLedger, withLedger } from "./with-ledger.ts";

/** Parts of the configuration file that a test sets; sections replace those of {@link siteConfig}. */
export type ConfigParts = Readonly<Record<string, unknown>>;

/** A site under test: a lab's folders, a simulated service, a ledger of its own, and a daemon between them. */
export interface Site {
  readonly folder: string;
  readonly configFile: string;
  readonly simulator: Simulator;
  readonly pool: pg.Pool;
  readonly connection: TestLedger["connection"];
  readonly url: string;
  /** Starts a daemon in this process; a second call after its stop starts the next one. */
  start(): Promise<Daemon>;
  /** Drops a file as a well-behaved sender does: written beside, renamed in. */
  drop(connector: "hl7" | "csv", name: string, content: string | Buffer): Promise<void>;
  /** Result files of a connector, by name. */
  results(connector: "hl7" | "csv"): Promise<Map<string, string>>;
  orders(): Promise<LedgerOrder[]>;
  /** Waits until there are at least `count` orders and all of them are in one of these states (by default: at their end). */
  waitForOrders(count: number, states?: readonly OrderState[], withinMs?: number): Promise<LedgerOrder[]>;
  /** Waits until the order of this number is in one of these states; the first of the number, unless a test tells which. */
  waitForOrder(
    number: string,
    states: readonly OrderState[],
    isMeant?: (order: LedgerOrder) => boolean,
  ): Promise<LedgerOrder>;
}

export interface SiteOptions {
  readonly simulator?: SimulatorOptions;
  readonly config?: ConfigParts;
  readonly logger?: Logger;
  /** Where the daemons have their queues: in memory unless a test is about the real ones. */
  readonly queues?: "in memory" | "as configured";
}

/** A session learns its tables and plans its statements anew, which costs more than most of what a test has it do. */
export const CONNECTIONS = 4;

/** A configuration with short times. */
export function siteConfig(folder: string, serviceUrl: string, databaseUrl: string): Record<string, unknown> {
  return {
    dataDir: join(folder, "data"),
    service: {
      baseUrl: serviceUrl,
      auth: {
        tokenUrl: `${serviceUrl}/oauth/token`,
        clientId: "cryobridge",
        clientSecret: "simulator-secret",
      },
      timeout: "5s",
      maxRequestsPerSecond: 2_000,
      polling: { first: "100ms", max: "400ms", factor: 1.5 },
      reconcile: { checks: ["50ms", "150ms"], giveUpAfter: "6s" },
    },
    facilities: { NORTH: 12, SOUTH: 13 },
    connectors: [
      {
        name: "hl7",
        type: "hl7-drop",
        directory: join(folder, "hl7"),
        stableFor: "50ms",
        scanInterval: "500ms",
      },
      {
        name: "csv",
        type: "csv-drop",
        directory: join(folder, "csv"),
        stableFor: "50ms",
        scanInterval: "500ms",
        resultsEvery: "200ms",
      },
    ],
    database: { url: databaseUrl },
    console: { port: 0 },
  };
}

const QUICK: SimulatorOptions = {
  staff: { auto: true, reviewAfterMs: [50, 150], acceptanceRate: 1 },
  device: { auto: true, startAfterMs: [20, 50], runMs: [50, 150], failureRate: 0 },
};

/** Gives a test a site of its own, with the simulator running, and takes it away afterwards. */
export async function withSite<T>(options: SiteOptions, test: (site: Site) => Promise<T>): Promise<T> {
  return withFolder((folder) =>
    withLedger(async ({ pool, connection, url }) => {
      const simulator = await createSimulator({ port: 0, ...QUICK, ...options.simulator });
      const configFile = join(folder, "cryobridge.yaml");
      const config = {
        ...siteConfig(folder, simulator.url, url),
        ...merged(options.config ?? {}, siteConfig(folder, simulator.url, url)),
      };
      await writeFile(configFile, stringify(config), { mode: 0o600 });
      const daemons: Daemon[] = [];
      const openQueues: OpenQueues | undefined =
        options.queues === "as configured" ? undefined : queuesInMemory();
      const orders = () => listOrders(pool, { limit: 20_000 });
      const site: Site = {
        folder,
        configFile,
        simulator,
        pool,
        connection,
        url,
        orders,
        start: async () => {
          const read = () => loadConfig(configFile, { env: {}, profileSchema });
          const daemon = await startDaemon(read(), {
            readAgain: read,
            roles: new Set(ROLES),
            logger: options.logger ?? silent,
            openQueues,
            connections: CONNECTIONS,
            onFatal: (failure) => {
              throw failure;
            },
          });
          daemons.push(daemon);
          return daemon;
        },
        drop: async (connector, name, content) => {
          const inbox = join(folder, connector, "in");
          await mkdir(inbox, { recursive: true });
          const beside = join(folder, `.${name}.part`);
          await writeFile(beside, content);
          await rename(beside, join(inbox, name));
        },
        results: async (connector) => {
          const outbox = join(folder, connector, "out");
          const names = (await readdir(outbox)).filter((name) => !name.startsWith(".")).sort();
          return new Map(
            await Promise.all(
              names.map(async (name) => [name, await readFile(join(outbox, name), "utf8")] as const),
            ),
          );
        },
        waitForOrders: async (count, states, withinMs) => {
          const isThere = ({ state }: Pick<LedgerOrder, "state">) =>
            states ? states.includes(state) : isTerminal(state);
          const look = async () => {
            // A hundred looks at the whole orders would keep the processors from what is waited for.
            const { rows } = await pool.query<{ state: OrderState }>("select state from orders");
            if (rows.length < count || !rows.every(isThere)) return undefined;
            const found = await orders();
            return found.every(isThere) && found;
          };
          try {
            return await eventually(look, withinMs === undefined ? {} : { withinMs });
          } catch (error) {
            throw new Error(`not at their end: ${describeOrders(await orders())}`, { cause: error });
          }
        },
        waitForOrder: (number, states, isMeant = () => true) =>
          eventually(
            async () => {
              const sql = "select 1 from orders where placer_order_number = $1 and state = any($2)";
              if ((await pool.query(sql, [number, [...states]])).rowCount === 0) return undefined;
              const order = (await findOrders(pool, number)).find(isMeant);
              return order && states.includes(order.state) ? order : undefined;
            },
            { what: `order ${number} in ${states.join(" or ")}` },
          ),
      };
      try {
        return await test(site);
      } finally {
        for (const daemon of daemons) await daemon.stop();
        await simulator.close();
      }
    }),
  );
}

/**
 * Gives the tests of a file, or of a block, one site whose daemon runs: what a start costs is paid once. They run at the same time, and
 * know what is theirs by numbers, subjects and labels that no other has.
 */
export function sharedSite(options: SiteOptions = {}): () => Site {
  return shared((use) =>
    withSite(options, async (site) => {
      await site.start();
      await use(site);
    }),
  );
}

/** `3 of 62 completed, 59 submitted (…)`: what a failed wait found. */
function describeOrders(orders: readonly LedgerOrder[]): string {
  const groups = Map.groupBy(
    orders,
    ({ state, failure }) => `${state}${failure ? ` (${failure.code}: ${failure.text})` : ""}`,
  );
  return [...groups].map(([words, group]) => `${group.length} ${words}`).join(", ") || "no orders";
}

/** Tables that a test names are merged into those of the base, so that it can set a single key; an `apiToken` replaces all of `auth`. */
function merged(parts: ConfigParts, base: Record<string, unknown>): Record<string, unknown> {
  const isTable = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  return Object.fromEntries(
    Object.entries(parts).map(([key, value]) => {
      const under = base[key];
      const isMerged = isTable(value) && isTable(under) && !("apiToken" in value);
      return [key, isMerged ? { ...under, ...merged(value, under) } : value];
    }),
  );
}
