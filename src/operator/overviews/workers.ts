import type pg from "pg";
import { listWorkers, type WorkerView } from "../../ledger/workers/roster.ts";
import type { Viewer } from "../column.ts";
import { CONFIGURATION_COLUMNS, type ConfiguredWorker, withConfiguration } from "../configuration-columns.ts";
import { type Overview, tablePart } from "../parts.ts";
import { asSentence, NO_DAEMON } from "../text.ts";
import { WORKER_COLUMNS } from "../worker-columns.ts";

/** The daemons, and how their configuration stands. */
interface WorkerOverview extends Overview {
  readonly workers: readonly WorkerView[];
}

/** The daemons that work with the ledger, those that ended within a day among them. */
export async function readWorkerOverview(pool: pg.Pool, viewer: Viewer): Promise<WorkerOverview> {
  const workers = await listWorkers(pool);
  const configured = withConfiguration(workers);
  const mistakes = new Set(configured.flatMap(({ configuration }) => configuration.problems));
  return {
    workers,
    remarks: [...mistakes].map((text) => ({ title: "Mistake in the file:", text, isAct: true })),
    parts: [
      tablePart<WorkerView>(
        "workers",
        { columns: WORKER_COLUMNS, rows: workers, nothing: asSentence(NO_DAEMON) },
        viewer,
      ),
      tablePart<ConfiguredWorker>(
        "configuration",
        { title: "Configuration", columns: CONFIGURATION_COLUMNS, rows: configured },
        viewer,
      ),
    ],
  };
}
