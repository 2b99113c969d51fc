import {
  type ActSite,
  cancel,
  discard,
  override,
  release,
  resolve,
  retry,
  sendAgain,
} from "../../app/acts/orders.ts";
import { releaseAfterRestore as lift } from "../../app/acts/restored.ts";
import { Failure } from "../../core/failures.ts";
import type { OrderState } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import { listOrders } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { countMayBeThere, findRestored } from "../../ledger/restored/restore.ts";
import type { Acted } from "../../operator/acts.ts";
import { nameOf } from "../../operator/why-waiting.ts";
import { type ActOptions, actOnEach, confirm, printDone, requireReason } from "../acting.ts";
import { askDaemon } from "../ask-daemon.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { getNamedOrder } from "../named-orders.ts";
import { type OpenSite, readConfig, withLedger, withService } from "../open.ts";
import type { Act as CommandAct, Session } from "../session.ts";

interface ChangeOptions extends ActOptions {
  readonly state?: readonly OrderState[];
  readonly override?: boolean;
  readonly notAtService?: boolean;
}

/** What commands do to each order that is named. */
const CHANGES = {
  retry: ["Retry", retry],
  discard: ["Discard", discard],
  release: ["Release", release],
} as const satisfies Record<string, readonly [verb: string, change: Change]>;

type Change = (site: ActSite, order: LedgerOrder, act: Act) => Promise<Acted>;

/** Beyond this a person should narrow the choice down. */
const MOST_AT_ONCE = 10_000;

/** `orders retry`, `orders discard` and `orders release`: status 1 when one of the orders could not be changed. */
export function changeOrders(name: keyof typeof CHANGES): CommandAct {
  return async (session, words: readonly string[], options: ChangeOptions) => {
    const { state, reason, yes, override: isOverride, notAtService } = options;
    if ((words.length === 0) === (state === undefined))
      throw new Failure("CLI_USAGE", `orders ${name}: name orders, or choose them with --state`);
    if (isOverride && notAtService)
      throw new Failure(
        "CLI_USAGE",
        "orders retry: --override and --not-at-service are for different orders",
      );
    if (isOverride) requireReason("orders retry --override", reason);
    if (notAtService) requireReason("orders retry --not-at-service", reason);
    const [verb, plain] = CHANGES[name];
    const change = notAtService ? sendAgain : isOverride ? override : plain;
    const act: Act = { actor: session.actor, reason };
    const status = await onOrders(session, { words, state, verb, yes }, (site, order) =>
      change(site, order, act),
    );
    if (name === "retry") await noteTroubles(session);
    return status;
  };
}

/** What keeps the daemon from trying at once, such as a service that is out of reach, and when it tries next. */
async function noteTroubles(session: Session): Promise<void> {
  const answer = await askDaemon(readConfig(session));
  if ("status" in answer) for (const reason of answer.status.reasons) session.note(reason);
}

/** `orders cancel`: status 1 when one of the orders can't be cancelled. */
export function cancelOrders(
  session: Session,
  words: readonly string[],
  { reason: given, yes }: ActOptions,
): Promise<ExitStatus | undefined> {
  const act = { actor: session.actor, reason: requireReason("orders cancel", given) };
  return onOrders(session, { words, verb: "Cancel", yes }, (site, order) => cancel(site, order, act));
}

/** `orders resolve`: links one order to what a person found at the service. */
export function resolveOrders(
  session: Session,
  word: string,
  { requestId, procedureId, unchecked: isUnchecked, reason }: ResolveOptions,
): Promise<ExitStatus | undefined> {
  if ((requestId === undefined) === (procedureId === undefined)) {
    const words =
      "name what you found at the service, with --request-id N or, for a facility of the external surface, with --procedure-id N";
    throw new Failure("CLI_USAGE", `orders resolve: ${words}`);
  }
  const act = { actor: session.actor, reason };
  return onOrders(session, { words: [word] }, (site, order) =>
    resolve(site, order, { requestId, procedureId, isUnchecked }, act),
  );
}

interface ResolveOptions extends ActOptions {
  readonly requestId?: number;
  readonly procedureId?: number;
  readonly unchecked?: boolean;
}

interface Chosen {
  readonly words: readonly string[];
  readonly state?: readonly OrderState[] | undefined;
  /** Asked with before more than one; absent where only one may be named. */
  readonly verb?: string;
  readonly yes?: boolean | undefined;
}

/** Does something to each order that words name or that is in some states, after asking where they are several. */
async function onOrders(
  session: Session,
  { words, state, verb, yes }: Chosen,
  change: (site: ActSite, order: LedgerOrder) => Promise<Acted>,
): Promise<ExitStatus | undefined> {
  const done = await withLedger(session, async (open) => {
    const { pool, config } = open;
    const site: ActSite = { pool, config, withService: (work) => withService(session, config, work) };
    const orders = await chooseOrders(open, words, state);
    return actOnEach(session, orders, {
      ask: [verb ?? "", "order"],
      yes,
      idOf: ({ id }) => formatId("o", id),
      nameOf,
      change: (order) => change(site, order),
    });
  });
  return printDone(session, done);
}

/** In the order of receipt. @throws Failure CLI_NOT_FOUND, CLI_USAGE for more than are changed at once */
async function chooseOrders(
  open: OpenSite,
  words: readonly string[],
  states: readonly OrderState[] | undefined,
): Promise<LedgerOrder[]> {
  if (states !== undefined) {
    const orders = await listOrders(open.pool, { states, limit: MOST_AT_ONCE + 1 });
    if (orders.length <= MOST_AT_ONCE) return orders.reverse();
    const why = `more than ${MOST_AT_ONCE} orders are ${states.join(" or ")}, and no more are changed at once: name some of them by their ids`;
    throw new Failure("CLI_USAGE", why);
  }
  const found = new Map<number, LedgerOrder>();
  for (const word of words) {
    const order = await getNamedOrder(open, word, "; nothing was done");
    found.set(order.id, order);
  }
  return [...found.values()].sort((one, other) => one.id - other.id);
}

/** `orders release-after-restore`: asks while orders are not compared yet; status 1 when there is no restore to lift. */
export async function releaseAfterRestore(
  session: Session,
  { reason: given, yes }: ActOptions,
): Promise<ExitStatus | undefined> {
  const reason = requireReason("orders release-after-restore", given);
  const acted = await withLedger(session, async ({ pool }) => {
    const waiting = (await findRestored(pool))?.uncompared ?? 0;
    const orders = waiting === 1 ? "1 open order was" : `${waiting} open orders were`;
    const question = `${orders} not compared with the service yet, and may be there already: submit anyway?`;
    if (waiting > 0 && !(await confirm(session, question, yes))) return undefined;
    const parked = await countMayBeThere(pool);
    const several = parked === 1 ? "1 parked order" : `${parked} parked orders`;
    const warning = `${several} may be at the service already (\`cryobridge orders list --state parked\`), and nothing guards them from being sent once more after this: link each by \`cryobridge orders resolve\` first. Go on nevertheless?`;
    if (parked > 0 && !(await confirm(session, warning, yes))) return undefined;
    return lift(pool, { actor: session.actor, reason });
  });
  if (acted === undefined) return EXIT.failed;
  const [isDone, text] = acted;
  return printDone(session, [{ id: "ledger", isDone, text }]);
}
