import type { Command } from "commander";
import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import type { OrderState } from "../../core/order-state.ts";
import { SURFACES } from "../../core/surface.ts";
import { type CancelResult, cancelOrder } from "../../ledger/cancellations.ts";
import { formatId } from "../../ledger/ids.ts";
import {
  type Act,
  type ActResult,
  discardOrder,
  overrideOrder,
  releaseOrder,
  resolveOrder,
  retryOrder,
} from "../../ledger/operator.ts";
import type { LedgerOrder, ServiceLink } from "../../ledger/order-row.ts";
import { findOrders, listOrders } from "../../ledger/views.ts";
import { confirm, type Done, printDone } from "../acting.ts";
import type { ExitStatus } from "../exit-status.ts";
import { readConfig, withLedger } from "../open.ts";
import { clean } from "../output/text.ts";
import { nameOf } from "../output/why-waiting.ts";
import type { Act as CommandAct, Session } from "../session.ts";
import { type LinkOptions, requireLinkOf, requireOneLink, toLink } from "./resolve-link.ts";

interface ChangeOptions extends LinkOptions {
  /** For `resolve`: what the options name. */
  readonly link?: ServiceLink | undefined;
  readonly state?: readonly OrderState[];
  readonly reason?: string;
  readonly yes?: boolean;
  readonly unchecked?: boolean;
  readonly override?: boolean;
}

type ActName = "retry" | "discard" | "resolve" | "release";
const ASKED = { retry: "Retry", discard: "Discard", resolve: "Resolve", release: "Release" } as const;

/** Beyond this a person should narrow the choice down. */
const MOST_AT_ONCE = 10_000;
const DONE_WORDS = {
  retry: "will be tried again",
  discard: "is discarded; it will be reported to the lab",
  release: "is on hold no more and goes on",
  resolve: "is linked to what was found at the service and followed from there",
} as const satisfies Record<ActName, string>;

/** `orders retry`, `orders discard`, `orders release` and `orders resolve`: status 1 when one of the orders could not be changed. */
export function changeOrders(name: ActName): CommandAct {
  return async (session, command) => {
    const [words] = command.processedArgs as [readonly string[]];
    const options = command.opts<ChangeOptions>();
    if ((words.length === 0) === (options.state === undefined)) {
      throw new Failure("CLI_USAGE", `orders ${name}: name orders, or choose them with --state`);
    }
    if (name === "resolve" && (options.state !== undefined || words.length !== 1)) {
      throw new Failure("CLI_USAGE", "orders resolve: a request belongs to one order, so name exactly one");
    }
    if (name === "resolve") requireOneLink(options);
    if (options.override === true && (options.reason ?? "").trim() === "") {
      throw new Failure(
        "CLI_USAGE",
        "orders retry --override: say why with --reason, it is kept with your name",
      );
    }
    const config = readConfig(session);
    const done = await withLedger(session, config, async ({ pool }) => {
      const orders = await chooseOrders(pool, words, options.state);
      if (name === "resolve" && orders.length > 1) {
        throw new Failure(
          "CLI_USAGE",
          `${words[0]} names ${orders.length} orders; name one of them by its id`,
        );
      }
      if (!(await confirmMany(session, ASKED[name], orders, options.yes))) return undefined;
      const [first] = orders;
      const link = name === "resolve" && first ? toLink(first, options, config) : undefined;
      if (link && first && options.unchecked !== true) await requireLinkOf(first, link, config, session);
      const act: Act = { actor: session.actor, reason: options.reason };
      const results: Done[] = [];
      for (const order of orders) results.push(await changeOne(pool, name, order, { ...options, link }, act));
      return results;
    });
    return printDone(session, done);
  };
}

/** Asks before something is done to more than one order. */
async function confirmMany(
  session: Session,
  verb: string,
  orders: readonly LedgerOrder[],
  isYes: boolean | undefined,
): Promise<boolean> {
  if (orders.length <= 1) return true;
  const names = `${orders.slice(0, 5).map(nameOf).join(", ")}${orders.length > 5 ? ", …" : ""}`;
  return confirm(session, clean(`${verb} ${orders.length} orders (${names})?`), isYes);
}

/** The orders that words name, or that are in some states. @throws Failure CLI_NOT_FOUND */
async function chooseOrders(
  pool: pg.Pool,
  words: readonly string[],
  states: readonly OrderState[] | undefined,
): Promise<LedgerOrder[]> {
  if (states !== undefined) return listOrders(pool, { states, limit: MOST_AT_ONCE });
  const found = new Map<number, LedgerOrder>();
  for (const word of words) {
    const orders = await findOrders(pool, word);
    if (orders.length === 0) throw new Failure("CLI_NOT_FOUND", `no order ${word}; nothing was done`);
    for (const order of orders) found.set(order.id, order);
  }
  return [...found.values()];
}

async function changeOne(
  pool: pg.Pool,
  name: ActName,
  order: LedgerOrder,
  options: ChangeOptions,
  act: Act,
): Promise<Done> {
  if (options.override === true) {
    const result = await overrideOrder(pool, order, act);
    if (result !== "not applicable")
      return doneOf(order, result, "goes past the other order and will be tried again");
    const words = "is not parked because it matches another order; nothing was done";
    return { id: formatId("o", order.id), isDone: false, text: `${nameOf(order)} ${words}` };
  }
  const result = await (() => {
    switch (name) {
      case "retry":
        return retryOrder(pool, order, act);
      case "discard":
        return discardOrder(pool, order, act);
      case "release":
        return releaseOrder(pool, order, act);
      case "resolve":
        return options.link ? resolveOrder(pool, order, options.link, act) : "not applicable";
    }
  })();
  return doneOf(order, result, DONE_WORDS[name]);
}

/** What became of one order, in words. */
export function doneOf(order: LedgerOrder, result: ActResult, doneWords: string): Done {
  const words = {
    done: doneWords,
    "not applicable": `can't be changed that way: it is ${order.state}${order.heldAt ? " and on hold" : ""}`,
    "reason wanted": "may be at the storage service, so discarding it wants a reason: add --reason",
  };
  return {
    id: formatId("o", order.id),
    isDone: result === "done",
    text: `${nameOf(order)} ${words[result]}`,
  };
}

/** `orders cancel`: status 1 when one of the orders can't be cancelled. */
export async function cancelOrders(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const { reason, yes } = command.opts<{ reason: string; yes?: boolean }>();
  if (reason.trim() === "") {
    throw new Failure("CLI_USAGE", "orders cancel: say why with --reason, it is kept with your name");
  }
  const config = readConfig(session);
  const offered = new Set(SURFACES.filter((surface) => config.service.cancel[surface] !== undefined));
  const done = await withLedger(session, config, async ({ pool }) => {
    const orders = await chooseOrders(pool, words, undefined);
    if (!(await confirmMany(session, "Cancel", orders, yes))) return undefined;
    const results: Done[] = [];
    for (const order of orders) {
      const result = await cancelOrder(pool, order.id, { actor: session.actor, reason }, offered);
      results.push({
        id: formatId("o", order.id),
        isDone: result.kind !== "unable",
        text: `${nameOf(order)} ${cancelWords(result)}`,
      });
    }
    return results;
  });
  return printDone(session, done);
}

function cancelWords(result: CancelResult): string {
  switch (result.kind) {
    case "cancelled":
      return "is cancelled; it will be reported to the lab";
    case "asked":
      return "is at the storage service, which is asked to cancel it; cryobridge orders show tells the outcome";
    case "waits":
      return "has a call under way or needs a person first; it is cancelled as soon as it is known what the service has of it";
    case "unable":
      return `can't be cancelled: ${result.refusal.text} (${result.refusal.code})`;
  }
}
