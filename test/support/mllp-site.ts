import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { parse, stringify } from "yaml";
import type { ChildDaemon } from "./child-daemon.ts";
import { findPort } from "./find-port.ts";
import { type ChildSite, type ChildSiteOptions, withChildSite, withPool } from "./with-child-site.ts";

/** A site that takes orders by MLLP, with a ledger of its own. */
export interface MllpSite extends ChildSite {
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
}

/** Gives a test such a site; see {@link withChildSite}. */
export async function withMllpSite<T>(
  test: (site: MllpSite) => Promise<T>,
  options: Pick<ChildSiteOptions, "disk"> = {},
): Promise<T> {
  const [port, consolePort] = [await findPort(), await findPort()];
  const config = { connectors: [mllpConnector("hl7", port)], console: { port: consolePort } };
  return await withChildSite({ ...options, config }, (site) =>
    test({
      ...site,
      port,
      consoleUrl: `http://127.0.0.1:${consolePort}`,
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
    }),
  );
}

/** A connector as the configuration has it, with results in a folder. */
export function mllpConnector(name: string, port: number): object {
  return { name, type: "mllp", listen: { port }, results: { directory: "results" } };
}
