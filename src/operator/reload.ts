import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import type { Act } from "../ledger/operator/audit.ts";
import { askReload } from "../ledger/workers/configuration.ts";
import { listWorkers, type WorkerView } from "../ledger/workers/roster.ts";

const LOOK_EVERY_MS = 200;

/** What came of a request to reload. */
interface Reloaded {
  /** Workers that have answered, each with its configuration as it is now. */
  readonly answered: readonly WorkerView[];
  /** Workers that live and have not. */
  readonly silent: readonly WorkerView[];
}

/**
 * Has all workers take over what was changed in their configuration, and waits for their answers, at most `withinMs`.
 * Nobody answers where no worker lives.
 */
export async function reloadWorkers(
  pool: pg.Pool,
  by: Act,
  { clock, withinMs }: { readonly clock: Clock; readonly withinMs: number },
): Promise<Reloaded> {
  const asked = new Set(await askReload(pool, by));
  const untilMs = clock.monotonic() + withinMs;
  while (true) {
    const workers = (await listWorkers(pool, 0)).filter(({ id, isAlive }) => asked.has(id) && isAlive);
    const hasAnswered = ({ reload, configuration }: WorkerView) => (configuration?.answered ?? 0) === reload;
    const silent = workers.filter((worker) => !hasAnswered(worker));
    if (silent.length === 0 || clock.monotonic() >= untilMs)
      return { answered: workers.filter(hasAnswered), silent };
    await clock.sleep(LOOK_EVERY_MS);
  }
}
