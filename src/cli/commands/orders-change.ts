import type pg from "pg";
import { type Config, wayOfFacility } from "../../config/config.ts";
import { Failure } from "../../core/failures.ts";
import { movesContainers } from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import { SURFACES } from "../../core/surface.ts";
import { formatId } from "../../ledger/ids.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import { findOrders, listOrders } from "../../ledger/operator/views.ts";
import {
  type ActResult,
  discardOrder,
  overrideOrder,
  releaseOrder,
  resolveOrder,
  retryOrder,
} from "../../ledger/orders/acts.ts";
import { type CancelResult, cancelOrder } from "../../ledger/orders/cancellations.ts";
import { isUnreconciled } from "../../ledger/orders/end-reconciling.ts";
import type { LedgerOrder, ServiceLink } from "../../ledger/orders/row.ts";
import { findRestored, liftRestored } from "../../ledger/restored/restore.ts";
import type { ServiceClient } from "../../service/client.ts";
import { differences } from "../../service/new-request.ts";
import { type ActOptions, actOnEach, confirm, printDone, requireReason } from "../acting.ts";
import { askDaemon } from "../ask-daemon.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { readConfig, withLedger, withService } from "../open.ts";
import { nameOf } from "../output/why-waiting.ts";
import type { Act as CommandAct, Session } from "../session.ts";
import { searchWords, sendAgain } from "./orders-send-again.ts";

interface ChangeOptions extends ActOptions {
  readonly state?: readonly OrderState[];
  readonly override?: boolean;
  readonly notAtService?: boolean;
}

type Change = (pool: pg.Pool, order: LedgerOrder, act: Act) => Promise<ActResult>;
/** Whether it was done, and what became of the order, in words. */
type Changed = readonly [isDone: boolean, words: string];

/** What commands do to each order that is named, and the words for what was done. */
const CHANGES = {
  retry: ["Retry", retryOrder, "will be tried again"],
  discard: ["Discard", discardOrder, "is discarded; it will be reported to the lab"],
  release: ["Release", releaseOrder, "is on hold no more and goes on"],
} as const satisfies Record<string, readonly [verb: string, change: Change, done: string]>;

/** Beyond this a person should narrow the choice down. */
const MOST_AT_ONCE = 10_000;
const SERVICE_WITHIN_MS = 60_000;

/** `orders retry`, `orders discard` and `orders release`: status 1 when one of the orders could not be changed. */
export function changeOrders(name: keyof typeof CHANGES): CommandAct {
  return async (session, words: readonly string[], options: ChangeOptions) => {
    const { state, reason, yes, override, notAtService } = options;
    if ((words.length === 0) === (state === undefined))
      throw new Failure("CLI_USAGE", `orders ${name}: name orders, or choose them with --state`);
    if (override && notAtService)
      throw new Failure(
        "CLI_USAGE",
        "orders retry: --override and --not-at-service are for different orders",
      );
    if (override) requireReason("orders retry --override", reason);
    if (notAtService) requireReason("orders retry --not-at-service", reason);
    const [verb, change, doneWords] = CHANGES[name];
    const status = await onOrders(session, { words, state, verb, yes }, async (pool, order, config) => {
      const act: Act = { actor: session.actor, reason };
      if (notAtService) return sendAgain({ session, pool, config }, order, act);
      if (!override) {
        const isSearched = name === "retry" && isUnreconciled(order);
        const done = isSearched ? searchWords(order, config) : doneWords;
        return changedOf(order, await change(pool, order, act), done);
      }
      const result = await overrideOrder(pool, order, act);
      return result === "not applicable"
        ? [false, "is not parked because it matches another order; nothing was done"]
        : changedOf(order, result, "goes past the other order and will be tried again");
    });
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
export async function cancelOrders(
  session: Session,
  words: readonly string[],
  { reason: given, yes }: ActOptions,
): Promise<ExitStatus | undefined> {
  const reason = requireReason("orders cancel", given);
  const { cancel } = readConfig(session).service;
  const offered = new Set(SURFACES.filter((surface) => cancel[surface] !== undefined));
  return onOrders(session, { words, verb: "Cancel", yes }, async (pool, order) => {
    const result = await cancelOrder(pool, order.id, { actor: session.actor, reason }, offered);
    return [result.kind !== "unable", cancelWords(result)];
  });
}

function cancelWords(result: CancelResult): string {
  switch (result.kind) {
    case "cancelled":
      return "is cancelled; it will be reported to the lab";
    case "asked":
      return "is at the storage service, which is asked to cancel it; cryobridge orders show has the outcome";
    case "waits":
      return "has a call under way or needs a person first; it is cancelled as soon as it is known what the service has of it";
    case "unable":
      return `can't be cancelled: ${result.refusal.text} (${result.refusal.code})`;
  }
}

/** `orders resolve`: links one order to what a person found at the service. */
export async function resolveOrders(
  session: Session,
  word: string,
  options: ResolveOptions,
): Promise<ExitStatus | undefined> {
  if ((options.requestId === undefined) === (options.procedureId === undefined)) {
    const words =
      "name what you found at the service, with --request-id N or, for a facility of the external surface, with --procedure-id N";
    throw new Failure("CLI_USAGE", `orders resolve: ${words}`);
  }
  return onOrders(session, { words: [word] }, async (pool, order, config) => {
    const link = toLink(order, options, config);
    if (options.unchecked !== true) await requireLinkOf(order, link, config, session);
    const result = await resolveOrder(pool, order, link, { actor: session.actor, reason: options.reason });
    return changedOf(order, result, "is linked to what was found at the service and followed from there");
  });
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
  change: (pool: pg.Pool, order: LedgerOrder, config: Config) => Promise<Changed>,
): Promise<ExitStatus | undefined> {
  const done = await withLedger(session, async ({ pool, config }) => {
    const orders = await chooseOrders(pool, words, state);
    if (verb === undefined && orders.length > 1) {
      const why = `${words.join()} names ${orders.length} orders; name one of them by its id`;
      throw new Failure("CLI_USAGE", why);
    }
    return actOnEach(session, orders, {
      ask: [verb ?? "", "order"],
      yes,
      idOf: ({ id }) => formatId("o", id),
      nameOf,
      change: (order) => change(pool, order, config),
    });
  });
  return printDone(session, done);
}

/** @throws Failure CLI_NOT_FOUND */
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

function changedOf(order: LedgerOrder, result: ActResult, doneWords: string): Changed {
  const words = {
    done: doneWords,
    "still on hold": `${doneWords} once it is released: it stays on hold (cryobridge orders release)`,
    "not applicable":
      order.state === "submitting"
        ? "is in a worker's hands right now, and tried already; see cryobridge orders show"
        : `can't be changed that way: it is ${order.state}${order.heldAt ? " and on hold" : ""}`,
    "reason wanted": "may be at the storage service, so discarding it wants a reason: add --reason",
  };
  return [result === "done" || result === "still on hold", words[result]];
}

/**
 * What a person found at the service for an order. The surface that the order's call went to decides, or before any
 * call the one of its facility.
 * @throws Failure CLI_USAGE when it was named as something that this surface doesn't make of orders.
 */
function toLink(order: LedgerOrder, { requestId, procedureId }: ResolveOptions, config: Config): ServiceLink {
  const surface = order.surface ?? wayOfFacility(config, order.facilityId).surface;
  if (surface === "request" && requestId !== undefined) return { surface, requestId };
  if (surface === "external" && procedureId !== undefined) return { surface, procedureId };
  const words =
    surface === "external"
      ? "goes by the external surface, where an order becomes a procedure: name that one with --procedure-id N"
      : "goes by the request surface, where an order becomes a procedure request: name that one with --request-id N";
  throw new Failure("CLI_USAGE", `${nameOf(order)} ${words}; nothing was done`);
}

/**
 * A mistyped number would report another patient's outcome to the lab: the service must have the request or procedure
 * under the order's subject, facility and operation.
 * @throws Failure CLI_NOT_APPLICABLE when it hasn't, and those of the service.
 */
async function requireLinkOf(
  order: LedgerOrder,
  link: ServiceLink,
  config: Config,
  session: Session,
): Promise<void> {
  const { facilityId, subject, operation } = order;
  if (!movesContainers(operation)) return;
  const signal = AbortSignal.timeout(SERVICE_WITHIN_MS);
  const isTheirs = await withService(session, config, async (service) => {
    if (link.surface === "external") return isProcedureOf(order, link.procedureId, service, signal);
    const ids = await service.snapshotRequestIds(facilityId, subject.code, operation, signal);
    return ids.includes(link.requestId);
  });
  if (isTheirs) return;
  const what = link.surface === "request" ? `request ${link.requestId}` : `procedure ${link.procedureId}`;
  const words = `the service lists no ${operation} ${what} for the order's subject and facility`;
  throw new Failure("CLI_NOT_APPLICABLE", `${words}; nothing was done (--unchecked links it without asking)`);
}

async function isProcedureOf(
  { facilityId, subject, operation, containers }: LedgerOrder,
  procedureId: number,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<boolean> {
  const procedure = await service.external.getProcedure(procedureId, signal).catch((error: unknown) => {
    if (error instanceof Failure && error.code === "SERVICE_NOT_FOUND") return undefined;
    throw error;
  });
  // Without a subject it could be anybody's.
  if (procedure?.subjectCode === undefined) return false;
  const common = { facilityId, subjectCode: subject.code };
  const containerIds = containers.flatMap((each) => each.containerId ?? []);
  const asked =
    operation === "RETRIEVAL"
      ? ({ ...common, type: "RETRIEVAL", containerIds } as const)
      : ({ ...common, type: "STORE", containers } as const);
  // Before the labels of a retrieval were looked up, its containers have no ids to compare.
  const isComparable = operation === "STORE" || containerIds.length === containers.length;
  const found = isComparable ? procedure : { ...procedure, containerIds: undefined };
  return differences(asked, found).length === 0;
}

/** `orders release-after-restore`: asks while orders are not compared yet; status 1 when there is no restore to lift. */
export async function releaseAfterRestore(
  session: Session,
  { reason: given, yes }: ActOptions,
): Promise<ExitStatus | undefined> {
  const reason = requireReason("orders release-after-restore", given);
  const text = await withLedger(session, async ({ pool }) => {
    const waiting = (await findRestored(pool))?.uncompared ?? 0;
    const orders = waiting === 1 ? "1 open order was" : `${waiting} open orders were`;
    const question = `${orders} not compared with the service yet, and may be there already: submit anyway?`;
    if (waiting > 0 && !(await confirm(session, question, yes))) return undefined;
    const uncompared = await liftRestored(pool, { actor: session.actor, reason });
    if (uncompared === undefined) return "";
    const rest = uncompared === 0 ? "" : ` (${uncompared} were not compared)`;
    return `nothing more is compared with the service on account of the restore${rest}; orders go on`;
  });
  if (text === undefined) return EXIT.failed;
  const nothing = "the ledger is not known to have been restored; nothing was done";
  return printDone(session, [{ id: "ledger", isDone: text !== "", text: text || nothing }]);
}
