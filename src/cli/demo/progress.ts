import type pg from "pg";
import { type Problem, problemSentence } from "../../core/failures.ts";
import { isTerminal } from "../../core/order-state.ts";
import { run } from "../../ledger/database.ts";
import { listWaitingCodes, type WaitingCode } from "../../ledger/messages/waiting.ts";
import { listOrders } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { nameOf, whyWaiting } from "../../operator/why-waiting.ts";
import type { Sample } from "./samples.ts";

interface FileView {
  readonly connector: string;
  readonly fileName: string;
  readonly status: "reading" | "taken" | "refused" | "duplicate";
  readonly problems: readonly Problem[];
}

/** What the ledger says of everything that the demonstration shows. */
export interface LedgerView {
  readonly files: readonly FileView[];
  /** Oldest first. */
  readonly orders: readonly LedgerOrder[];
  /** Facts that are in no result file yet. */
  readonly openOutcomes: number;
  /** Result files for the labs. */
  readonly results: readonly {
    readonly connector: string;
    readonly fileName: string;
    readonly state: "pending" | "delivered" | "parked" | "dropped";
  }[];
  /** What messages wait for. */
  readonly waiting: readonly WaitingCode[];
}

const FILES =
  'select f.connector, f.file_name as "fileName", f.status, f.problems from files f order by f.id';

/** Index: outcomes_open. */
const OPEN_OUTCOMES = "select count(*)::integer as count from outcomes t where not t.is_composed";

const RESULTS = 'select d.connector, d.file_name as "fileName", d.state from deliveries d order by d.id';

/** More orders than anybody drops while watching. */
const MOST_ORDERS = 1_000;

/**
 * Reads what the demonstration shows. What it reads in turn agrees: files before their orders, orders before what is
 * reported of them, and that before the files it is reported in, so that a view in which all of it is at its end can be
 * believed.
 */
export async function readLedger(pool: pg.Pool): Promise<LedgerView> {
  const files = await run<FileView>(pool, FILES);
  const orders = await listOrders(pool, { limit: MOST_ORDERS });
  const [open] = await run<{ count: number }>(pool, OPEN_OUTCOMES);
  const results = await run<LedgerView["results"][number]>(pool, RESULTS);
  const waiting = await listWaitingCodes(pool);
  return { files, orders: orders.toReversed(), openOutcomes: open?.count ?? 0, results, waiting };
}

/**
 * What is still missing until the samples are done, in words: each file taken, each good one without a mistake, each order
 * at its end, each result in the lab's folder. Empty when all is well.
 */
export function listUnfinished(dropped: readonly Sample[], view: LedgerView, nowMs: number): string[] {
  const { files, orders, openOutcomes, results } = view;
  const around = { nowMs, isDaemonThere: true, pausedQueues: [] };
  return [
    ...dropped.flatMap((sample) => unfinishedFile(sample, files)),
    ...orders
      .filter(({ state }) => !isTerminal(state))
      .map(
        (order) =>
          `order ${nameOf(order)} is ${order.state.replace("_", " ")}. ${whyWaiting(order, around)?.full ?? ""}`,
      ),
    ...results
      .filter(({ state }) => state !== "delivered")
      .map(
        ({ connector, fileName, state }) => `the result ${fileName} is not in ${connector}/out (${state})`,
      ),
    ...(openOutcomes === 0 ? [] : [`${openOutcomes} facts are in no result file yet`]),
  ];
}

function unfinishedFile({ sender, fileName, kind }: Sample, files: readonly FileView[]): string[] {
  const file = files.find((each) => each.connector === sender && each.fileName === fileName);
  if (!file || file.status === "reading") return [`${fileName} has not been taken from ${sender}/in yet`];
  const [problem] = file.problems;
  if (!problem || kind === "broken") return [];
  const why = problemSentence(problem);
  return [`${fileName} was refused although nothing is wrong with it: ${why}`];
}
