import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { stringify } from "yaml";
import { Configuration } from "../../src/app/configuration.ts";
import { openIntake } from "../../src/app/intake.ts";
import { compileProfiles } from "../../src/app/profiles.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Accepted, IncomingMessage, Intake, Peer } from "../../src/core/intake.ts";
import { phi } from "../../src/core/phi.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { at } from "./places.ts";
import { siteConfig } from "./with-daemon.ts";
import { withFolder } from "./with-folder.ts";
import { silent, type TestLedger, withLedger } from "./with-ledger.ts";

/** A way in over connections, without a listener in front of it. */
export interface TestIntake extends Intake {
  /** Hands over one HL7 message as a listener does, over a connection of its own unless one is given. */
  take(text: string, peer?: Peer): Promise<Accepted[]>;
}

/** A ledger with one or several ways in to it, each as a daemon of its own has it; the connector is `hl7`. */
export interface Intakes extends TestLedger {
  /**
   * @param connector keys of the connector's configuration
   * @param pool where it writes to; the ledger unless given
   * @param sections further sections of the configuration
   */
  open(
    connector?: Readonly<Record<string, unknown>>,
    pool?: pg.Pool,
    sections?: Readonly<Record<string, unknown>>,
  ): Promise<TestIntake>;
}

/** Gives a test such a ledger. */
export async function withIntakes(test: (intakes: Intakes) => Promise<void>): Promise<void> {
  await withFolder((folder) =>
    withLedger(async ({ pool, url, connection: database }) => {
      let opened = 0;
      const open: Intakes["open"] = async (more = {}, own = pool, sections = {}) => {
        const connector = { name: "hl7", type: "mllp", listen: { port: 0 }, results: { directory: "./out" } };
        opened += 1;
        const file = join(folder, `${opened}.yaml`);
        const whole = {
          ...siteConfig(folder, "http://127.0.0.1:1", url),
          ...sections,
          connectors: [{ ...connector, ...more }],
        };
        await writeFile(file, stringify(whole), { mode: 0o600 });
        const config = loadConfig(file, { env: {}, profileSchema });
        const profiles = await compileProfiles(config);
        const intake = await openIntake(new Configuration({ config, profiles }), {
          pool: own,
          worker: { id: 1, isSure: true },
          clock: systemClock,
          logger: silent,
          onCommitted: () => undefined,
        });
        const take = (text: string, peer: Peer = { address: "10.0.0.9" }) =>
          intake.accept({ connector: "hl7", peer }, [incoming(text)]);
        return { ...intake, take };
      };
      await test({ pool, url, connection: database, open });
    }),
  );
}

/** An HL7 message as a listener hands it over. */
export function incoming(text: string, ordinal = 1): IncomingMessage {
  const content = { kind: "hl7", text: phi(text), encoding: "utf-8" } as const;
  return { ordinal, place: at(`message ${ordinal}`), raw: phi(Buffer.from(text)), content };
}
