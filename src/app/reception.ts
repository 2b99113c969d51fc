import { join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import type { MessageVerdict } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import { createReception, type ReceptionSettings, type RunningReception } from "../jobs/receive.ts";
import { findInstanceCode } from "../ledger/identity.ts";
import type { StoredMessage } from "../ledger/views.ts";
import type { Mapper } from "../mapping/mapper.ts";
import type { Profile } from "../mapping/profile.ts";
import { profileOf } from "./connectors.ts";
import type { OpenLedger } from "./open-ledger.ts";
import { toIncoming } from "./stored-message.ts";

export interface ReceptionParts {
  readonly ledger: Pick<OpenLedger, "pool" | "isEmbedded">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly mapperByConnector: ReadonlyMap<string, Mapper>;
  readonly onCommitted: (connector: string, verdicts: readonly MessageVerdict[]) => void;
}

/** The way in of the configured connectors that receive over connections. */
export async function openReception(config: Config, parts: ReceptionParts): Promise<RunningReception> {
  const { profiles, mapperByConnector, ledger, ...deps } = parts;
  const { pool } = ledger;
  const settingsByConnector = new Map(
    config.connectors.flatMap((connector): [string, ReceptionSettings][] => {
      const mapper = mapperByConnector.get(connector.name);
      if (connector.type !== "mllp" || !mapper) return [];
      const profile = profileOf(connector, profiles);
      if (profile.format !== "hl7") return [];
      const { applicationAck, reusedControlId, answers: form } = connector;
      const readAgain = (stored: StoredMessage) => toIncoming(stored, connector, profile);
      return [[connector.name, { mapper, profile, form, applicationAck, reusedControlId, readAgain }]];
    }),
  );
  return createReception({
    ...deps,
    pool,
    instanceCode: await findInstanceCode(pool),
    settingsByConnector,
    journals: {
      // With the database, so that both are on one disk and in one backup.
      folder: join(config.dataDir, "postgres", "journal"),
      // A ledger on another machine is to have a message before it is answered: this disk is none that people back up.
      areUsed: ledger.isEmbedded,
    },
  });
}
