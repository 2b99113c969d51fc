import { constants } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { type Clock, systemClock } from "../../core/clock.ts";
import { codeOf, Failure } from "../../core/failures.ts";
import { syncFolder } from "../../core/make-folders.ts";
import { ROLES, type Role } from "../../core/role.ts";
import { FILE_WITHIN_MS, LATE, within } from "../../core/within.ts";

/** What stands in the file beside the data: how far which ledger had come when calls last left. */
export interface EpochRecord {
  /** The ledger's instance code. */
  readonly ledger: string;
  readonly epoch: number;
  /** How often the ledger was found to be an older copy. */
  readonly restores: number;
  /** When the ledger was made. */
  readonly since: Date;
}

const form = z.object({
  ledger: z.string(),
  epoch: z.int().nonnegative(),
  restores: z.int().nonnegative(),
  since: z.iso.datetime().transform((text) => new Date(text)),
});

/** The file that a daemon keeps: each process has its own, so that none writes an older number over a newer one. */
export function epochFileOf(epochFile: string, roles: ReadonlySet<Role>): string {
  return roles.has("worker") ? epochFile : `${epochFile}.${roles.has("intake") ? "intake" : "console"}`;
}

/** What the files of a machine's daemons say. */
interface EpochFiles {
  /** What a worker's says; undefined where there is none. */
  readonly worker: EpochRecord | undefined;
  /** What each says that there is. */
  readonly all: readonly EpochRecord[];
}

/**
 * Reads the files of all daemons that a machine may have. That of one which submits nothing says nothing where it is damaged.
 *
 * @param mayLackWorkers whether a worker's that is damaged says nothing, either: it is no reason to take no orders
 * @throws Failure LEDGER_EPOCH_UNUSABLE for a worker's otherwise
 */
export async function readEpochFiles(
  epochFile: string,
  {
    clock,
    mayLackWorkers = false,
  }: { readonly clock?: Pick<Clock, "sleep"> | undefined; readonly mayLackWorkers?: boolean } = {},
): Promise<EpochFiles> {
  const found = await Promise.all(
    ROLES.map((role) => {
      const read = readEpochFile(epochFileOf(epochFile, new Set([role])), clock);
      return role === "worker" && !mayLackWorkers ? read : read.catch(() => undefined);
    }),
  );
  return { worker: found[ROLES.indexOf("worker")], all: found.filter((each) => each !== undefined) };
}

/** More than that is no file of ours. */
const MOST_BYTES = 4_096;

/**
 * Reads the file.
 * @returns undefined where there is none
 * @throws Failure LEDGER_EPOCH_UNUSABLE when it can't be read, hangs, or holds something else
 */
export async function readEpochFile(
  file: string,
  clock: Pick<Clock, "sleep"> = systemClock,
): Promise<EpochRecord | undefined> {
  let text: string | typeof LATE | undefined;
  try {
    text = await within(readSmall(file), FILE_WITHIN_MS, clock);
  } catch (error) {
    throw unusable(file, "can't be read", error);
  }
  if (text === LATE) throw silent(file);
  if (text === undefined) return undefined;
  try {
    return form.parse(JSON.parse(text));
  } catch (error) {
    throw unusable(file, "holds something else than the ledger's epoch", error);
  }
}

/** Records are padded to this, so that a shorter one leaves nothing of a longer one behind it; within one sector of a disk. */
const RECORD_BYTES = 256;

/**
 * For everybody to read: an account that may use an external ledger has to compare it before it decides about orders, whether or not it is the
 * daemon's. What stands there is no secret: two numbers, a time, and the ledger's code, which each lab reads in its control ids. Who may not
 * get through to it is refused rather than let on unseeing.
 */
const FILE_MODE = 0o644;

/**
 * Writes the record over the former one. After a power cut the file may have an earlier record, which is as good as
 * this one unless the ledger is restored from a copy of that very moment; so only a new file is flushed.
 *
 * @throws Failure LEDGER_EPOCH_UNUSABLE
 */
export async function writeEpochFile(
  file: string,
  record: EpochRecord,
  { isFirst }: { readonly isFirst: boolean },
): Promise<void> {
  try {
    const text = JSON.stringify(record);
    // Nothing is written that its reader would refuse: the daemon would not start again.
    form.parse(JSON.parse(text));
    const handle = await open(
      file,
      constants.O_WRONLY | constants.O_CREAT | (constants.O_NONBLOCK ?? 0),
      FILE_MODE,
    );
    try {
      // Whatever our umask; one that somebody else has put there is theirs to give free.
      if (isFirst) await handle.chmod(FILE_MODE).catch(() => undefined);
      await handle.write(`${text.padEnd(RECORD_BYTES - 1)}\n`, 0);
      if (isFirst) await handle.sync();
    } finally {
      await handle.close();
    }
    if (isFirst) await syncFolder(path.dirname(file));
  } catch (error) {
    throw unusable(file, "can't be written", error);
  }
}

/** A pipe that somebody has put there must not hold up the start. */
async function readSmall(file: string): Promise<string | undefined> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(
    (error: unknown) => {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    },
  );
  if (!handle) return undefined;
  try {
    if (!(await handle.stat()).isFile()) return "";
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** The failure for a file that takes longer than {@link FILE_WITHIN_MS}. */
export function silent(file: string): Failure {
  return new Failure("LEDGER_EPOCH_UNUSABLE", {
    message: `the ledger's epoch file ${file} does not answer`,
    hint: "Bring back the server whose disk it lies on, or mount that again.",
  });
}

function unusable(file: string, what: string, cause: unknown): Failure {
  const code = codeOf(cause);
  return new Failure("LEDGER_EPOCH_UNUSABLE", {
    message: `the ledger's epoch file ${file} ${what}${code === undefined ? "" : ` (${code})`}`,
    cause,
  });
}
