import type { Command } from "commander";
import type pg from "pg";
import { readLeftBehind } from "../app/left-behind.ts";
import type { Config, ConnectorConfig } from "../config/config.ts";
import { countLeftBehind } from "../console/tell-left-behind.ts";
import { Failure } from "../core/failures.ts";
import type { LeftBehind } from "../ledger/left-behind.ts";
import { findKinds, type Move, moveResults } from "../ledger/move-results.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { confirm } from "./confirm.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import type { Session } from "./session.ts";

interface MoveOptions extends Move {
  readonly reason?: string;
  readonly yes?: boolean;
}

/** `queue move`: asks before it does it. */
export async function moveCommand(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const { from, to, reason, yes } = command.opts<MoveOptions>();
  const config = readConfig(session);
  const target = getTarget(config, { from, to });
  const results = await withLedger(session, config, async ({ pool }) => {
    const left = await getLeftBehind(pool, config, from);
    await assertSameKind(pool, from, target);
    const question = `Really have ${countLeftBehind({ ...left, messages: 0 })} of ${from} told to the lab through ${to}?`;
    if (!(await confirm(session, question, yes))) return undefined;
    const moved = await moveResults(pool, { from, to }, { actor: session.actor, reason });
    if (moved !== undefined) return moved;
    throw new Failure(
      "CLI_MOVE_IMPOSSIBLE",
      `${to} has results with the same names as ${from}; nothing was moved`,
    );
  });
  if (results === undefined) return EXIT.failed;
  if (session.isJson) session.json({ from, to, results });
  else {
    const words = `${results} ${results === 1 ? "result goes" : "results go"} out through ${to} now`;
    session.line(`✓ ${words}, and so does what the orders of ${from} lead to later`);
  }
  return undefined;
}

/** @throws Failure CLI_USAGE for names that the configuration says something else of */
function getTarget({ connectors }: Config, { from, to }: Move): ConnectorConfig {
  if (connectors.some(({ name }) => name === from)) {
    throw new Failure(
      "CLI_USAGE",
      `--from ${from}: this connector is configured, so its results go out by themselves`,
    );
  }
  const target = connectors.find(({ name }) => name === to);
  if (target) return target;
  const names = connectors.map(({ name }) => name).join(", ");
  throw new Failure("CLI_USAGE", `--to ${to}: no such connector is configured; expected one of ${names}`);
}

/** @throws Failure CLI_NOT_FOUND when nothing is there to be told */
async function getLeftBehind(pool: pg.Pool, config: Config, from: string): Promise<LeftBehind> {
  const all = await readLeftBehind(pool, config);
  const left = all.find(({ connector, results, orders }) => connector === from && results + orders > 0);
  if (left) return left;
  throw new Failure("CLI_NOT_FOUND", `no results and no orders of a connector ${from} wait`);
}

async function assertSameKind(pool: pg.Pool, from: string, { name, type }: ConnectorConfig): Promise<void> {
  const kinds = await findKinds(pool, from);
  if (kinds.length === 1 && kinds[0] === type) return;
  const was =
    kinds.length === 0 ? "nothing tells of which type it was" : `it was of type ${kinds.join(", ")}`;
  throw new Failure(
    "CLI_MOVE_IMPOSSIBLE",
    `${from} can't be moved to ${name}, which is of type ${type}: ${was}`,
  );
}
