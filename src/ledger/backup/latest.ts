import type pg from "pg";
import { list } from "../database.ts";

/** The last backup of a ledger, by its audit. */
interface LatestBackup {
  /** When it was written, or put in, since then there was one; undefined where none ever was. */
  readonly at: Date | undefined;
  /** How old it is, or the ledger where there is none, ms. By the database's clock alone. */
  readonly ageMs: number;
}

/** Index: audit_target. */
const LATEST = `
select b.at, (extract(epoch from now() - coalesce(b.at, l.created_at)) * 1000)::float8 as "ageMs"
  from ledger l
  left join lateral (select a.at
                       from audit a
                      where a.target = 'ledger'
                        and a.action in ('backup-written', 'restore')
                      order by a.id desc
                      limit 1) b on true`;

/** When the ledger was last backed up. @throws Failure LEDGER_… */
export async function findLatestBackup(pool: pg.Pool): Promise<LatestBackup> {
  const [found] = await list<{ at: Date | null; ageMs: number }>(pool, LATEST);
  if (!found) throw new RangeError("the ledger has no identity; its migrations did not run");
  return { at: found.at ?? undefined, ageMs: found.ageMs };
}
