import type pg from "pg";
import { type Config, wayOfFacility } from "../config/config.ts";
import { aboutOn } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { type Condition, condition } from "../core/condition.ts";
import { EVERY_MS } from "../core/every.ts";
import { asFailure, Failure, LASTING } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import type { Role } from "../core/role.ts";
import { WORD } from "../jobs/calls/finds.ts";
import { checkNewSessions } from "../ledger/database.ts";
import {
  decideWentBack,
  decideWentBackByAll,
  type Epoch,
  findLedgerEpoch,
  highestOf,
  startEpoch,
} from "../ledger/restored/epoch.ts";
import { epochFileOf, readEpochFiles } from "../ledger/restored/epoch-file.ts";
import { enterRestored, type NoticedRestore } from "../ledger/restored/restore.ts";
import { findLastCall, findWithoutCall } from "../ledger/restored/without-call.ts";
import type { Membership } from "../ledger/workers/membership.ts";
import { hasAnotherCompared, noteCompared } from "../ledger/workers/roster.ts";
import type { ServiceCalls } from "../service/client.ts";
import { oneAtATime, type SideWork } from "./side-work.ts";

/**
 * Compares the ledger with the epoch files of this machine, before anything else is done with it. A ledger that went back goes on as the
 * older copy that it is. A worker without a file that comes to a ledger which others work with takes their word; a daemon that submits nothing
 * leaves it to workers what a missing file means, and has a file of its own, since it decides about cancellations and may outlive them.
 *
 * @throws Failure LEDGER_EPOCH_UNUSABLE
 */
export async function openEpoch(
  { epochFile }: Pick<Config, "epochFile">,
  deps: {
    readonly pool: pg.Pool;
    readonly logger: Logger;
    readonly clock?: Pick<Clock, "sleep"> | undefined;
    readonly roles: ReadonlySet<Role>;
    /** This one among the workers of the ledger. */
    readonly worker: Pick<Membership, "id">;
    readonly onWentBack: (failure: Failure) => void;
  },
): Promise<Epoch> {
  const { pool, worker, roles } = deps;
  const submits = roles.has("worker");
  // The files first, since the ledger is ahead of them.
  const files = await readEpochFiles(epochFile, { clock: deps.clock, mayLackWorkers: !submits });
  const found = await findLedgerEpoch(pool);
  const wentBack =
    decideWentBackByAll(found, files.all) ??
    (submits ? decideWentBack(found, files.worker, await hasAnotherCompared(pool, worker.id)) : undefined);
  if (wentBack) await enter({ ...wentBack, ...highestOf(files.all, found), after: found.restores }, deps);
  // Before the number goes up: a worker that starts beside this one and has no file yet knows a raised number by it.
  if (submits) await noteCompared(pool, worker.id);
  const counting = startEpoch({
    ...deps,
    file: epochFileOf(epochFile, roles),
    now: await findLedgerEpoch(pool),
  });
  // A copy that was made while nothing worked is known by this start already. Who can't know an older copy must not raise its number past
  // what others know.
  if (submits) await counting.advance();
  // Who puts a ledger back ends its sessions: nothing is written into an older copy before it is known for one.
  checkNewSessions(pool, async (client) => {
    const compare = counting.look();
    compare(await findLedgerEpoch(client));
  });
  return counting;
}

/** That nothing in this daemon's file would show an older copy of the ledger. */
export function epochConditions(
  { trouble }: Pick<Epoch, "trouble">,
  { host, roles }: { readonly host: string; readonly roles: ReadonlySet<Role> },
): Condition[] {
  if (trouble === undefined) return [];
  const submits = roles.has("worker");
  const then = submits
    ? "nothing new is sent to the service meanwhile"
    : "meanwhile this daemon would not notice that the ledger was put back";
  const more = { code: trouble.code, ...(submits && { part: "daemons" as const }) };
  return [condition("daemonTrouble", aboutOn(host, "epoch file"), `${trouble.message}: ${then}`, more)];
}

async function enter(
  noticed: NoticedRestore,
  { pool, logger }: { readonly pool: pg.Pool; readonly logger: Logger },
): Promise<void> {
  const entered = await enterRestored(pool, noticed);
  if (!entered) return;
  logger.warn(
    { why: noticed.text, openOrders: entered.open },
    "the ledger is an older copy (restored): nothing is submitted until each open order was compared with the service",
  );
}

interface RestoredDeps {
  readonly pool: pg.Pool;
  readonly service: ServiceCalls;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly epoch: Epoch;
  /** Whether calls may be made right now: this worker is the leader, and the service is not known to be away. */
  readonly mayCall: () => boolean;
  /** This one among the workers of the ledger. */
  readonly worker: Pick<Membership, "id">;
  /** Something was found or compared, so there may be something to do. */
  readonly onProgress: () => void;
}

const CHECK_AGAIN_MS = 5_000;

/** Keeps a ledger that was restored from an older copy from sending an order twice. */
interface RestoredWatch extends SideWork {
  /**
   * Has the service's newest requests checked, before the first order that is submitted under the worker's number: what was
   * made there by a call that the ledger doesn't know of shows that it went back, though the file beside it went back as well. A
   * worker has another number once its database was restarted, or is another one that may lack the latest commits.
   *
   * @throws Failure LEDGER_WENT_BACK when that was just found; those of the reads while the service can't be read
   */
  requireNewestKnown(): Promise<void>;
}

/** Compares a ledger that may be an older copy with the service. */
export function watchRestored(config: Config, deps: RestoredDeps): RestoredWatch {
  const { clock, logger, pool, epoch, worker } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  /** The worker's number when it was checked, and when it was noted that the ledger is no older copy. */
  let checkedAs: number | undefined;
  let notedAs: number | undefined;
  let checking: Promise<void> | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let countedAt = clock.monotonic();

  const check = async () => {
    checkedAt = clock.monotonic();
    const { id } = worker;
    const { restores: after } = await findLedgerEpoch(pool);
    const text = await findForgottenCall(config, deps, signal);
    if (text !== undefined) {
      await enter({ text, epoch: 0, restores: 0, after }, deps);
      await epoch.advance();
    }
    checkedAs = id;
    deps.onProgress();
    if (text !== undefined)
      throw new Failure(
        "LEDGER_WENT_BACK",
        "the ledger is an older copy: open orders are compared with the service",
      );
  };

  const requireNewestKnown = async () => {
    while (checkedAs !== worker.id) {
      checking ??= check().finally(() => {
        checking = undefined;
      });
      await checking;
    }
  };

  const round = oneAtATime(logger, "the ledger could not be compared with the service", async () => {
    // Also while no calls leave, so that a copy is known by what was sent to the lab since, too; and each worker counts, so that
    // the file of one that had nothing to do shows what the others did.
    if (clock.monotonic() - countedAt >= EVERY_MS.epoch) {
      countedAt = clock.monotonic();
      await epoch.advance();
    }
    const { id } = worker;
    if (notedAs !== id) await noteCompared(pool, id);
    notedAs = id;
    if (!deps.mayCall()) return;
    if (checkedAs !== id && clock.monotonic() - checkedAt >= CHECK_AGAIN_MS) await requireNewestKnown();
  });

  return {
    begin: () => round.begin(),
    requireNewestKnown,
    stop: async () => {
      stopping.abort();
      await round.stop();
    },
  };
}

/** What the service made since the ledger's last call by a call that it doesn't know of, in words; undefined where nothing. */
async function findForgottenCall(
  config: Config,
  { pool, service, logger }: RestoredDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  const since = await findLastCall(pool);
  const hasMarks = config.service.correlation === "token";
  for (const facilityId of new Set(config.facilityIdByCode.values())) {
    const { surface } = wayOfFacility(config, facilityId);
    try {
      const newest = await service.listNewest({ surface, facilityId, since }, signal);
      const found = await findWithoutCall(pool, { facilityId, surface, hasMarks }, newest);
      if (found)
        return `the service has ${WORD[surface]} ${found.id} ${found.why}, and the ledger knows of no such call`;
    } catch (error) {
      const { code, class: kind } = asFailure(error);
      const isForThisFacility = kind === "permanent" || LASTING.has(code);
      if (!isForThisFacility || code === "SERVICE_CREDENTIALS_REFUSED") throw error;
      // A cross-check: a service that doesn't let it be made keeps nobody from working.
      logger.info({ facilityId, code }, "the service's newest requests can't be compared with the ledger");
    }
  }
  return undefined;
}
