import { drainWorkers, listWorkers, type WorkerView } from "../../ledger/workers/roster.ts";
import { WORKER_COLUMNS } from "../../operator/worker-columns.ts";
import { actForm, listTable } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Site } from "../site.ts";

const PATH = "/workers";
const ENDED_WITHIN_MS = 86_400_000;

/** The daemons that work with the ledger, and draining one. */
export function addWorkerPage(site: Site, { pool }: Records): void {
  site.page(PATH, async (visit) => {
    const workers = await listWorkers(pool, ENDED_WITHIN_MS);
    const mayDrain = ({ endedAt, drainAt }: WorkerView) => !endedAt && !drainAt;
    return {
      title: "Workers",
      section: PATH,
      isLive: true,
      body: html`
<h1>Workers</h1>
${listTable(WORKER_COLUMNS, workers, visit.viewer, { nothing: "No daemon works with this ledger." })}
<div class="acts">${workers.filter(mayDrain).map(({ id, name }) =>
        actForm(
          {
            ...{ action: `${PATH}/w${id}/drain`, label: `Have ${name} (w${id}) end`, isDangerous: true },
            explains:
              "It finishes what it has in hand and ends; with the last one, nothing is taken in or sent any more, and this console ends with its daemon.",
            reason: "required",
          },
          visit,
        ),
      )}</div>`,
    };
  });
  site.form(`${PATH}/:id/drain`, async ({ params: { id = "" }, act }) => {
    const number = /^w([1-9]\d{0,8})$/.exec(id)?.[1];
    if (number === undefined) return undefined;
    if (act.reason === undefined)
      return { to: PATH, notice: { isDone: false, lines: ["Say why: nothing was done."] } };
    const drained = await drainWorkers(pool, { id: Number(number) }, act);
    const isDone = drained.length > 0;
    const words = isDone ? "finishes what it has in hand and ends." : "works with this ledger no more.";
    return { to: PATH, notice: { isDone, lines: [`${id} ${words}`] } };
  });
}
