import { readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import { list } from "../database.ts";
import { readBackup, readBackupHead } from "./file.ts";

/** What a backup that was killed left behind. */
const PART = /\.[0-9a-f]{8}\.part$/;
/** One that was written to within this time may still be written, ms. */
const PART_DONE_MS = 86_400_000;

/**
 * Removes backups of a ledger that were made before a moment, and what killed ones left, so that there is room for the next one. The
 * last good backup stays, however old it is, and all that are newer; where none is good, all stay.
 *
 * @returns the files that were removed
 * @throws Failure CLI_BACKUP_UNWRITABLE when the folder can't be read, or a file not be removed
 */
export async function removeOldBackups(
  folder: string,
  { ledger, before }: { readonly ledger: string; readonly before: Date },
): Promise<string[]> {
  try {
    const files = (await readdir(folder, { withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ name }) => path.join(folder, name));
    const old = [...(await findOld(files, ledger, before)), ...(await findParts(files))];
    for (const file of old) await rm(file, { force: true });
    return old;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof Failure || code === undefined) throw error;
    throw new Failure("CLI_BACKUP_UNWRITABLE", {
      message: `old backups in ${folder} can't be removed (${code})`,
      cause: error,
    });
  }
}

async function findOld(files: readonly string[], ledger: string, before: Date): Promise<string[]> {
  const backups: { file: string; madeAt: number }[] = [];
  for (const file of files) {
    if (PART.test(file)) continue;
    const head = await readBackupHead(file);
    if (head?.ledger === ledger) backups.push({ file, madeAt: Date.parse(head.madeAt) });
  }
  backups.sort((a, b) => b.madeAt - a.madeAt);
  if (!backups.some(({ madeAt }) => madeAt < before.getTime())) return [];
  for (const [at, { file }] of backups.entries()) {
    if (!(await isGood(file))) continue;
    return backups
      .slice(at + 1)
      .filter(({ madeAt }) => madeAt < before.getTime())
      .map((each) => each.file);
  }
  return [];
}

async function isGood(file: string): Promise<boolean> {
  try {
    await readBackup(file);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

async function findParts(files: readonly string[]): Promise<string[]> {
  const parts: string[] = [];
  for (const file of files) {
    if (!PART.test(file)) continue;
    const { mtimeMs } = await stat(file);
    if (Date.now() - mtimeMs > PART_DONE_MS) parts.push(file);
  }
  return parts;
}

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
