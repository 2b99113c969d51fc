import type { Command } from "commander";
import type pg from "pg";
import { readOrphaned } from "../../app/orphaned.ts";
import type { Config, ConnectorConfig } from "../../config/config.ts";
import { countOrphaned } from "../../console/orphaned.ts";
import { Failure } from "../../core/failures.ts";
import { QUEUE_NAMES } from "../../jobs/queues.ts";
import { pollOrderNow } from "../../ledger/hasten.ts";
import { parseId } from "../../ledger/ids.ts";
import { type Act, discardOrder, retryOrder } from "../../ledger/operator.ts";
import type { LedgerOrder } from "../../ledger/order-row.ts";
import { pauseQueue, resumeQueue } from "../../ledger/pause-queues.ts";
import { type DeliveryDetails, findDelivery } from "../../ledger/queue-views.ts";
import { dropDelivery, retryDelivery } from "../../ledger/results/acts.ts";
import type { Orphaned } from "../../ledger/results/orphaned.ts";
import { findKinds, type Move, moveResults } from "../../ledger/results/orphaned.ts";
import { findOrders } from "../../ledger/views.ts";
import { confirm, type Done, printDone } from "../acting.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { readConfig, withLedger } from "../open.ts";
import { counted } from "../output/text.ts";
import type { Session } from "../session.ts";
import { doneOf } from "./orders-change.ts";

interface ChangeOptions {
  readonly reason?: string;
  readonly yes?: boolean;
}

/** What a person names: an order or a delivery. */
type Item = { readonly order: LedgerOrder } | { readonly delivery: DeliveryDetails };

/** `queue retry`: due now. */
export async function retry(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const act = actOf(session, command);
  const done = await withLedger(session, readConfig(session), async ({ pool }) => {
    const results: Done[] = [];
    for (const item of await getItems(pool, words)) results.push(await retryItem(pool, item, act));
    return results;
  });
  return printDone(session, done);
}

/** `queue remove`: asks whenever an order is to be discarded, or more than one delivery given up. */
export async function remove(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const { yes } = command.opts<ChangeOptions>();
  const act = actOf(session, command);
  const done = await withLedger(session, readConfig(session), async ({ pool }) => {
    const items = await getItems(pool, words);
    const orders = items.filter((item) => "order" in item).length;
    const deliveries = items.length - orders;
    if (items.length > 1 || orders > 0) {
      const parts = [
        ...(orders > 0 ? [`discard ${counted(orders, "order")}`] : []),
        ...(deliveries > 0 ? [`give up ${counted(deliveries, "result")} for the lab`] : []),
      ];
      if (!(await confirm(session, `Really ${parts.join(" and ")}?`, yes))) return undefined;
    }
    const results: Done[] = [];
    for (const item of items) results.push(await removeItem(pool, item, act));
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

/** All of them, before anything is done to the first. @throws Failure CLI_NOT_FOUND or CLI_USAGE */
async function getItems(pool: pg.Pool, words: readonly string[]): Promise<Item[]> {
  const items: Item[] = [];
  for (const word of new Set(words)) {
    const deliveryId = parseId("d", word);
    if (deliveryId !== undefined) {
      const delivery = await findDelivery(pool, deliveryId);
      if (!delivery) throw new Failure("CLI_NOT_FOUND", `no delivery ${word}; nothing was done`);
      items.push({ delivery });
      continue;
    }
    if (parseId("o", word) === undefined) {
      throw new Failure("CLI_USAGE", `${word}: expected an order such as o17 or a delivery such as d4`);
    }
    const [order] = await findOrders(pool, word);
    if (!order) throw new Failure("CLI_NOT_FOUND", `no order ${word}; nothing was done`);
    items.push({ order });
  }
  return items;
}

async function retryItem(pool: pg.Pool, item: Item, act: Act): Promise<Done> {
  if ("order" in item) {
    const { order } = item;
    const result = (await pollOrderNow(pool, order.id, act)) ? "done" : await retryOrder(pool, order, act);
    return doneOf(order, result, "is due now");
  }
  const { deliveryId: id, state } = item.delivery;
  const deliveryId = parseId("d", id) as number;
  const isDone = await retryDelivery(pool, deliveryId, act);
  if (!isDone) return { id, isDone, text: `${id} can't be delivered again: it is ${state}` };
  const before = (await findDelivery(pool, deliveryId))?.waitsBehind;
  const words = before === undefined ? "is due now" : `is due once ${before} is delivered or given up`;
  return { id, isDone, text: `${id} ${words}` };
}

async function removeItem(pool: pg.Pool, item: Item, act: Act): Promise<Done> {
  if ("order" in item) {
    const { order } = item;
    return doneOf(
      order,
      await discardOrder(pool, order, act),
      "is discarded; it will be reported to the lab",
    );
  }
  const { deliveryId: id, state } = item.delivery;
  const isDone = await dropDelivery(pool, parseId("d", id) as number, act);
  return { id, isDone, text: `${id} ${isDone ? "is given up" : `can't be given up: it is ${state}`}` };
}

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
