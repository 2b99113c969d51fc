import type pg from "pg";
import type { Act } from "../../ledger/operator/audit.ts";
import { countMayBeThere, liftRestored } from "../../ledger/restored/restore.ts";
import type { Acted } from "../../operator/acts.ts";

/** Decides that nothing more is compared with the service on account of a restore of the ledger. */
export async function releaseAfterRestore(pool: pg.Pool, act: Act): Promise<Acted> {
  const uncompared = await liftRestored(pool, act);
  if (uncompared === undefined)
    return [false, "the ledger is not known to have been restored; nothing was done"];
  const waiting = await countMayBeThere(pool);
  const orders = waiting === 1 ? "1 parked order waits" : `${waiting} parked orders wait`;
  const parked =
    waiting === 0
      ? ""
      : `; ${orders} for a person since the service may have the request: link each by \`cryobridge orders resolve\` before it is tried again, and discard none whose containers are stored`;
  const rest = uncompared === 0 ? "" : ` (${uncompared} were not compared)`;
  return [
    true,
    `nothing more is compared with the service on account of the restore${rest}; orders go on${parked}`,
  ];
}
