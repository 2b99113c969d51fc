import type { Command } from "commander";
import type pg from "pg";
import { Failure } from "../core/failures.ts";
import type { OrderState } from "../core/order-state.ts";
import { formatId } from "../ledger/ids.ts";
import {
  type Act,
  type ActResult,
  discardOrder,
  overrideOrder,
  releaseOrder,
  resolveOrder,
  retryOrder,
} from "../ledger/operator.ts";
import type { LedgerOrder, ServiceLink } from "../ledger/order-row.ts";
import { findOrders, listOrders } from "../ledger/views.ts";
import { clean } from "./clean.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { confirm } from "./confirm.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { type LinkOptions, requireLinkOf, requireOneLink, toLink } from "./resolve-link.ts";
import type { Session } from "./session.ts";
import { nameOf } from "./why-waiting.ts";

interface ChangeOptions extends LinkOptions {
  /** For `resolve`: what the options name. */
  readonly link?: ServiceLink | undefined;
  readonly state?: readonly OrderState[];
  readonly reason?: string;
  readonly yes?: boolean;
  readonly unchecked?: boolean;
  readonly override?: boolean;
}

/** What became of one record. */
export interface Done {
  readonly id: string;
  readonly isDone: boolean;
  /** For people, such as `o17 (P-1001) will be tried again`. */
  readonly text: string;
}

type ActName = "retry" | "discard" | "resolve" | "release";
const ASKED = { retry: "Retry", discard: "Discard", resolve: "Resolve", release: "Release" } as const;

/** Beyond this a person should narrow the choice down. */
const MOST_AT_ONCE = 10_000;
const DONE_WORDS = {
  retry: "will be tried again",
  discard: "is discarded; the lab will be told",
  release: "is on hold no more and goes on",
  resolve: "is linked to what was found at the service and followed from there",
} as const satisfies Record<ActName, string>;

/** `orders retry`, `orders discard`, `orders release` and `orders resolve`: status 1 when one of the orders could not be changed. */
export function changeOrdersCommand(name: ActName) {
  return async (session: Session, command: Command): Promise<ExitStatus | undefined> => {
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
      if (orders.length > 1) {
        const question = `${ASKED[name]} ${orders.length} orders (${orders.slice(0, 5).map(nameOf).join(", ")}${orders.length > 5 ? ", …" : ""})?`;
        if (!(await confirm(session, clean(question), options.yes))) return undefined;
      }
      const [first] = orders;
      const link = name === "resolve" && first ? toLink(first, options, config) : undefined;
      if (link && first && options.unchecked !== true) await requireLinkOf(first, link, config, session);
      const act: Act = { actor: session.actor, reason: options.reason };
      const results: Done[] = [];
      for (const order of orders) results.push(await changeOne(pool, name, order, { ...options, link }, act));
      return results;
    });
    return done === undefined ? EXIT.failed : tellDone(session, done);
  };
}

/** The orders that words name, or that are in some states. @throws Failure CLI_NOT_FOUND */
export async function chooseOrders(
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
    const words =
      result === "not applicable" ? "is not parked for being like another order; nothing was done" : "";
    return words === ""
      ? tellResult(order, result, "goes past the other order and will be tried again")
      : { id: formatId("o", order.id), isDone: false, text: `${nameOf(order)} ${words}` };
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
  return tellResult(order, result, DONE_WORDS[name]);
}

/** What became of one order, in words. */
export function tellResult(order: LedgerOrder, result: ActResult, doneWords: string): Done {
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

/** Tells what became of each record; status 1 when something could not be done. */
export function tellDone(session: Session, done: readonly Done[]): ExitStatus | undefined {
  if (session.isJson) session.json({ results: done });
  else if (done.length === 0) session.line("There is nothing to act on.");
  else
    for (const { isDone, text } of done)
      session.line(`${isDone ? session.paint("green", "✓") : session.paint("red", "✗")} ${clean(text)}`);
  return done.every(({ isDone }) => isDone) ? undefined : EXIT.failed;
}
