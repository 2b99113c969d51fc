import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import type { ConfigParts } from "../support/with-daemon.ts";

/** The folder of the example labs. */
export const LABS_FOLDER = join(import.meta.dirname, "../../config/labs");

type Section = Readonly<Record<string, unknown>>;

/** An example lab: its configuration, and its files. */
export interface ExampleLab {
  /**
   * Its configuration as parts of a site's: with the folders, addresses, credentials and times of the site and of `changes`,
   * and otherwise as it is shipped.
   */
  config(changes: { readonly service?: Section; readonly connector: Section }): ConfigParts;
  /** A file of its profile tests. */
  sample(name: string): Promise<Buffer>;
}

/** Settings of `service` and its `auth` that a site has its own of, since the example's service is nowhere. */
const OF_THE_SITE = ["baseUrl", "ca", "tokenUrl", "clientId", "clientSecret"];
const asShipped = (section: Section) =>
  Object.fromEntries(Object.entries(section).filter(([key]) => !OF_THE_SITE.includes(key)));

export async function readLab(name: string): Promise<ExampleLab> {
  const folder = join(LABS_FOLDER, name);
  const { service, facilities, connectors } = parse(await readFile(join(folder, "cryobridge.yaml"), "utf8"));
  const [connector] = connectors;
  return {
    config: (changes) => ({
      profilesDir: join(folder, "profiles"),
      facilities,
      service: {
        ...asShipped(service),
        ...changes.service,
        auth: { ...asShipped(service.auth), ...(changes.service?.auth as Section | undefined) },
      },
      connectors: [{ ...connector, ...changes.connector }],
    }),
    sample: (file) => readFile(join(folder, "profile-tests", connector.name, file)),
  };
}
