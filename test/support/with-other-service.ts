import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { isTerminal } from "../../src/core/order-state.ts";
import { ROLES } from "../../src/core/role.ts";
import type { Surface } from "../../src/core/surface.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { eventually } from "./eventually.ts";
import { openLabFolder } from "./lab-folder.ts";
import type { Organization, OtherService } from "./other-services/other-service.ts";
import { queuesInMemory } from "./queues-in-memory.ts";
import { CONNECTIONS, siteConfig } from "./with-daemon.ts";
import { withFolder } from "./with-folder.ts";
import { silent, withLedger } from "./with-ledger.ts";

/** A lab of one organisation at somebody else's service, with its daemon running. */
export interface OtherSite {
  readonly configFile: string;
  /** The same before its first start, with a database that is yet to be made. */
  readonly freshConfigFile: string;
  drop(connector: "hl7" | "csv", name: string, content: string): Promise<void>;
  /** What was sent to the lab, by connector: the text of all result files. */
  sent(connector: "hl7" | "csv"): Promise<string>;
  /** Waits until there are at least `count` orders, each at its end or parked. */
  ended(count: number, withinMs?: number): Promise<LedgerOrder[]>;
}

export interface OtherSiteOptions {
  readonly organization: Organization;
  readonly surface: Surface;
  /** The surface of the facility SOUTH, when it is another. */
  readonly south?: Surface;
  /** `configured`: the site wrote down what the service's manual says. `discovered`: nothing but address and credentials. */
  readonly knowledge: "configured" | "discovered";
  /** Further keys of `service`, which go before all others. */
  readonly service?: Readonly<Record<string, unknown>>;
}

/** Gives a test such a site, and takes it away afterwards. */
export async function withOtherSite<T>(
  service: OtherService,
  { organization, surface, knowledge, south = surface, service: further }: OtherSiteOptions,
  test: (site: OtherSite) => Promise<T>,
): Promise<T> {
  return withFolder((folder) =>
    withLedger(async ({ pool, url }) => {
      const configFile = join(folder, "cryobridge.yaml");
      const base = siteConfig(folder, service.baseUrl, url);
      const config = {
        ...base,
        facilities: { ...service.facilities, SOUTH: { id: service.facilities.SOUTH, surface: south } },
        service: {
          baseUrl: service.baseUrl,
          surface,
          ...service.credentials(organization),
          ...(knowledge === "configured" ? service.manual(surface) : service.knownBeforehand),
          maxRequestsPerSecond: 2_000,
          polling: { first: "100ms", max: "400ms", factor: 1.5 },
          ...further,
        },
      };
      await writeFile(configFile, stringify(config), { mode: 0o600 });
      const freshConfigFile = join(folder, "fresh.yaml");
      const dataDir = join(folder, "fresh");
      await writeFile(freshConfigFile, stringify({ ...config, dataDir, database: undefined }), {
        mode: 0o600,
      });
      const loaded = loadConfig(configFile, { env: {}, profileSchema });
      const onFatal = (failure: unknown) => {
        throw failure;
      };
      const daemon = await startDaemon(loaded, {
        ...{ roles: new Set(ROLES), logger: silent, onFatal },
        ...{ openQueues: queuesInMemory(), connections: CONNECTIONS },
      });
      const lab = openLabFolder(folder);
      try {
        return await test({
          configFile,
          freshConfigFile,
          drop: lab.drop,
          sent: async (connector) => {
            const out = join(folder, connector, "out");
            const names = (await readdir(out)).filter((name) => !name.startsWith(".")).sort();
            return (await Promise.all(names.map((name) => readFile(join(out, name), "utf8")))).join("");
          },
          ended: async (count, withinMs) => {
            let found: LedgerOrder[] = [];
            const look = async () => {
              found = await listOrders(pool, { limit: 1_000 });
              const isOver = ({ state }: LedgerOrder) => isTerminal(state) || state === "parked";
              return found.length >= count && found.every(isOver) ? found : undefined;
            };
            return eventually(look, withinMs === undefined ? {} : { withinMs }).catch((error: unknown) => {
              const words = found.map(({ placerOrderNumber, state, failure, calls, remoteStatus }) =>
                [
                  placerOrderNumber,
                  state,
                  failure?.code,
                  failure?.text,
                  calls.at(-1)?.outcome,
                  remoteStatus,
                ].join(" "),
              );
              throw new Error(`not at their end:\n${words.join("\n")}\n${service.misshapen.join("\n")}`, {
                cause: error,
              });
            });
          },
        });
      } finally {
        await daemon.stop();
      }
    }),
  );
}
