import { formatId, parseId } from "../../ledger/ids.ts";
import type { WorkerView } from "../../ledger/workers/roster.ts";
import { readWorkerOverview } from "../../operator/overviews/workers.ts";
import { DRAIN, RELOAD } from "../../operator/things/workers.ts";
import { formOf } from "../act-forms.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import { partsAt, remarkBoxes } from "../record-page.ts";
import type { Site } from "../site.ts";
import { addSiteAct } from "../site-act-forms.ts";

const PATH = "/workers";

/** The daemons that work with the ledger, and draining one. */
export function addWorkerPage(site: Site, records: Records): void {
  site.page(PATH, async (visit) => {
    const { workers, remarks, parts } = await readWorkerOverview(records.pool, visit.viewer);
    const at = partsAt(parts, PATH, visit.viewer);
    const mayDrain = ({ endedAt, drainAt }: WorkerView) => !endedAt && !drainAt;
    return {
      title: "Workers",
      section: PATH,
      isLive: true,
      body: html`
<h1>Workers</h1>
${remarkBoxes(remarks)}
${at("workers")}
<div class="acts">${workers.filter(mayDrain).map((worker) => formOf(DRAIN, `${PATH}/${formatId("w", worker.id)}/drain`, worker, visit))}</div>
${at("configuration", { below: html`<div class="acts">${formOf(RELOAD, RELOAD.path, {}, visit)}</div>` })}`,
    };
  });
  addSiteAct(site, RELOAD, records, () => ({}));
  addSiteAct(site, DRAIN, records, ({ params: { id = "" } }) => {
    const number = parseId("w", id);
    return number === undefined ? undefined : { id: number };
  });
}
