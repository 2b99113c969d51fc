import type pg from "pg";
import type { Config } from "../config/config.ts";

/** What people see and do depends on of the configuration. A daemon's changes when it takes another one over: read it where it is used. */
export type SiteSettings = Pick<
  Config,
  "connectors" | "facilityIdByCode" | "lanes" | "refills" | "alerts" | "tracing"
>;

/** The ledger, and the configuration that it is looked at by. */
export interface Place {
  readonly pool: pg.Pool;
  readonly config: SiteSettings;
}

/** Names of the connectors that are configured. */
export function connectorNames({ connectors }: Pick<Config, "connectors">): string[] {
  return connectors.map(({ name }) => name);
}
