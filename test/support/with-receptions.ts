import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { stringify } from "yaml";
import { createMappers } from "../../src/app/connectors.ts";
import { compileProfiles } from "../../src/app/profiles.ts";
import { openReception } from "../../src/app/reception.ts";
import { loadConfig } from "../../src/config/load.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import type { IncomingMessage, Peer, Received } from "../../src/core/intake.ts";
import { phi } from "../../src/core/phi.ts";
import type { RunningReception } from "../../src/jobs/receive.ts";
import { profileSchema } from "../../src/mapping/profile-schema.ts";
import { siteConfig } from "./with-daemon.ts";
import { withFolder } from "./with-folder.ts";
import { silent, type TestLedger, withLedger } from "./with-ledger.ts";

/** A way in over connections, without a listener in front of it. */
export interface TestReception extends RunningReception {
  /** Hands over one HL7 message as a listener does, over a connection of its own unless one is given. */
  take(text: string, peer?: Peer): Promise<Received[]>;
}

/** A ledger with one or several ways in to it, each as a daemon of its own has it; the connector is `hl7`. */
export interface Receptions extends TestLedger {
  /** Where the journals of those are that have one. */
  readonly journals: string;
  /**
   * @param connector keys of the connector's configuration
   * @param pool where it writes to; the ledger unless given
   * @param site further sections of the configuration, whether there is a journal in front of the ledger, and a clock of
   * the test's own
   */
  open(
    connector?: Readonly<Record<string, unknown>>,
    pool?: pg.Pool,
    site?: {
      readonly hasJournal?: boolean;
      readonly config?: Readonly<Record<string, unknown>>;
      readonly clock?: Clock;
    },
  ): Promise<TestReception>;
}

/** Gives a test such a ledger; all ways in are stopped afterwards. */
export async function withReceptions(test: (receptions: Receptions) => Promise<void>): Promise<void> {
  await withFolder((folder) =>
    withLedger(async ({ pool, url, connection: database }) => {
      const opened: RunningReception[] = [];
      const open: Receptions["open"] = async (
        more = {},
        own = pool,
        { hasJournal = false, config: sections, clock = systemClock } = {},
      ) => {
        const connector = { name: "hl7", type: "mllp", listen: { port: 0 }, results: { directory: "./out" } };
        const file = join(folder, `${opened.length}.yaml`);
        const whole = {
          ...siteConfig(folder, "http://127.0.0.1:1", url),
          ...sections,
          connectors: [{ ...connector, ...more }],
        };
        await writeFile(file, stringify(whole), { mode: 0o600 });
        const config = loadConfig(file, { env: {}, profileSchema });
        const profiles = await compileProfiles(config);
        const reception = await openReception(config, {
          ledger: { pool: own, isEmbedded: hasJournal },
          clock,
          logger: silent,
          profiles,
          mapperByConnector: createMappers(config, profiles),
          onCommitted: () => undefined,
        });
        opened.push(reception);
        const take = (text: string, peer: Peer = { address: "10.0.0.9" }) =>
          reception.receive("hl7", [incoming(text)], peer);
        return { ...reception, take };
      };
      try {
        await test({
          pool,
          url,
          connection: database,
          open,
          journals: join(folder, "data", "postgres", "journal"),
        });
      } finally {
        for (const reception of opened) await reception.stop();
      }
    }),
  );
}

function incoming(text: string): IncomingMessage {
  const content = { kind: "hl7", text: phi(text), encoding: "utf-8" } as const;
  return { ordinal: 1, place: "message 1", raw: phi(Buffer.from(text)), content };
}
