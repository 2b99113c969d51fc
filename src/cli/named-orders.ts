import type pg from "pg";
import { Failure } from "../core/failures.ts";
import { formatId } from "../ledger/ids.ts";
import { listMessages } from "../ledger/messages/views.ts";
import { findOrders, listOrders, searchOrders } from "../ledger/operator/views.ts";
import type { LedgerOrder } from "../ledger/orders/row.ts";
import { whyNoOrder } from "../operator/message-words.ts";
import { stateInWords } from "../operator/order-words.ts";
import { clean } from "../operator/text.ts";
import { notFound } from "../operator/thing.ts";
import { ORDERS } from "../operator/things/orders.ts";
import { nameOf } from "../operator/why-waiting.ts";
import type { OpenSite } from "./open.ts";

/** More than these are listed by `orders list --find`. */
export const MOST_FOUND = 20;

/** What a word of the command line names. */
interface Named {
  /** At least one. */
  readonly orders: readonly LedgerOrder[];
  /** By an id or an order number; else by a label, a control id or the beginning of a file's name. */
  readonly isByNumber: boolean;
}

/**
 * The orders that a word names, for all commands alike: the one with this id, those with this order number, or those in which
 * it is found otherwise, one more than {@link MOST_FOUND} at most.
 *
 * @throws Failure CLI_NOT_FOUND, with the message in which the word stands where no order was made of it
 */
export async function findNamedOrders({ pool, config }: OpenSite, word: string, more = ""): Promise<Named> {
  const named = await findOrders(pool, word);
  if (named.length > 0) return { orders: named, isByNumber: true };
  const limit = MOST_FOUND + 1;
  const connectors = config.connectors.map(({ name }) => name);
  const ids = await searchOrders(pool, word, { connectors, limit });
  const orders = await listOrders(pool, { ids, limit });
  if (orders.length > 0) return { orders, isByNumber: false };
  throw (await foundInMessage(pool, word, more)) ?? notFound(ORDERS, word, more);
}

/**
 * The one order that a word names, for what is done to it.
 *
 * @throws Failure CLI_NOT_FOUND, CLI_USAGE with the orders where several are meant, or one that has it from the service alone
 */
export async function getNamedOrder(site: OpenSite, word: string, more = ""): Promise<LedgerOrder> {
  const { orders, isByNumber } = await findNamedOrders(site, word, more);
  const [only, ...others] = orders;
  if (only !== undefined && others.length === 0) {
    if (!isByNumber) refuseBareNumber(only, word, more);
    return only;
  }
  const several = orders
    .slice(0, MOST_FOUND)
    .map((order) => `${nameOf(order)} ${order.operation} ${stateInWords(order.state)}`);
  const rest = orders.length > MOST_FOUND ? ", and more" : "";
  const message = clean(`${word} names several orders${more}: ${several.join(", ")}${rest}`);
  throw new Failure("CLI_USAGE", { message, hint: "Name the one that you mean by its id." });
}

/** The lab's numbers are often plain digits too: a mistyped one must not be done to whichever order has it at the service. */
function refuseBareNumber(order: LedgerOrder, word: string, more: string): void {
  const { id, requestId, procedureId } = order;
  if (![requestId, procedureId].some((each) => each !== undefined && String(each) === word)) return;
  const message = `no order has the number ${word}${more}; order ${nameOf(order)} has it at the service`;
  throw new Failure("CLI_USAGE", {
    message,
    hint: `If you mean that one, name it by its id: ${formatId("o", id)}.`,
  });
}

async function foundInMessage(pool: pg.Pool, word: string, more: string): Promise<Failure | undefined> {
  const words = await inMessage(pool, word);
  if (words === undefined) return undefined;
  const { message, hint } = words;
  return new Failure("CLI_NOT_FOUND", { message: `no order ${word}${more}; ${message}`, hint });
}

/** In which message a word stands of which no order was made, why, and how that is shown; undefined where in none. */
export async function inMessage(
  pool: pg.Pool,
  word: string,
): Promise<{ readonly message: string; readonly hint: string } | undefined> {
  const [first, another] = await listMessages(pool, { word, limit: 2 });
  if (first === undefined) return undefined;
  const { messageId } = first;
  const more = another ? `, \`cryobridge messages list --find ${word}\` the others` : "";
  return {
    message: `it is in message ${messageId}, which ${whyNoOrder(first)}`,
    hint: `\`cryobridge messages show ${messageId}\` shows the message${more}.`,
  };
}
