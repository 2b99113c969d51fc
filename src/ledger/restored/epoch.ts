import type pg from "pg";
import { type Clock, systemClock } from "../../core/clock.ts";
import { asFailure, Failure } from "../../core/failures.ts";
import { FILE_WITHIN_MS, LATE, within } from "../../core/within.ts";
import { checkNewSessions, inTransaction, list, type Queryable } from "../database.ts";
import { type EpochRecord, readEpochFiles, silent, writeEpochFile } from "./epoch-file.ts";

/**
 * How far the ledger has come: a number in it and in a file that no restore of it puts back. The number goes up in the
 * transaction that writes a call down, and is in the file before the call leaves, so that any copy of the ledger that lacks
 * the call is known by its lower number.
 */
export interface Epoch {
  /**
   * Raises the number within the transaction that writes calls down. What it gives is handed to `keep` after the commit.
   *
   * @throws Failure LEDGER_WENT_BACK when the ledger was put back under this process
   */
  raise(client: Queryable): Promise<number>;
  /**
   * Resolves when the file has this number, or a higher one; what is asked for at once shares a write.
   *
   * @throws Failure LEDGER_EPOCH_UNUSABLE
   */
  keep(epoch: number): Promise<void>;
  /** Raises the number by itself and keeps it. @throws Failure those of both, and LEDGER_UNAVAILABLE */
  advance(): Promise<void>;
  /**
   * Begins a look at the ledger, as a heartbeat takes. What the returned function is given then is compared with what was known
   * when the look began, and kept: another worker may raise the number of a ledger that was put back past the one known here.
   *
   * @throws Failure LEDGER_WENT_BACK, by the returned function
   */
  look(): (seen: Pick<EpochRecord, "epoch" | "restores">) => void;
  /** Why the file lacks the number now; undefined while it has it. */
  readonly trouble: Failure | undefined;
}

interface EpochDeps {
  readonly pool: pg.Pool;
  readonly file: string;
  /** As they are in the ledger now. */
  readonly now: EpochRecord;
  readonly clock?: Pick<Clock, "sleep"> | undefined;
  /** The ledger was put back under this process. */
  readonly onWentBack: (failure: Failure) => void;
}

const RAISE = "update ledger set epoch = epoch + 1 returning epoch";

/** Begins to count. */
export function startEpoch({ pool, file, now, clock = systemClock, onWentBack }: EpochDeps): Epoch {
  /** The highest number that was committed for certain, by whichever worker. */
  let committed = now.epoch;
  let restores = now.restores;
  /** The highest number that the file has. */
  let kept = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> | undefined;
  let isFirst = true;
  let trouble: Failure | undefined;

  const raise = async (client: Queryable): Promise<number> => {
    const before = committed;
    const { rows } = await client.query<{ epoch: number }>(RAISE);
    const [row] = rows;
    if (!row) throw new RangeError("the ledger has no identity; its migrations did not run");
    if (row.epoch > before) return row.epoch;
    throw wentBack(`the ledger was at ${before}, and is at ${row.epoch - 1} now`);
  };

  const wentBack = (text: string): Failure => {
    const failure = new Failure("LEDGER_WENT_BACK", text);
    onWentBack(failure);
    return failure;
  };

  const look = () => {
    const before = { epoch: committed, restores };
    return (seen: typeof before) => {
      if (seen.epoch < before.epoch)
        throw wentBack(`the ledger was at ${before.epoch}, and is at ${seen.epoch} now`);
      if (seen.restores < before.restores)
        throw wentBack(`the ledger knew of ${before.restores} restores, and knows of ${seen.restores} now`);
      if (seen.restores > restores) {
        restores = seen.restores;
        kept = Number.NEGATIVE_INFINITY;
      }
      // A file that can't be written is a trouble until it can, and keeps a worker's next call from leaving.
      keep(seen.epoch).catch(() => undefined);
    };
  };

  const write = async () => {
    const epoch = committed;
    try {
      await writeEpochFile(file, { ...now, epoch, restores }, { isFirst });
    } catch (error) {
      trouble = asFailure(error);
      throw trouble;
    }
    isFirst = false;
    kept = epoch;
    trouble = undefined;
  };

  const keep = async (epoch: number): Promise<void> => {
    committed = Math.max(committed, epoch);
    while (kept < epoch) {
      const isMine = writing === undefined;
      writing ??= write().finally(() => {
        writing = undefined;
      });
      // A write that began before this number was known says nothing of it, nor does its failure.
      const written = isMine ? writing : writing.catch(() => undefined);
      // A call that waits for a disk that hangs would wait unseen: it is put off, as by a file that can't be written.
      if ((await within(written, FILE_WITHIN_MS, clock)) !== LATE) continue;
      trouble = silent(file);
      throw trouble;
    }
  };

  return {
    raise,
    keep,
    advance: async () => keep(await inTransaction(pool, raise)),
    look,
    get trouble() {
      return trouble;
    },
  };
}

const LEDGER = "select instance_code as ledger, epoch, restores, created_at as since from ledger";

/** The ledger as its epoch file knows it. */
export async function findLedgerEpoch(client: Queryable): Promise<EpochRecord> {
  const [found] = await list<EpochRecord>(client, LEDGER);
  if (!found) throw new RangeError("the ledger has no identity; its migrations did not run");
  return found;
}

/** How it was noticed that the ledger went back. */
interface WentBack {
  /** For people. */
  readonly text: string;
  /** Since when facts may be missing, where that is earlier than what the ledger knows last. */
  readonly forgottenSince?: Date | undefined;
}

/**
 * Compares a ledger with the file beside it. Before a call leaves, the number is raised in the ledger first and in the file
 * then: a ledger with a lower number than the file's lacks what was committed since. One with a higher number has merely
 * outlived its file, by a crash between the two. One that was found to be an older copy since the file was written has been seen
 * to by another worker: what the file knows of it was before that.
 *
 * @param file undefined where there is none: a ledger that made calls had one
 * @param isKnown whether another worker that lives has compared it: then one without a file of this ledger merely comes to it
 */
export function decideWentBack(
  ledger: Pick<EpochRecord, "ledger" | "epoch" | "restores">,
  file: EpochRecord | undefined,
  isKnown: boolean,
): WentBack | undefined {
  if (file === undefined) {
    if (ledger.epoch === 0 || isKnown) return undefined;
    return {
      text: "its epoch file is missing, as on a machine that the ledger was brought to: it may be an older copy",
    };
  }
  if (file.ledger !== ledger.ledger) {
    // Such as of a demonstration that ran on the machine before it came to this ledger.
    if (isKnown) return undefined;
    return {
      text: `its epoch file is that of another ledger (${file.ledger}), which was here before it`,
      forgottenSince: file.since,
    };
  }
  if (file.restores > ledger.restores)
    return { text: `it knows of ${ledger.restores} restores, and its epoch file of ${file.restores}` };
  if (file.restores < ledger.restores || file.epoch <= ledger.epoch) return undefined;
  return { text: `it is at ${ledger.epoch}, and its epoch file at ${file.epoch}` };
}

/** The same by all files of a machine: one of a daemon that was away knows less than another's. What a missing file means, none says. */
export function decideWentBackByAll(
  ledger: Pick<EpochRecord, "ledger" | "epoch" | "restores">,
  files: readonly EpochRecord[],
): WentBack | undefined {
  return files.map((file) => decideWentBack(ledger, file, true)).find((each) => each);
}

/** The highest numbers that are known of a ledger, 0 where none is. */
export function highestOf(
  records: readonly EpochRecord[],
  { ledger }: Pick<EpochRecord, "ledger">,
): Pick<EpochRecord, "epoch" | "restores"> {
  const known = records.filter((each) => each.ledger === ledger);
  return {
    epoch: Math.max(0, ...known.map(({ epoch }) => epoch)),
    restores: Math.max(0, ...known.map(({ restores }) => restores)),
  };
}

/**
 * For what decides about orders beside a daemon: refuses a ledger that an epoch file of this machine shows to be an older copy, now and
 * whenever a session begins. Such a ledger shows orders as not sent that the service has, until a daemon has noticed and compared them.
 * Where there is no file, as on a machine without a daemon, nothing shows it.
 *
 * @throws Failure LEDGER_WENT_BACK, LEDGER_EPOCH_UNUSABLE
 */
export async function requireNoOlderCopy(
  pool: pg.Pool,
  epochFile: string,
  clock: Pick<Clock, "sleep"> = systemClock,
): Promise<void> {
  const check = async (client: Queryable) => {
    // The files first, since the ledger is ahead of them: whatever is raised in between is no sign.
    const { all } = await readEpochFiles(epochFile, { clock });
    const wentBack = decideWentBackByAll(await findLedgerEpoch(client), all);
    if (wentBack === undefined) return;
    throw new Failure("LEDGER_WENT_BACK", {
      message: `the ledger is an older copy: ${wentBack.text}; nothing was done`,
      hint: "Start the daemon, which compares open orders with the service, and do it again once `cryobridge status` says no more of it.",
    });
  };
  checkNewSessions(pool, check);
  await check(pool);
}
