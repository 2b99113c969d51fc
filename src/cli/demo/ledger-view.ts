import type pg from "pg";
import type { Problem } from "../../core/failures.ts";
import { run } from "../../ledger/database.ts";
import type { LedgerOrder } from "../../ledger/order-row.ts";
import { listOrders, type OrderEvent } from "../../ledger/views.ts";
import { listWaitingCodes, type WaitingCode } from "../../ledger/waiting-messages.ts";

/** A file that came in through a connector. */
export interface FileView {
  readonly connector: string;
  readonly fileName: string;
  readonly status: "reading" | "taken" | "refused" | "duplicate";
  readonly problems: readonly Problem[];
}

/** A result file for the lab. */
export interface ResultView {
  readonly id: number;
  readonly connector: string;
  readonly fileName: string;
  readonly state: "pending" | "delivered" | "parked" | "dropped";
}

/** An entry of an order's timeline. */
export interface Move extends OrderEvent {
  readonly orderId: number;
}

/** What the ledger says of everything that the demonstration shows. */
export interface LedgerView {
  readonly files: readonly FileView[];
  /** Oldest first. */
  readonly orders: readonly LedgerOrder[];
  /** Those that no earlier view had, oldest first. */
  readonly moves: readonly Move[];
  /** Facts that are in no result file yet. */
  readonly openOutcomes: number;
  readonly results: readonly ResultView[];
  /** What messages wait for. */
  readonly waiting: readonly WaitingCode[];
}

const FILES =
  'select f.connector, f.file_name as "fileName", f.status, f.problems from files f order by f.id';

/** $1 highest id that may be left out. Index: the primary key. */
const MOVES = `
select e.id, e.order_id as "orderId", e.at, e.kind, e.to_state as "toState", e.detail
  from order_events e
 where e.id > $1
 order by e.id`;

/** Index: outcomes_open. */
const OPEN_OUTCOMES = "select count(*)::integer as count from outcomes t where not t.is_composed";

const RESULTS =
  'select d.id, d.connector, d.file_name as "fileName", d.state from deliveries d order by d.id';

/** Ids are given out before the commit, so an entry may become visible after a later one; none is so late. */
const LATE_IDS = 500;
/** More orders than anybody drops while watching. */
const MOST_ORDERS = 1_000;

/**
 * A reader of the ledger that remembers which timeline entries it has given. What it reads in turn agrees: files before
 * their orders, orders before what is told of them, and that before the files it is told in, so that a view in which
 * all of it is at its end can be believed.
 */
export function createLedgerReader(pool: pg.Pool): () => Promise<LedgerView> {
  const seen = new Set<number>();
  let highest = 0;
  return async () => {
    const files = await run<FileView>(pool, FILES);
    const orders = await listOrders(pool, { limit: MOST_ORDERS });
    const rows = await run<Move & { id: number }>(pool, MOVES, [highest - LATE_IDS]);
    const moves = rows.filter(({ id }) => !seen.has(id));
    const [open] = await run<{ count: number }>(pool, OPEN_OUTCOMES);
    const results = await run<ResultView>(pool, RESULTS);
    const waiting = await listWaitingCodes(pool);
    for (const { id } of moves) {
      seen.add(id);
      highest = Math.max(highest, id);
    }
    return { files, orders: orders.toReversed(), moves, openOutcomes: open?.count ?? 0, results, waiting };
  };
}
