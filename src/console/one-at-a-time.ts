import type { ConsoleDeps } from "./deps.ts";

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
