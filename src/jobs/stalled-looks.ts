import { EVERY_MS } from "../core/every.ts";

/** What of a backend of BullMQ's is changed here. */
interface StalledLooks {
  /** Gives out jobs again whose worker no longer renews their locks; gives their ids. */
  moveStalledJobsToWait(): Promise<string[]>;
}
/** BullMQ's way to a backend of a queue. */
export type CreateBackend = (name: string, ...more: readonly unknown[]) => StalledLooks;

/** A queue of which nobody wanted anything for this long has no job that anybody waits for, ms. */
const AWAITED_LATELY_MS = 60_000;

/**
 * Backends that look for stalled jobs as often as BullMQ asks only while this daemon waits for jobs of their queue, and rarely otherwise.
 * The feeder gives a queue what is due again and again until it is done, and asks for what it handed over to others.
 *
 * @param deps.awaitedAt when this daemon last gave a queue jobs, or asked for some, monotonic ms; undefined when it never did
 */
export function sparing(
  create: CreateBackend,
  {
    monotonic,
    awaitedAt,
  }: { readonly monotonic: () => number; readonly awaitedAt: (queue: string) => number | undefined },
): CreateBackend {
  return (name, ...more) => {
    const backend = create(name, ...more);
    const look = backend.moveStalledJobsToWait.bind(backend);
    let lookedAt = Number.NEGATIVE_INFINITY;
    backend.moveStalledJobsToWait = async () => {
      const now = monotonic();
      const isQuiet = now - (awaitedAt(name) ?? Number.NEGATIVE_INFINITY) > AWAITED_LATELY_MS;
      if (isQuiet && now - lookedAt < EVERY_MS.quietQueue) return [];
      lookedAt = now;
      return look();
    };
    return backend;
  };
}
