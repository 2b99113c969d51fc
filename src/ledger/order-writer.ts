import type pg from "pg";
import { Failure } from "../core/failures.ts";
import { groupCommit } from "../core/group-commit.ts";
import { inTransaction } from "./database.ts";
import { isDeadlock } from "./database-failures.ts";
import { changeOrdersWithin, type OrderChange } from "./orders/change.ts";
import { findLabelHolders, type LabelHolder, lockLabels } from "./orders/label-subjects.ts";
import { type NewCall, recordCalls } from "./orders/new-calls.ts";
import type { Epoch } from "./restored/epoch.ts";

/** What is recorded of one order at once: the change first, and then its next call. */
interface Step {
  readonly change?: OrderChange | undefined;
  readonly call?: NewCall | undefined;
}

/** Whether a call is written down. */
type CallResult =
  /** It is on disk, since `at` by the database's clock, and a copy of the ledger without it would be known: the call may leave. */
  | { readonly kind: "recorded"; readonly at: Date }
  /** The order is no longer this worker's. Nothing may be sent. */
  | { readonly kind: "not ours" }
  /** An order of another subject has one of its labels. Nothing may be sent. */
  | { readonly kind: "label taken"; readonly by: LabelHolder };

interface Written {
  readonly isChanged: boolean;
  readonly call: CallResult;
  /** The ledger's epoch since the calls of this commit; undefined where there were none. */
  readonly epoch: number | undefined;
}

/**
 * Records steps of orders that are worked on at the same time, each as if it were alone, with shared commits: while one
 * is under way, what comes meanwhile gathers for the next. A hundred orders in flight cost a few statements and flushes
 * instead of hundreds. A claim of an order has one step under way at a time.
 */
export interface OrderWriter {
  /**
   * Applies one change; see `changeOrders`.
   *
   * @returns false when its conditions no longer hold: somebody else has moved the order on
   * @throws Failure REQUEST_CLAIMED, LEDGER_UNAVAILABLE
   */
  change(change: OrderChange): Promise<boolean>;
  /**
   * Writes down that a call which changes the service is about to leave, after a change of the same order where one is
   * given. On disk when it resolves, and the ledger's epoch is raised.
   *
   * With `needsFreeLabels` nobody else passes that guard for one of the order's labels until the call is written down.
   *
   * @throws Failure LEDGER_UNAVAILABLE, LEDGER_EPOCH_UNUSABLE, LEDGER_WENT_BACK
   */
  intend(call: NewCall, after?: OrderChange): Promise<CallResult>;
}

/** Steps of one commit at most. */
const MOST_STEPS = 256;

/** Opens a writer on a pool, of which it uses one connection at a time. */
export function openOrderWriter(pool: pg.Pool, epoch: Pick<Epoch, "raise" | "keep">): OrderWriter {
  const commit = groupCommit<Step, Written>(
    (steps) => inTransaction(pool, (client) => write(client, steps, epoch)),
    { items: MOST_STEPS, bytes: Number.POSITIVE_INFINITY },
    mayBeOnesFault,
  );
  // Each step is a source of its own: one that fails stops none of the same order's later ones.
  const record = (step: Step) => commit(step, 0, step);
  return {
    change: async (change) => (await record({ change })).isChanged,
    intend: async (call, after) => {
      const written = await record({ change: after, call });
      if (written.call.kind === "recorded" && written.epoch !== undefined) await epoch.keep(written.epoch);
      return written.call;
    },
  };
}

/**
 * Each order's first step together, then the others: one that was taken back from this worker, and claimed by it once more, may bring a step
 * of each claim at once, and what becomes of the one says nothing of the other.
 */
async function write(
  client: pg.PoolClient,
  steps: readonly Step[],
  epoch: Pick<Epoch, "raise">,
): Promise<Written[]> {
  // Those of all of them first: what is locked round by round isn't locked in order.
  await lockLabels(client, guardedOf(steps));
  const written = new Map<Step, Omit<Written, "epoch">>();
  for (let left = steps; left.length > 0; left = left.filter((step) => !written.has(step))) {
    const firsts = [...Map.groupBy(left, orderOf).values()].flatMap((ofOrder) => ofOrder.slice(0, 1));
    const results = await writeOrders(client, firsts);
    for (const [n, result] of results.entries()) written.set(firsts[n] as Step, result);
  }
  // Whoever writes calls down comes to the ledger's row last.
  const isCalled = [...written.values()].some(({ call }) => call.kind === "recorded");
  const raised = isCalled ? await epoch.raise(client) : undefined;
  return steps.flatMap((step) => {
    const result = written.get(step);
    return result ? { ...result, epoch: raised } : [];
  });
}

/** The orders whose labels have to be free for their calls. */
const guardedOf = (steps: readonly Step[]): number[] =>
  steps.flatMap(({ call }) => (call?.needsFreeLabels ? [call.orderId] : []));

const orderOf = ({ change, call }: Step) => (change ?? call)?.orderId;

/** Steps of different orders. */
async function writeOrders(client: pg.PoolClient, steps: readonly Step[]): Promise<Omit<Written, "epoch">[]> {
  const changed = await changeOrdersWithin(
    client,
    steps.flatMap(({ change }) => change ?? []),
  );
  const calls = steps.flatMap(({ call }) => call ?? []);
  const holders = await findLabelHolders(client, guardedOf(steps));
  const recordedAt = await recordCalls(
    client,
    calls.filter(({ orderId }) => !holders.has(orderId)),
  );
  return steps.map(({ change, call }) => ({
    isChanged: change !== undefined && changed.has(change.orderId),
    call: resultOf(call, holders, recordedAt),
  }));
}

function resultOf(
  call: NewCall | undefined,
  holders: ReadonlyMap<number, LabelHolder>,
  recordedAt: ReadonlyMap<number, Date>,
): CallResult {
  const by = call && holders.get(call.orderId);
  if (by) return { kind: "label taken", by };
  const at = call && recordedAt.get(call.orderId);
  return at ? { kind: "recorded", at } : { kind: "not ours" };
}

/** A ledger that is out of reach is nobody's fault; a deadlock is that of one order that two transactions hold. */
function mayBeOnesFault(error: unknown): boolean {
  return !(error instanceof Failure) || error.code !== "LEDGER_UNAVAILABLE" || isDeadlock(error);
}
