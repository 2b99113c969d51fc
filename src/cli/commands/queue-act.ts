import type { Command } from "commander";
import type pg from "pg";
import { readOrphaned } from "../../app/orphaned.ts";
import type { Config, ConnectorConfig } from "../../config/config.ts";
import { countOrphaned } from "../../console/orphaned.ts";
import { Failure } from "../../core/failures.ts";
import { QUEUE_NAMES } from "../../jobs/queues.ts";
import { parseId } from "../../ledger/ids.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import { type DeliveryDetails, findDelivery } from "../../ledger/operator/queue-views.ts";
import { pauseQueue, resumeQueue } from "../../ledger/operator/queues.ts";
import { dropDelivery, retryDelivery } from "../../ledger/results/acts.ts";
import { findKinds, type Move, moveResults, type Orphaned } from "../../ledger/results/orphaned.ts";
import { confirm, confirmMany, type Done, printDone } from "../acting.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { readConfig, withLedger } from "../open.ts";
import { counted } from "../output/text.ts";
import type { Session } from "../session.ts";

interface ChangeOptions {
  readonly reason?: string;
  readonly yes?: boolean;
}

/** `queue retry`: due now. */
export async function retry(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const act = actOf(session, command);
  const done = await withLedger(session, readConfig(session), async ({ pool }) => {
    const results: Done[] = [];
    for (const { deliveryId: id, state } of await getDeliveries(pool, command)) {
      const deliveryId = parseId("d", id) as number;
      const isDone = await retryDelivery(pool, deliveryId, act);
      const before = isDone ? (await findDelivery(pool, deliveryId))?.waitsBehind : undefined;
      const words = before === undefined ? "is due now" : `is due once ${before} is delivered or given up`;
      results.push({
        id,
        isDone,
        text: `${id} ${isDone ? words : `can't be delivered again: it is ${state}`}`,
      });
    }
    return results;
  });
  return printDone(session, done);
}

/** `queue remove`: asks before more than one delivery is given up. */
export async function remove(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const { yes } = command.opts<ChangeOptions>();
  const act = actOf(session, command);
  const done = await withLedger(session, readConfig(session), async ({ pool }) => {
    const deliveries = await getDeliveries(pool, command);
    const ids = deliveries.map(({ deliveryId }) => deliveryId);
    if (!(await confirmMany(session, ["Give up", "result"], ids, yes))) return undefined;
    const results: Done[] = [];
    for (const { deliveryId: id, state } of deliveries) {
      const isDone = await dropDelivery(pool, parseId("d", id) as number, act);
      results.push({
        id,
        isDone,
        text: `${id} ${isDone ? "is given up" : `can't be given up: it is ${state}`}`,
      });
    }
    return results;
  });
  return printDone(session, done);
}

/** `queue pause`; doing what is done already is no error. */
export async function pause(session: Session, command: Command): Promise<undefined> {
  return setPaused(true, session, command);
}

/** `queue resume`. */
export async function resume(session: Session, command: Command): Promise<undefined> {
  return setPaused(false, session, command);
}

async function setPaused(isPaused: boolean, session: Session, command: Command): Promise<undefined> {
  const [word] = command.processedArgs as [string];
  const queue = QUEUE_NAMES.find((each) => each === word);
  if (queue === undefined) {
    const known = QUEUE_NAMES.join(", ");
    throw new Failure("CLI_USAGE", `queue ${command.name()} ${word}: expected one of ${known}`);
  }
  const act = actOf(session, command);
  const hasChanged = await withLedger(session, readConfig(session), ({ pool }) =>
    isPaused ? pauseQueue(pool, queue, act) : resumeQueue(pool, queue, act),
  );
  const words = `${hasChanged ? "is" : "was already"} ${isPaused ? "paused" : "running"}`;
  session.result({ queue, isPaused, hasChanged }, [`Queue ${queue} ${words}.`]);
}

function actOf(session: Session, command: Command): Act {
  return { actor: session.actor, reason: command.opts<ChangeOptions>().reason };
}

/** All that are named, before anything is done to the first. @throws Failure CLI_NOT_FOUND or CLI_USAGE */
async function getDeliveries(pool: pg.Pool, command: Command): Promise<DeliveryDetails[]> {
  const [words] = command.processedArgs as [readonly string[]];
  const deliveries: DeliveryDetails[] = [];
  for (const word of new Set(words)) {
    const id = parseId("d", word);
    if (id === undefined) {
      const hint =
        parseId("o", word) === undefined
          ? ""
          : `; for an order: cryobridge orders ${HINT[command.name()]} ${word}`;
      throw new Failure("CLI_USAGE", `${word}: expected a delivery such as d4${hint}`);
    }
    const delivery = await findDelivery(pool, id);
    if (!delivery) throw new Failure("CLI_NOT_FOUND", `no delivery ${word}; nothing was done`);
    deliveries.push(delivery);
  }
  return deliveries;
}

/** What does to orders what a command of the queue does to deliveries. */
const HINT: Readonly<Record<string, string>> = { retry: "retry", remove: "discard" };

/** `queue move`: asks before it does it. */
export async function moveResultsOf(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const { from, to, reason, yes } = command.opts<Move & ChangeOptions>();
  const config = readConfig(session);
  const target = getTarget(config, { from, to });
  const results = await withLedger(session, config, async ({ pool }) => {
    const left = await getOrphaned(pool, config, from);
    await assertSameKind(pool, from, target);
    const what = countOrphaned({ ...left, messages: 0 });
    if (!(await confirm(session, `Really report ${what} of ${from} to the lab through ${to}?`, yes)))
      return undefined;
    const moved = await moveResults(pool, { from, to }, { actor: session.actor, reason });
    if (moved !== undefined) return moved;
    const why = `${to} has results with the same names as ${from}; nothing was moved`;
    throw new Failure("CLI_MOVE_IMPOSSIBLE", why);
  });
  if (results === undefined) return EXIT.failed;
  const words = `${counted(results, "result goes", "results go")} out through ${to} now`;
  session.result({ from, to, results }, [`✓ ${words}, and so do later ones of the orders of ${from}`]);
  return undefined;
}

/** @throws Failure CLI_USAGE for names that the configuration says something else of */
function getTarget({ connectors }: Config, { from, to }: Move): ConnectorConfig {
  if (connectors.some(({ name }) => name === from)) {
    const why = "this connector is configured, so its results go out by themselves";
    throw new Failure("CLI_USAGE", `--from ${from}: ${why}`);
  }
  const target = connectors.find(({ name }) => name === to);
  if (target) return target;
  const names = connectors.map(({ name }) => name).join(", ");
  throw new Failure("CLI_USAGE", `--to ${to}: no such connector is configured; expected one of ${names}`);
}

/** @throws Failure CLI_NOT_FOUND when there is nothing to report */
async function getOrphaned(pool: pg.Pool, config: Config, from: string): Promise<Orphaned> {
  const all = await readOrphaned(pool, config);
  const left = all.find(({ connector, results, orders }) => connector === from && results + orders > 0);
  if (left) return left;
  throw new Failure("CLI_NOT_FOUND", `no results and no orders of a connector ${from} wait`);
}

async function assertSameKind(pool: pg.Pool, from: string, { name, type }: ConnectorConfig): Promise<void> {
  const kinds = await findKinds(pool, from);
  if (kinds.length === 1 && kinds[0] === type) return;
  const was = kinds.length === 0 ? "nothing says of which type it was" : `it was of type ${kinds.join(", ")}`;
  const why = `${from} can't be moved to ${name}, which is of type ${type}: ${was}`;
  throw new Failure("CLI_MOVE_IMPOSSIBLE", why);
}
