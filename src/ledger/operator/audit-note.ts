import { readFile, rename, writeFile } from "node:fs/promises";
import type pg from "pg";
import { z } from "zod";
import { list } from "../database.ts";
import { unusable } from "../embedded/home.ts";
import type { AuditFault } from "./audit-chain.ts";

/*
 * A chain shows what was changed or removed within it, and not that its end was cut off. So the daemon keeps number and hash of
 * the last entry in a file beside the data folder.
 */

const note = z.object({
  /** The ledger's instance code. */
  ledger: z.string(),
  /** How often the ledger was found to be an older copy: one that was restored has rightly lost its latest entries. */
  restores: z.int().nonnegative(),
  number: z.int().nonnegative(),
  hash: z.string(),
});
type AuditNote = z.infer<typeof note>;

/** The end of the chain, and whose it is. Index: the primary key of audit_chain. */
const END = `
select l.instance_code as ledger, l.restores, coalesce(c.number, 0) as number, coalesce(encode(c.hash, 'hex'), '') as hash
  from ledger l
  left join lateral (select number, hash from audit_chain order by number desc limit 1) c on true`;

/** $1 number. Index: the primary key of audit_chain. */
const HASH = "select encode(hash, 'hex') as hash from audit_chain where number = $1";

/** Where the end of a ledger's audit is noted. @param epochFile the file that no restore puts back */
export function auditNoteFile(epochFile: string): string {
  return `${epochFile}.audit`;
}

/**
 * What the note shows of the audit: that its end was cut off, or made anew. Nothing where there is no note, or it is of another
 * ledger, or from before a restore.
 *
 * @throws Failure LEDGER_FOLDER_UNUSABLE when the note is there and can't be read
 */
export async function findNoteFault(pool: pg.Pool, file: string): Promise<AuditFault | undefined> {
  const noted = await readNote(file);
  return noted && compare(pool, noted, await findEnd(pool));
}

/** The same, and notes the present end where there is no such fault. @throws Failure LEDGER_FOLDER_UNUSABLE */
export async function noteAuditEnd(pool: pg.Pool, file: string): Promise<AuditFault | undefined> {
  const noted = await readNote(file);
  const end = await findEnd(pool);
  const fault = noted && (await compare(pool, noted, end));
  if (fault) return fault;
  if (JSON.stringify(noted) === JSON.stringify(end)) return undefined;
  try {
    await writeFile(`${file}.part`, `${JSON.stringify(end)}\n`, { mode: 0o640, flush: true });
    await rename(`${file}.part`, file);
  } catch (error) {
    throw unusable(file, error);
  }
  return undefined;
}

async function compare(pool: pg.Pool, noted: AuditNote, end: AuditNote): Promise<AuditFault | undefined> {
  const { ledger, restores, number, hash } = noted;
  if (ledger !== end.ledger || restores !== end.restores || number === 0) return undefined;
  const [found] = await list<{ hash: string }>(pool, HASH, [number]);
  if (found?.hash === hash) return undefined;
  if (found) return { number, why: "it has another hash than the daemon noted" };
  return { number, why: "it was removed after the daemon noted it" };
}

async function findEnd(pool: pg.Pool): Promise<AuditNote> {
  const [end] = await list<AuditNote>(pool, END, []);
  if (!end) throw new RangeError("the ledger has no identity; its migrations did not run");
  return end;
}

/** A note that holds something else counts as none: it is written anew. */
async function readNote(file: string): Promise<AuditNote | undefined> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw unusable(file, error);
  });
  try {
    return note.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
