import type pg from "pg";
import type { Connector } from "../connectors/connector.ts";
import { untakenOf } from "../console/attention.ts";
import type { ExceededLimit, UntakenRow } from "../console/facts.ts";
import { untakenStatus } from "../console/status.ts";
import { type Trouble, trouble } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { EVERY_MS } from "../core/every.ts";
import type { Logger } from "../core/logger.ts";
import type { Membership } from "../ledger/workers/membership.ts";
import { recordTroubles } from "../ledger/workers/own-troubles.ts";
import { startLoop } from "./side-work.ts";

interface OwnTroublesDeps {
  readonly pool: pg.Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This one among the workers of the ledger. */
  readonly worker: Pick<Membership, "id" | "isSure">;
  /** Which limits of its machine are exceeded. */
  readonly machineLimits: () => Promise<readonly ExceededLimit[]>;
  /** What keeps this daemon from its work. */
  readonly troubles: () => readonly Trouble[];
}

/**
 * Begins to note this daemon's own troubles, and what fills or ends on its machine, in the ledger: alerts are the leader's, and it
 * sees no other machine. Gives what ends that.
 */
export function noteOwnTroubles(deps: OwnTroublesDeps): () => Promise<void> {
  const { pool, worker, machineLimits } = deps;
  let noted = "";
  return startLoop(deps, EVERY_MS.ownTroubles, "the troubles of this daemon could not be noted", async () => {
    if (!worker.isSure) return false;
    const exceeded = (await machineLimits()).map(({ kind, about, text }) => trouble(kind, about, text));
    const troubles = [...deps.troubles(), ...exceeded];
    // One that was taken for dead goes on under another number.
    const now = JSON.stringify([worker.id, troubles]);
    if (now === noted) return false;
    await recordTroubles(pool, worker.id, troubles);
    noted = now;
    return false;
  });
}

/** Files that lie in drop folders and are not taken. */
export function listUntaken(connectors: readonly Connector[]): UntakenRow[] {
  return connectors.flatMap(({ name, untaken = [] }) =>
    untaken.map((files) => ({ ...files, connector: name })),
  );
}

/** The same as what other daemons are to know of it. */
export function untakenTroubles(connectors: readonly Connector[]): Trouble[] {
  const untakenFiles = untakenStatus({ untaken: () => listUntaken(connectors) });
  return untakenOf({ untakenFiles }).flatMap(({ level, alerts }) =>
    alerts.map((each) => ({ ...each, level })),
  );
}
