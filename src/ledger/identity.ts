import type pg from "pg";
import { run } from "./database.ts";

/** Six characters that tell this ledger from every other. */
export async function findInstanceCode(pool: pg.Pool): Promise<string> {
  const [row] = await run<{ instance_code: string }>(pool, "select instance_code from ledger");
  if (!row) throw new RangeError("the ledger has no identity; its migrations did not run");
  return row.instance_code;
}
