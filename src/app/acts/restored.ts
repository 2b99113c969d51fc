import type pg from "pg";
import type { Act } from "../../ledger/operator/audit.ts";
import { liftRestored } from "../../ledger/restored/restore.ts";
import type { Acted } from "../../operator/acts.ts";

/** Decides that nothing more is compared with the service on account of a restore of the ledger. */
export async function releaseAfterRestore(pool: pg.Pool, act: Act): Promise<Acted> {
  const uncompared = await liftRestored(pool, act);
  if (uncompared === undefined)
    return [false, "the ledger is not known to have been restored; nothing was done"];
  const rest = uncompared === 0 ? "" : ` (${uncompared} were not compared)`;
  return [true, `nothing more is compared with the service on account of the restore${rest}; orders go on`];
}
