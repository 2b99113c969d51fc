import type { Clock } from "../core/clock.ts";
import { asFailure, Failure } from "../core/failures.ts";
import type { LedgerAttention } from "../ledger/attention.ts";
import type { LeftBehind } from "../ledger/left-behind.ts";
import type { WaitingCode } from "../ledger/waiting-messages.ts";
import type { ConsoleDeps, LedgerCounts, Readiness, RefillOverview, ServiceChange } from "./deps.ts";
import { tellJournals } from "./tell-journals.ts";

/** What the questions below need of the console. */
type Asked = Omit<ConsoleDeps, "metrics" | "listeners">;

/** Longer than a healthy ledger ever takes, shorter than a browser or a monitor waits. */
const DEADLINE_MS = 5_000;

/** The answer, or CONSOLE_LEDGER_SILENT after five seconds: a monitor needs a word while the database hangs. */
export async function withDeadline<T>(answer: Promise<T>, clock: Clock): Promise<T> {
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

/** Readiness as a fact: when it can't be found out, it is "not ready", with the reason. Journals tell theirs by themselves. */
export async function askReadiness(deps: Asked): Promise<Readiness> {
  const findings = tellJournals(deps.journals?.() ?? []);
  try {
    const readiness = await withDeadline(deps.readiness(), deps.clock);
    return { ...readiness, reasons: [...readiness.reasons, ...findings] };
  } catch (error) {
    const failure = asFailure(error);
    deps.logger.warn({ err: failure }, "readiness could not be found out");
    return { ready: false, reasons: [`${failure.message} (${failure.code})`, ...findings] };
  }
}

/** The counts, or undefined while the ledger is out of reach. */
export async function askCounts(deps: Asked): Promise<LedgerCounts | undefined> {
  try {
    return await withDeadline(deps.counts(), deps.clock);
  } catch (error) {
    deps.logger.warn({ err: error }, "the ledger could not be counted");
    return undefined;
  }
}

/** What is known of refills; undefined when none are followed, or while the ledger is out of reach. */
export async function askRefills(deps: Asked): Promise<RefillOverview | undefined> {
  if (!deps.refills) return undefined;
  try {
    return await withDeadline(deps.refills(), deps.clock);
  } catch (error) {
    deps.logger.warn({ err: error }, "the refills could not be read");
    return undefined;
  }
}

/** What waits of connectors that aren't configured; undefined where nobody looks, or while the ledger is out of reach. */
export async function askLeftBehind(deps: Asked): Promise<readonly LeftBehind[] | undefined> {
  if (!deps.leftBehind) return undefined;
  try {
    return await withDeadline(deps.leftBehind(), deps.clock);
  } catch (error) {
    deps.logger.warn({ err: error }, "what waits of former connectors could not be read");
    return undefined;
  }
}

/** What messages wait for; undefined where nobody looks, or while the ledger is out of reach. */
export async function askWaiting(deps: Asked): Promise<readonly WaitingCode[] | undefined> {
  if (!deps.waiting) return undefined;
  try {
    return await withDeadline(deps.waiting(), deps.clock);
  } catch (error) {
    deps.logger.warn({ err: error }, "the waiting messages could not be read");
    return undefined;
  }
}

/** Failing results, paused queues and refused messages; undefined where nobody looks, or while the ledger is out of reach. */
export async function askAttention(deps: Asked): Promise<LedgerAttention | undefined> {
  if (!deps.attention) return undefined;
  try {
    return await withDeadline(deps.attention(), deps.clock);
  } catch (error) {
    deps.logger.warn({ err: error }, "what stands still could not be read");
    return undefined;
  }
}

/** What the service changed; undefined where nobody looks, or while the ledger is out of reach. */
export async function askServiceChanges(deps: Asked): Promise<readonly ServiceChange[] | undefined> {
  if (!deps.serviceChanges) return undefined;
  try {
    return await withDeadline(deps.serviceChanges(), deps.clock);
  } catch (error) {
    deps.logger.warn({ err: error }, "the service's changes could not be read");
    return undefined;
  }
}
