import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { BackupHead } from "../ledger/backup/file.ts";
import { loadBackup } from "../ledger/backup/restore.ts";
import { inTransaction, openPool } from "../ledger/database.ts";
import { startEmbeddedPostgres } from "../ledger/embedded/embedded-postgres.ts";
import { migrateLedger } from "../ledger/migrate.ts";
import type { OpenLedger } from "./open-ledger.ts";

/** A backup that was read to its end. */
export interface ReadBackup {
  readonly file: string;
  readonly head: BackupHead;
}

/**
 * Opens a copy of a ledger by this release: starts the embedded server on a data folder of its own, puts a backup in where
 * there is one, and brings the tables up to date.
 *
 * @param dataDir holds a copied database, or is empty and gets the backup
 * @throws Failure LEDGER_…, CLI_BACKUP_UNFIT when this release never had tables like the backup's
 */
export async function openRehearsal(
  dataDir: string,
  backup: ReadBackup | undefined,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<OpenLedger> {
  const embedded = await startEmbeddedPostgres({ dataDir, clock, logger });
  const { connection } = embedded;
  const pool = openPool(
    { connection, schema: "cryobridge", max: 4, applicationName: "cryobridge-rehearsal", mayTakeLong: true },
    logger,
  );
  const close = async () => {
    await pool.end();
    await embedded.stop();
  };
  try {
    if (backup) {
      const { file, head } = backup;
      await migrateLedger(pool, undefined, new Set(Object.keys(head.migrations)));
      await inTransaction(pool, (client) => loadBackup(client, file, head));
    }
    await migrateLedger(pool);
    return { pool, connection, isEmbedded: true, close };
  } catch (error) {
    await close();
    throw error;
  }
}
