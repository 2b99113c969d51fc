import { EVERY_MS } from "../core/every.ts";

/** What of a backend of BullMQ's is changed here. */
interface StalledLooks {
  /** Gives out jobs again whose worker no longer renews their locks; gives their ids. */
  moveStalledJobsToWait(): Promise<string[]>;
}
/** BullMQ's way to a backend of a queue. */
export type CreateBackend = (name: string, ...more: readonly unknown[]) => StalledLooks;

/** A queue that was given no job for this long has none that anybody waits for, ms. */
const GIVEN_LATELY_MS = 60_000;

/**
 * Backends that look for stalled jobs as often as BullMQ asks only while this daemon gives their queue jobs, and rarely otherwise. The
 * feeder gives a queue what is due again and again until it is done, so what stalled is found by the daemon that waits for it.
 *
 * @param deps.addedAt when this daemon last gave a queue a job, monotonic ms; undefined when it never did
 */
export function sparing(
  create: CreateBackend,
  {
    monotonic,
    addedAt,
  }: { readonly monotonic: () => number; readonly addedAt: (queue: string) => number | undefined },
): CreateBackend {
  return (name, ...more) => {
    const backend = create(name, ...more);
    const look = backend.moveStalledJobsToWait.bind(backend);
    let lookedAt = Number.NEGATIVE_INFINITY;
    backend.moveStalledJobsToWait = async () => {
      const now = monotonic();
      const isQuiet = now - (addedAt(name) ?? Number.NEGATIVE_INFINITY) > GIVEN_LATELY_MS;
      if (isQuiet && now - lookedAt < EVERY_MS.quietQueue) return [];
      lookedAt = now;
      return look();
    };
    return backend;
  };
}
