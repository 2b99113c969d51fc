import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { parse, stringify } from "yaml";
import { countArrivals } from "../../src/ledger/arrivals.ts";
import type { ChildDaemon } from "./child-daemon.ts";
import { eventually } from "./eventually.ts";
import { findPort } from "./find-port.ts";
import { type ChildSite, type ChildSiteOptions, withChildSite, withPool } from "./with-child-site.ts";

/** A site that takes orders by MLLP, with a ledger of its own and therefore with a journal. */
export interface JournalSite extends ChildSite {
  /** Where the connector `hl7` listens, the same after each start. */
  readonly port: number;
  /** Where `/status` is. */
  readonly consoleUrl: string;
  /** Starts the daemon without its workers, and waits until it takes orders in. */
  run(): Promise<ChildDaemon>;
  /** Gives the connectors of the configuration, for the next start. */
  configure(connectors: readonly unknown[]): Promise<void>;
  /** A look at the ledger, whether the daemon runs or not. */
  look<T>(work: (pool: pg.Pool) => Promise<T>): Promise<T>;
  log(): Promise<string>;
  /** Where the journal's files are, `<connector>.a` and `<connector>.b`. */
  readonly journalFolder: string;
  /** All bytes of the files of the journal. */
  journal(): Promise<Buffer>;
}

/** Gives a test such a site; see {@link withChildSite}. */
export async function withJournalSite<T>(
  test: (site: JournalSite) => Promise<T>,
  options: Pick<ChildSiteOptions, "disk"> = {},
): Promise<T> {
  const [port, consolePort] = [await findPort(), await findPort()];
  const config = { connectors: [mllpConnector("hl7", port)], console: { port: consolePort } };
  return await withChildSite({ ...options, config }, (site) =>
    test({
      ...site,
      port,
      consoleUrl: `http://127.0.0.1:${consolePort}`,
      journalFolder: journalFolder(site),
      run: async () => {
        const daemon = site.start(["--role", "intake,console"]);
        await daemon.running;
        return daemon;
      },
      configure: async (connectors) => {
        const file = join(site.folder, "cryobridge.yaml");
        const before: object = parse(await readFile(file, "utf8"));
        await writeFile(file, stringify({ ...before, connectors }));
      },
      look: (work) => withPool(site.dataDir, work),
      log: () => readFile(site.logFile, "utf8"),
      journal: async () => {
        const folder = join(site.dataDir, "postgres", "journal");
        const names = await readdir(folder);
        return Buffer.concat(await Promise.all(names.map((name) => readFile(join(folder, name)))));
      },
    }),
  );
}

const journalFolder = ({ dataDir }: Pick<ChildSite, "dataDir">) => join(dataDir, "postgres/journal");

/** A connector as the configuration has it, with results in a folder. */
export function mllpConnector(name: string, port: number): object {
  return { name, type: "mllp", listen: { port }, results: { directory: "told" } };
}

/** What a ledger has, oldest first. */
export interface Taken {
  /** Control ids of messages that are no repeats, without the MSG- in front. */
  readonly messages: readonly string[];
  /** Numbers of orders. */
  readonly orders: readonly string[];
}

/** What the ledger has once there are so many orders, or more, and none is still to be made. */
export async function findTaken(pool: pg.Pool, atLeast: number): Promise<Taken> {
  const list = async (sql: string) =>
    (await pool.query<{ number: string }>(sql)).rows.map(({ number }) => number);
  return await eventually(
    async () => {
      if ((await countArrivals(pool)).length > 0) return undefined;
      const orders = await list("select placer_order_number as number from orders order by id");
      if (orders.length < atLeast) return undefined;
      const messages = await list(
        "select substring(message_control_id from 5) as number from messages where duplicate_of is null order by id",
      );
      return { messages, orders };
    },
    { what: `${atLeast} orders` },
  );
}
