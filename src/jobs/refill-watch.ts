import { asFailure, type Failure } from "../core/failures.ts";
import { listSubscriptions, type RefillSubscription } from "../ledger/refill-subscriptions.ts";
import { backoffMs } from "./backoff.ts";
import { PutOffReads } from "./put-off-reads.ts";
import { type RefillDeps, readFacilityRefills } from "./refills.ts";

export interface RefillWatchDeps extends Omit<RefillDeps, "putOff"> {
  readonly everyMs: number;
  readonly random: () => number;
  /** Whether this process may read right now: it holds the submitter's lock and the service is in reach. */
  readonly mayRead: () => boolean;
}

/** The following of refills, until it is stopped. */
export interface RefillWatch {
  /** Which facilities can't be read, and why; one sentence each. */
  troubles(): string[];
  stop(): Promise<void>;
}

/** While reading is not possible, it is looked again after this. */
const WAIT_MS = 1_000;
const FIRST_RETRY_MS = 5_000;
/** A list of more pages than that is read so much seldomer that it costs a page in two seconds at most. */
const FREE_PAGES = 10;
const MS_PER_PAGE = 2_000;
/** A service may fail now and then; from the third time in a row it is worth a word. */
const FAILURES_BEFORE_WORDS = 3;

/** Begins to read the refills of the facilities that are subscribed, each in its own rhythm and at once for a start. */
export function watchRefills(facilityIds: readonly number[], deps: RefillWatchDeps): RefillWatch {
  const stopping = new AbortController();
  const troubleByFacility = new Map<number, string>();
  const running = Promise.all(
    facilityIds.map((facilityId) => watchFacility(facilityId, deps, stopping.signal, troubleByFacility)),
  );
  return {
    troubles: () => [...troubleByFacility.values()],
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function watchFacility(
  facilityId: number,
  deps: RefillWatchDeps,
  signal: AbortSignal,
  troubleByFacility: Map<number, string>,
): Promise<void> {
  const putOff = new PutOffReads();
  let failures = 0;
  let name = `facility ${facilityId}`;
  const sleep = (ms: number) => deps.clock.sleep(ms, signal).catch(() => undefined);
  while (!signal.aborted) {
    if (!deps.mayRead()) {
      await sleep(WAIT_MS);
      continue;
    }
    try {
      const subscription = await findSubscription(facilityId, deps);
      if (!subscription) return;
      name = subscription.facilityCode;
      const { pages, unread } = await readFacilityRefills(subscription, { ...deps, putOff }, signal);
      failures = 0;
      if (unread === undefined) troubleByFacility.delete(facilityId);
      else troubleByFacility.set(facilityId, `the refills of ${name} were not all read: ${unread}`);
      await sleep(nextMs(pages, deps.everyMs));
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      const failure = asFailure(error);
      deps.logger.warn(
        { facilityId, failures, err: failure },
        "refills could not be read; they are read again",
      );
      if (failures >= FAILURES_BEFORE_WORDS) troubleByFacility.set(facilityId, words(name, failure));
      await sleep(retryMs(failures, failure, deps));
    }
  }
}

/** When a facility is read again: 500 pages every 10 minutes would be too much, so they are read every 17. */
export function nextMs(pages: number, everyMs: number): number {
  return pages <= FREE_PAGES ? everyMs : Math.max(everyMs, pages * MS_PER_PAGE);
}

async function findSubscription(
  facilityId: number,
  { pool }: RefillWatchDeps,
): Promise<RefillSubscription | undefined> {
  return (await listSubscriptions(pool)).find((each) => each.facilityId === facilityId);
}

function retryMs(failures: number, failure: Failure, { everyMs, random }: RefillWatchDeps): number {
  const backoff = { firstMs: Math.min(FIRST_RETRY_MS, everyMs), maxMs: everyMs };
  return backoffMs(failures, backoff, random(), failure.retryAfterMs);
}

function words(name: string, { code, message }: Failure): string {
  return `the refills of ${name} can't be read: ${message} (${code})`;
}
