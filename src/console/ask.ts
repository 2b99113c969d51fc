import type { Clock } from "../core/clock.ts";
import { asFailure, Failure } from "../core/failures.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import type { LedgerAttention } from "../ledger/operator/attention.ts";
import type { Restored } from "../ledger/restored/restore.ts";
import type { Orphaned } from "../ledger/results/orphaned.ts";
import type { WorkerView } from "../ledger/workers/roster.ts";
import type { AskedDeps, ConsoleDeps } from "./deps.ts";
import type { ExceededLimit, LedgerCounts, OrderRow, Readiness, RefillOverview } from "./facts.ts";

/** Longer than a healthy ledger ever takes, shorter than a browser or a monitor waits. */
const DEADLINE_MS = 5_000;

/** The answer, or CONSOLE_LEDGER_SILENT after five seconds: a monitor needs a word while the database hangs. */
async function withDeadline<T>(answer: Promise<T>, clock: Clock): Promise<T> {
  const finished = new AbortController();
  const late = clock.sleep(DEADLINE_MS, finished.signal).then(() => {
    throw new Failure("CONSOLE_LEDGER_SILENT", "the ledger gave no answer within 5 s");
  });
  // Rejected on purpose once the answer is there.
  late.catch(() => undefined);
  try {
    return await Promise.race([answer, late]);
  } finally {
    finished.abort();
  }
}

/** The answer; undefined where nobody looks, or, with a warning, while the ledger is out of reach. */
export async function ask<T>(
  { logger, clock }: Pick<AskedDeps, "logger" | "clock">,
  question: (() => Promise<T>) | undefined,
  warning: string,
): Promise<T | undefined> {
  if (!question) return undefined;
  try {
    return await withDeadline(question(), clock);
  } catch (error) {
    logger.warn({ err: error }, warning);
    return undefined;
  }
}

/** Readiness as a fact: when it can't be found out, it is "not ready", with the reason. */
export async function askReadiness(deps: AskedDeps): Promise<Readiness> {
  try {
    return await withDeadline(deps.readiness(), deps.clock);
  } catch (error) {
    const failure = asFailure(error);
    deps.logger.warn({ err: failure }, "readiness could not be found out");
    return { ready: false, reasons: [`${failure.message} (${failure.code})`] };
  }
}

/** The counts, or undefined while the ledger is out of reach. */
export function askCounts(deps: AskedDeps): Promise<LedgerCounts | undefined> {
  return ask(deps, deps.counts, "the ledger could not be counted");
}

/** Orders, by one of the console's questions for them; undefined while the ledger is out of reach. */
export function askOrders(
  deps: AskedDeps,
  question: () => Promise<readonly OrderRow[]>,
): Promise<readonly OrderRow[] | undefined> {
  return ask(deps, question, "orders could not be listed");
}

/** What is known of refills; undefined when none are followed, or while the ledger is out of reach. */
export function askRefills(deps: AskedDeps): Promise<RefillOverview | undefined> {
  return ask(deps, deps.refills, "the refills could not be read");
}

/** What waits of connectors that aren't configured; undefined where nobody looks, or while the ledger is out of reach. */
export function askOrphaned(deps: AskedDeps): Promise<readonly Orphaned[] | undefined> {
  return ask(deps, deps.orphaned, "what waits of former connectors could not be read");
}

/** The daemons of this ledger; undefined where nobody looks, or while the ledger is out of reach. */
export function askWorkers(deps: AskedDeps): Promise<readonly WorkerView[] | undefined> {
  return ask(deps, deps.workers, "the workers could not be read");
}

/** Which limits are exceeded; undefined where nobody looks, or while that can't be found out. */
export function askLimits(deps: AskedDeps): Promise<readonly ExceededLimit[] | undefined> {
  return ask(deps, deps.limits, "which limits are exceeded could not be found out");
}

/** What messages wait for; undefined where nobody looks, or while the ledger is out of reach. */
export function askWaiting(deps: AskedDeps): Promise<readonly WaitingCode[] | undefined> {
  return ask(deps, deps.waiting, "the waiting messages could not be read");
}

/** Failing results, paused queues and refused messages; undefined where nobody looks, or while the ledger is out of reach. */
export function askAttention(deps: AskedDeps): Promise<LedgerAttention | undefined> {
  return ask(deps, deps.attention, "what stands still could not be read");
}

/** The restore of the ledger that is seen to; null when there is none, undefined while the ledger is out of reach. */
export function askRestored(deps: AskedDeps): Promise<Restored | null | undefined> {
  const { restored } = deps;
  return ask(
    deps,
    restored && (async () => (await restored()) ?? null),
    "whether the ledger was restored could not be read",
  );
}

/**
 * The same questions, each asked of the ledger once at a time: who asks while an answer is on its way gets that answer. So
 * pages and monitors that ask again and again, of a ledger that is slow or hangs, take no more of its connections.
 */
export function askOnceAtATime(deps: ConsoleDeps): ConsoleDeps {
  return {
    ...deps,
    readiness: once(deps.readiness),
    counts: once(deps.counts),
    recentOrders: once(deps.recentOrders),
    stuckOrders: once(deps.stuckOrders),
    refills: deps.refills && once(deps.refills),
    waiting: deps.waiting && once(deps.waiting),
    attention: deps.attention && once(deps.attention),
    orphaned: deps.orphaned && once(deps.orphaned),
    workers: deps.workers && once(deps.workers),
    limits: deps.limits && once(deps.limits),
  };
}

function once<A extends readonly number[], T>(ask: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  const underWay = new Map<string, Promise<T>>();
  return (...args) => {
    const key = args.join();
    const asked = underWay.get(key) ?? ask(...args).finally(() => underWay.delete(key));
    underWay.set(key, asked);
    return asked;
  };
}
