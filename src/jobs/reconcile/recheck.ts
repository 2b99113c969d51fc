import type pg from "pg";
import { asFailure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import type { Surface } from "../../core/surface.ts";
import { formatId } from "../../ledger/ids.ts";
import { changeOrders } from "../../ledger/orders/change.ts";
import { findClaimed, findDueRechecks, postponeRecheck } from "../../ledger/orders/reconciling.ts";
import { type LedgerOrder, linkOf } from "../../ledger/orders/row.ts";
import type { ServiceCalls } from "../../service/client.ts";
import { findCreated, WORD, WORDS } from "./reconcile.ts";

interface RecheckDeps {
  readonly pool: pg.Pool;
  readonly service: ServiceCalls;
  readonly logger: Logger;
  readonly settings: { readonly correlation: "token" | "labels" };
}

/** Orders that are looked for in one round. */
const MOST_AT_ONCE = 20;
/** A look that failed, or whose order has a call under way, is put off by this. */
const PUT_OFF_MS = 900_000;

/**
 * Looks once more for what earlier calls of orders made that were sent again because nothing was found: a list may have
 * lagged for longer than was waited. Whatever is the order's beside what it is followed by opens a task with both ids.
 *
 * @returns how many orders were looked for
 */
export async function recheckDue(deps: RecheckDeps, signal: AbortSignal): Promise<number> {
  const due = await findDueRechecks(deps.pool, MOST_AT_ONCE);
  for (const order of due) {
    try {
      if (order.intent === "request" || ["received", "queued", "submitting"].includes(order.state)) {
        // Its own look comes first.
        await postponeRecheck(deps.pool, order.id, PUT_OFF_MS);
      } else await recheck(order, deps, signal);
    } catch (error) {
      const { code } = asFailure(error);
      deps.logger.warn(
        { order: formatId("o", order.id), connector: order.connector, code },
        "order that was sent again could not be looked for; it is put off",
      );
      await postponeRecheck(deps.pool, order.id, PUT_OFF_MS);
    }
  }
  return due.length;
}

async function recheck(order: LedgerOrder, deps: RecheckDeps, signal: AbortSignal): Promise<void> {
  const surface = order.surface ?? "request";
  const found = await findCreated(surface, order, deps, signal);
  const link = linkOf(order);
  const own = link?.surface === "request" ? link.requestId : link?.procedureId;
  // A storage is proved by its mark; what only has its labels is somebody else's as well as not.
  const isMarked = order.operation === "STORE" && deps.settings.correlation === "token";
  const former = isMarked ? await findFormer(surface, order, deps, signal) : [];
  const possible = new Set([...((isMarked ? found.marked : found.candidates) ?? []), ...former]);
  const claimed = await findClaimed(deps.pool, surface, [...found.matches, ...possible], order.id);
  const certain = found.matches.filter((id) => id !== own);
  const perhaps = [...possible].filter((id) => id !== own && !claimed.has(id) && !certain.includes(id));
  const others = [...certain, ...perhaps];
  const text = others.length === 0 ? undefined : describe(surface, order, own, { certain, perhaps });
  const changed = await changeOrders(deps.pool, [
    {
      orderId: order.id,
      from: [order.state],
      isRechecked: true,
      event: { kind: "rechecked", detail: { found: text ?? "nothing else" } },
      task: text === undefined ? undefined : { kind: "duplicate", text },
    },
  ]);
  if (text !== undefined && changed.size > 0) {
    deps.logger.warn(
      { order: formatId("o", order.id), connector: order.connector },
      "order may be at the service more than once; a task is open",
    );
  }
}

/** What carries a mark that the order had before it was changed: the call of then was refused, and may be listed only now. */
async function findFormer(
  surface: Surface,
  order: LedgerOrder,
  deps: RecheckDeps,
  signal: AbortSignal,
): Promise<number[]> {
  const ids: number[] = [];
  for (const mark of order.formerMarks) {
    const { matches, marked = [] } = await findCreated(surface, order, deps, signal, mark);
    ids.push(...matches, ...marked);
  }
  return ids;
}

function describe(
  surface: Surface,
  order: LedgerOrder,
  own: number | undefined,
  { certain, perhaps }: { readonly certain: readonly number[]; readonly perhaps: readonly number[] },
): string {
  const name = (ids: readonly number[]) =>
    `${(ids.length === 1 ? WORD : WORDS)[surface]} ${ids.join(" and ")}`;
  const isOwnAlone = own === undefined && certain.length + perhaps.length === 1;
  if (own === undefined) {
    const verb = isOwnAlone ? "is" : "are";
    const sure = perhaps.length === 0 ? "" : " perhaps";
    return `${name([...certain, ...perhaps])} at the service ${verb}${sure} this order's, which is ${order.state.replace("_", " ")} here: have it cancelled there, or see to the order`;
  }
  if (perhaps.length === 0) {
    return `${name([own, ...certain])} at the service are both this order's; have one cancelled`;
  }
  const rest = [...certain, ...perhaps];
  return `the order was sent twice and has ${name([own])}; ${name(rest)} at the service came since and may be its first call's; if so, have one of them cancelled`;
}
