import { listWorkers, type WorkerView } from "../../ledger/workers/roster.ts";
import {
  CONFIGURATION_COLUMNS,
  CONFIGURATIONS,
  type ConfiguredWorker,
  withConfiguration,
} from "../../operator/configuration-columns.ts";
import { DRAIN, RELOAD, workerNumber } from "../../operator/things/workers.ts";
import { NO_WORKER, WORKER_COLUMNS } from "../../operator/worker-columns.ts";
import { formOf } from "../act-forms.ts";
import { listTable, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Content, html } from "../html.ts";
import type { Site, Visit } from "../site.ts";
import { addSiteAct } from "../site-acts.ts";

const PATH = "/workers";

/** The daemons that work with the ledger, and draining one. */
export function addWorkerPage(site: Site, records: Records): void {
  const { pool } = records;
  site.page(PATH, async (visit) => {
    const workers = await listWorkers(pool);
    const mayDrain = ({ endedAt, drainAt }: WorkerView) => !endedAt && !drainAt;
    return {
      title: "Workers",
      section: PATH,
      isLive: true,
      body: html`
<h1>Workers</h1>
${listTable(WORKER_COLUMNS, workers, visit.viewer, { nothing: NO_WORKER })}
<div class="acts">${workers.filter(mayDrain).map((worker) => formOf(DRAIN, `${PATH}/w${worker.id}/drain`, worker, visit))}</div>
${section(CONFIGURATIONS[1], configurationOf(withConfiguration(workers), visit))}`,
    };
  });
  addSiteAct(site, `${PATH}/reload`, RELOAD, records, () => ({}));
  addSiteAct(site, `${PATH}/:id/drain`, DRAIN, records, ({ params: { id = "" } }) => {
    const number = workerNumber(id);
    return number === undefined ? undefined : { id: number };
  });
}

function configurationOf(workers: readonly ConfiguredWorker[], visit: Visit): Content {
  if (workers.length === 0) return "";
  const mistakes = workers.flatMap(({ configuration }) => configuration.problems);
  return html`
${listTable(CONFIGURATION_COLUMNS, workers, visit.viewer, { nothing: "" })}
${mistakes.length > 0 ? html`<div class="why act"><strong>Mistakes in the file</strong><ul class="plain">${[...new Set(mistakes)].map((line) => html`<li>${line}</li>`)}</ul></div>` : ""}
<div class="acts">${formOf(RELOAD, `${PATH}/reload`, {}, visit)}</div>`;
}
