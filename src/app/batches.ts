import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { BatchFileDeps } from "../jobs/intake/batch-response.ts";
import { findInstanceCode } from "../ledger/identity.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import { profileOf } from "./connectors.ts";

/** The connectors whose profile wants the batches of files answered as a whole. */
export async function openBatches(
  config: Config,
  profiles: ReadonlyMap<string, Profile>,
  pool: pg.Pool,
): Promise<BatchFileDeps> {
  const settings = config.connectors.flatMap((connector) => {
    if (connector.type !== "hl7-drop") return [];
    const profile = profileOf(connector, profiles);
    const response = profile.results.batchResponse ?? "none";
    if (profile.format !== "hl7" || response === "none") return [];
    return [[connector.name, { profile, response }] as const];
  });
  return { instanceCode: await findInstanceCode(pool), settingsByConnector: new Map(settings) };
}
