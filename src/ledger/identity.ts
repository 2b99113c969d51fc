import type pg from "pg";
import { run } from "./database.ts";

/** The key of this ledger's correlation tokens. */
export async function findLedgerSecret(pool: pg.Pool): Promise<Buffer> {
  const [row] = await run<{ secret: Buffer }>(pool, "select secret from ledger");
  if (!row) throw new RangeError("the ledger has no identity; its migrations did not run");
  return row.secret;
}
