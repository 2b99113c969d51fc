import type { Command } from "commander";
import type { OrderState } from "../core/order-state.ts";
import { formatId } from "../ledger/ids.ts";
import { recordAudit } from "../ledger/operator.ts";
import type { LedgerOrder } from "../ledger/order-row.ts";
import { listOrders } from "../ledger/views.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { reveal } from "./hidden.ts";
import { noteMore } from "./more-note.ts";
import { orderJson } from "./order-json.ts";
import { showNumber } from "./order-number.ts";
import type { Paint, Session } from "./session.ts";
import { type Cell, renderTable } from "./table.ts";
import { localTime, parseSince, relativeTime } from "./times.ts";

interface ListOptions {
  readonly state?: readonly OrderState[];
  readonly connector?: string;
  readonly subject?: string;
  readonly since?: string;
  readonly limit: number;
}

/** `orders list`. */
export async function listOrdersCommand(session: Session, command: Command): Promise<undefined> {
  const options = command.opts<ListOptions>();
  const since = options.since === undefined ? undefined : parseSince(options.since, session.clock.now());
  const found = await withLedger(session, readConfig(session), async ({ pool }) => {
    const orders = await listOrders(pool, {
      states: options.state,
      connector: options.connector,
      subjectCode: options.subject,
      since,
      limit: options.limit + 1,
    });
    const shown = orders.slice(0, options.limit);
    if (session.mayShowPhi && shown.length > 0) {
      const targets = shown.map(({ id }) => ({ target: formatId("o", id) }));
      await recordAudit(pool, { actor: session.actor }, "show-phi", targets);
    }
    return { shown, hasMore: orders.length > shown.length };
  });
  if (session.isJson) {
    session.json({
      orders: found.shown.map((order) => orderJson(order, session.mayShowPhi)),
      hasMore: found.hasMore,
    });
    return undefined;
  }
  if (found.shown.length === 0) session.line("No orders.");
  else for (const line of orderTable(found.shown, session)) session.line(line);
  if (found.hasMore) noteMore(session, found.shown.length);
  return undefined;
}

/** The lines of a table of orders. */
export function orderTable(orders: readonly LedgerOrder[], session: Session): string[] {
  const now = session.clock.now();
  return renderTable(
    [
      { title: "id" },
      { title: "order number", isFlexible: true },
      { title: "operation" },
      { title: "facility", isFlexible: true },
      { title: "subject", isFlexible: true },
      { title: "state" },
      { title: "since" },
      { title: "age", isRight: true },
      { title: "request", isRight: true },
      { title: "procedure", isRight: true },
      { title: "reason", isFlexible: true },
    ],
    orders.map((order): Cell[] => [
      formatId("o", order.id),
      showNumber(order),
      order.operation,
      order.facilityCode,
      reveal(order.subject.code, session.mayShowPhi) ?? "",
      {
        text: order.heldAt ? `${order.state} (on hold)` : order.state,
        paint: (text) => session.paint(order.heldAt ? ["yellow"] : stateStyles(order.state), text),
      },
      localTime(order.changedAt),
      relativeTime(order.changedAt, now),
      order.requestId?.toString() ?? "",
      order.procedureId?.toString() ?? "",
      order.failure ? `${order.failure.code}: ${order.failure.text}` : "",
    ]),
    session.width,
  );
}

/** How a state is coloured: those that a person looks for stand out. */
export function stateStyles(state: OrderState): readonly Paint[] {
  return STYLES_BY_STATE[state] ?? [];
}

const STYLES_BY_STATE: Readonly<Partial<Record<OrderState, readonly Paint[]>>> = {
  completed: ["green"],
  parked: ["yellow"],
  failed: ["red"],
  rejected: ["red"],
  cancelled: ["red"],
  discarded: ["dim"],
};
