import type { Command } from "commander";
import type pg from "pg";
import { Failure } from "../core/failures.ts";
import { QUEUE_NAMES } from "../jobs/queues.ts";
import { dropDelivery, retryDelivery } from "../ledger/delivery-acts.ts";
import { pollOrderNow } from "../ledger/hasten.ts";
import { parseId } from "../ledger/ids.ts";
import { type Act, discardOrder, retryOrder } from "../ledger/operator.ts";
import type { LedgerOrder } from "../ledger/order-row.ts";
import { pauseQueue, resumeQueue } from "../ledger/pause-queues.ts";
import { type DeliveryDetails, findDelivery } from "../ledger/queue-views.ts";
import { findOrders } from "../ledger/views.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { confirm } from "./confirm.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { type Done, tellDone, tellResult } from "./orders-change.ts";
import type { Session } from "./session.ts";

interface ChangeOptions {
  readonly reason?: string;
  readonly yes?: boolean;
}

/** What a person names: an order or a delivery. */
type Item = { readonly order: LedgerOrder } | { readonly delivery: DeliveryDetails };

/** `queue retry`: due now. */
export async function retryCommand(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const act = actOf(session, command);
  const done = await withLedger(session, readConfig(session), async ({ pool }) => {
    const results: Done[] = [];
    for (const item of await getItems(pool, words)) results.push(await retryItem(pool, item, act));
    return results;
  });
  return tellDone(session, done);
}

/** `queue remove`: asks whenever an order is to be discarded, or more than one delivery given up. */
export async function removeCommand(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const { yes } = command.opts<ChangeOptions>();
  const act = actOf(session, command);
  const done = await withLedger(session, readConfig(session), async ({ pool }) => {
    const items = await getItems(pool, words);
    const orders = items.filter((item) => "order" in item).length;
    const results = items.length - orders;
    if (items.length > 1 || orders > 0) {
      const parts = [
        ...(orders > 0 ? [`discard ${orders} ${orders === 1 ? "order" : "orders"}`] : []),
        ...(results > 0 ? [`give up ${results} ${results === 1 ? "result" : "results"} for the lab`] : []),
      ];
      if (!(await confirm(session, `Really ${parts.join(" and ")}?`, yes))) return undefined;
    }
    const done: Done[] = [];
    for (const item of items) done.push(await removeItem(pool, item, act));
    return done;
  });
  return done === undefined ? EXIT.failed : tellDone(session, done);
}

/** `queue pause` and `queue resume`; doing what is done already is no error. */
export function pauseCommand(name: "pause" | "resume") {
  return async (session: Session, command: Command): Promise<undefined> => {
    const [word] = command.processedArgs as [string];
    const queue = QUEUE_NAMES.find((each) => each === word);
    if (queue === undefined) {
      throw new Failure("CLI_USAGE", `queue ${name} ${word}: expected one of ${QUEUE_NAMES.join(", ")}`);
    }
    const act = actOf(session, command);
    const hasChanged = await withLedger(session, readConfig(session), ({ pool }) =>
      name === "pause" ? pauseQueue(pool, queue, act) : resumeQueue(pool, queue, act),
    );
    const isPaused = name === "pause";
    if (session.isJson) session.json({ queue, isPaused, hasChanged });
    else
      session.line(`Queue ${queue} ${hasChanged ? "is" : "was already"} ${isPaused ? "paused" : "running"}.`);
    return undefined;
  };
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
  if ("delivery" in item) {
    const { deliveryId: id, state } = item.delivery;
    const deliveryId = parseId("d", id) as number;
    const isDone = await retryDelivery(pool, deliveryId, act);
    const behind = isDone ? (await findDelivery(pool, deliveryId))?.waitsBehind : undefined;
    const words = behind === undefined ? "is due now" : `is due once ${behind} is delivered or given up`;
    return { id, isDone, text: `${id} ${isDone ? words : `can't be delivered again: it is ${state}`}` };
  }
  const { order } = item;
  const result = (await pollOrderNow(pool, order.id, act)) ? "done" : await retryOrder(pool, order, act);
  return tellResult(order, result, "is due now");
}

async function removeItem(pool: pg.Pool, item: Item, act: Act): Promise<Done> {
  if ("delivery" in item) {
    const { deliveryId: id, state } = item.delivery;
    const isDone = await dropDelivery(pool, parseId("d", id) as number, act);
    return { id, isDone, text: `${id} ${isDone ? "is given up" : `can't be given up: it is ${state}`}` };
  }
  const { order } = item;
  return tellResult(order, await discardOrder(pool, order, act), "is discarded; the lab will be told");
}
