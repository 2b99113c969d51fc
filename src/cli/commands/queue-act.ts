import type pg from "pg";
import { readOrphaned } from "../../app/orphaned.ts";
import type { Config, ConnectorConfig } from "../../config/config.ts";
import { Failure } from "../../core/failures.ts";
import { findKinds, type Move, moveResults, type Orphaned } from "../../ledger/results/orphaned.ts";
import { counted } from "../../operator/text.ts";
import { countOrphaned } from "../../operator/things/orphaned.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { type OpenSite, readConfig, requireConnector, withLedger } from "../open.ts";
import type { Session } from "../session.ts";
import { type ActOptions, confirm } from "../things.ts";

/** `queue move`: asks before it does it. */
export async function moveResultsOf(
  session: Session,
  { from, to, reason, yes }: Move & ActOptions,
): Promise<ExitStatus | undefined> {
  const config = readConfig(session);
  const target = getTarget(config, { from, to });
  const move = async ({ pool }: OpenSite) => {
    const left = await getOrphaned(pool, config, from);
    await assertSameKind(pool, from, target);
    const what = countOrphaned({ ...left, messages: 0 });
    if (!(await confirm(session, `Really report ${what} of ${from} to the lab through ${to}?`, yes)))
      return undefined;
    const moved = await moveResults(pool, { from, to }, { actor: session.actor, reason });
    if (moved !== undefined) return moved;
    const why = `${to} has results with the same names as ${from}; nothing was moved`;
    throw new Failure("CLI_MOVE_IMPOSSIBLE", why);
  };
  const results = await withLedger(session, move, config);
  if (results === undefined) return EXIT.failed;
  const words = `${counted(results, "result goes", "results go")} out through ${to} now`;
  session.result({ from, to, results }, [`✓ ${words}, and so do later ones of the orders of ${from}`]);
  return undefined;
}

/** @throws Failure CLI_USAGE for names that the configuration says something else of */
function getTarget(config: Config, { from, to }: Move): ConnectorConfig {
  if (config.connectors.some(({ name }) => name === from)) {
    const why = "this connector is configured, so its results go out by themselves";
    throw new Failure("CLI_USAGE", `--from ${from}: ${why}`);
  }
  return requireConnector(config, "--to", to);
}

/** @throws Failure CLI_NOT_FOUND when there is nothing to report */
async function getOrphaned(pool: pg.Pool, config: Config, from: string): Promise<Orphaned> {
  const all = await readOrphaned(pool, config);
  const left = all.find(({ connector, results, orders }) => connector === from && results + orders > 0);
  if (left) return left;
  const message = `no results and no orders of a connector ${from} wait`;
  throw new Failure("CLI_NOT_FOUND", { message, hint: "`cryobridge queue list` shows what there is." });
}

async function assertSameKind(pool: pg.Pool, from: string, { name, type }: ConnectorConfig): Promise<void> {
  const kinds = await findKinds(pool, from);
  if (kinds.length === 1 && kinds[0] === type) return;
  const was = kinds.length === 0 ? "nothing says of which type it was" : `it was of type ${kinds.join(", ")}`;
  const why = `${from} can't be moved to ${name}, which is of type ${type}: ${was}`;
  throw new Failure("CLI_MOVE_IMPOSSIBLE", why);
}
