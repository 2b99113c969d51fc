import { type Command, Option } from "commander";
import { Failure } from "../../core/failures.ts";
import type { OrderState } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import { listOrders } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import type { FoundAtService } from "../../operator/acts.ts";
import { isNarrowedOnlyBy } from "../../operator/list.ts";
import { ORDER_COLUMNS, ORDER_LIST } from "../../operator/lists/orders.ts";
import { withSurroundings } from "../../operator/surroundings.ts";
import { clean } from "../../operator/text.ts";
import { ORDERS } from "../../operator/things/orders.ts";
import { RELEASE_AFTER_RESTORE } from "../../operator/things/restored.ts";
import { orderStates, wholeNumber } from "../arguments.ts";
import { askDaemon } from "../ask-daemon.ts";
import { defineList, placeOf } from "../list-command.ts";
import { findNamedOrders, getNamedOrder, inMessage, MOST_FOUND } from "../named-orders.ts";
import { type OpenSite, readConfig, recordShown, withLedger } from "../open.ts";
import { ListWriter } from "../output/list.ts";
import { detailsJson, printSections } from "../output/print-parts.ts";
import { type ActParticulars, defineAct, readSections } from "../record-commands.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { defineSiteAct } from "../site-act-commands.ts";

/** `cryobridge orders …`. */
export function define(orders: Command, cli: Cli): void {
  defineList(orders, cli, ORDER_LIST, {
    examples: [
      "cryobridge orders list --state parked,failed --since 1d",
      "cryobridge orders list --find V-1001",
    ],
    whenEmpty: async (session, { pool }, values) => {
      const { find } = values;
      const words =
        find !== undefined && isNarrowedOnlyBy(values, "find") ? await inMessage(pool, find) : undefined;
      if (words) session.note(clean(`${find}: ${words.message}. ${words.hint}`));
    },
  });
  orders
    .command("show")
    .description(ORDERS.details.help)
    .argument("<id>", "id, placer order number, container label, control id or file name")
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge orders show o17\n  cryobridge orders show P-1001 --show-phi",
    )
    .action(
      toAction(cli, async (session, word: string) => {
        await withLedger(session, (site) => showOrders(session, site, word));
        return undefined;
      }),
    );
  const { retry, override, discard, release, resolve, cancel } = ORDERS.acts;
  const named = {
    argument: "ids, order numbers, or labels that only one order has",
    find: (site: OpenSite, word: string) => getNamedOrder(site, word, "; nothing was done"),
  };
  const chosen = { ...named, choose: BY_STATE };
  const others = [override, ORDERS.acts["send-again"]];
  defineAct(orders, cli, ORDERS, retry, { ...chosen, after: noteTroubles }, others);
  defineAct(orders, cli, ORDERS, discard, chosen);
  defineAct(orders, cli, ORDERS, release, chosen);
  defineAct(orders, cli, ORDERS, resolve, {
    ...{ ...named, argument: "id, order number, or a label that only one order has", isSingle: true },
    options: [
      new Option("--request-id <n>", "the procedure request that was found at the service").argParser(
        wholeNumber(1),
      ),
      new Option("--procedure-id <n>", "the procedure, for a facility of the external surface").argParser(
        wholeNumber(1),
      ),
      new Option("--unchecked", "don't ask the service whether it is this subject's"),
    ],
    given: foundBy,
  });
  defineAct(orders, cli, ORDERS, cancel, named);
  defineSiteAct(orders.command("release-after-restore"), cli, RELEASE_AFTER_RESTORE, { on: () => ({}) });
}

/**
 * Shows the orders that a word names: a placer order number that several orders carry shows all of them; of several others one
 * is chosen. @throws Failure CLI_NOT_FOUND
 */
export async function showOrders(session: Session, site: OpenSite, word: string): Promise<void> {
  const { orders, isByNumber } = await findNamedOrders(site, word);
  if (!isByNumber && orders.length > 1) return listFound(session, site, word, orders);
  const all: Awaited<ReturnType<typeof readSections>>[] = [];
  for (const order of orders) all.push(await readSections(ORDERS, site, order, session));
  if (session.isJson) {
    session.json({ orders: all.map(({ sections }) => detailsJson(sections)) });
    return;
  }
  for (const [index, { heading, sections }] of all.entries()) {
    if (index > 0) session.line();
    printSections(session, heading, sections);
  }
}

async function listFound(
  session: Session,
  site: OpenSite,
  word: string,
  orders: readonly LedgerOrder[],
): Promise<void> {
  const ids = orders.slice(0, MOST_FOUND).map(({ id }) => formatId("o", id));
  await recordShown(session, site.pool, ids);
  const list = new ListWriter(session, { key: "orders", columns: ORDER_COLUMNS, nothing: "" });
  list.write(await withSurroundings(placeOf(site, session), orders.slice(0, MOST_FOUND)));
  const how = clean(`cryobridge orders list --find ${word} shows more`);
  list.end({ hasMore: orders.length > MOST_FOUND, how });
  session.note(clean(`Several orders have ${word}. Choose one: cryobridge orders show ${ids[0]}`));
}

/** Beyond this a person should narrow the choice down. */
const MOST_AT_ONCE = 10_000;

/** In the order of receipt. */
const BY_STATE: NonNullable<ActParticulars<LedgerOrder, undefined>["choose"]> = {
  option: new Option("--state <states>", "all orders in these states instead of naming them").argParser(
    orderStates,
  ),
  what: "name orders, or choose them with --state",
  records: async ({ pool }, states: readonly OrderState[]) => {
    const orders = await listOrders(pool, { states, limit: MOST_AT_ONCE + 1 });
    if (orders.length <= MOST_AT_ONCE) return orders.reverse();
    const why = `more than ${MOST_AT_ONCE} orders are ${states.join(" or ")}, and no more are changed at once: name some of them by their ids`;
    throw new Failure("CLI_USAGE", why);
  },
};

/** What keeps the daemon from trying at once, such as a service that is out of reach, and when it tries next. */
async function noteTroubles(session: Session): Promise<void> {
  const answer = await askDaemon(readConfig(session));
  if ("status" in answer) for (const reason of answer.status.reasons) session.note(reason);
}

/** What a person found at the service. @throws Failure CLI_USAGE */
function foundBy(options: Readonly<Record<string, unknown>>): FoundAtService {
  const { requestId, procedureId, isUnchecked } = {
    requestId: options.requestId as number | undefined,
    procedureId: options.procedureId as number | undefined,
    isUnchecked: options.unchecked === true,
  };
  if ((requestId === undefined) !== (procedureId === undefined))
    return { requestId, procedureId, isUnchecked };
  const words =
    "name what you found at the service, with --request-id N or, for a facility of the external surface, with --procedure-id N";
  throw new Failure("CLI_USAGE", `orders resolve: ${words}`);
}
