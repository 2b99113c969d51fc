import { access } from "node:fs/promises";
import { join } from "node:path";
import { type OpenLedger, openLedger } from "../app/open-ledger.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { Failure } from "../core/failures.ts";
import { type ProfileDefinition, profileSchema } from "../mapping/profile-schema.ts";
import type { Session } from "./session.ts";

/** The configuration that a session's `--config` names. @throws ConfigFailure with every mistake. */
export function readConfig(session: Session): Config<ProfileDefinition> {
  return loadConfig(session.configFile, { env: session.io.env, profileSchema });
}

/** Whether the embedded database of a configuration was ever made; true for an external one. */
export async function hasLedger(config: Config): Promise<boolean> {
  if (config.database.url) return true;
  return access(join(config.dataDir, "postgres")).then(
    () => true,
    () => false,
  );
}

/**
 * Opens the ledger for one command: joins the server that a daemon runs, or starts it for a moment.
 *
 * @throws Failure CLI_LEDGER_MISSING rather than make a database in a place where no daemon ever ran, and under the
 *   account of whoever typed the command.
 */
export async function withLedger<T>(
  session: Session,
  config: Config,
  work: (ledger: OpenLedger) => Promise<T>,
): Promise<T> {
  if (!(await hasLedger(config))) {
    throw new Failure("CLI_LEDGER_MISSING", `there is no ledger in ${config.dataDir} yet`);
  }
  const { clock, logger } = session;
  const ledger = await openLedger(config, { clock, logger, isDaemon: false });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}
