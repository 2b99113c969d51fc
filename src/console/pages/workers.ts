import type { Clock } from "../../core/clock.ts";
import { drainWorkers, listWorkers, type WorkerView } from "../../ledger/workers/roster.ts";
import {
  CONFIGURATION_COLUMNS,
  type ConfiguredWorker,
  configurationInWords,
  takenOverInWords,
  withConfiguration,
} from "../../operator/configuration-columns.ts";
import { reloadWorkers } from "../../operator/reload.ts";
import { WORKER_COLUMNS } from "../../operator/worker-columns.ts";
import { actForm, listTable, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Content, html } from "../html.ts";
import type { Site, Visit } from "../site.ts";

const PATH = "/workers";
/** The daemons hear of it within a second. */
const RELOAD_WITHIN_MS = 8_000;

/** The daemons that work with the ledger, and draining one. */
export function addWorkerPage(site: Site, { pool }: Records, clock: Clock): void {
  site.page(PATH, async (visit) => {
    const workers = await listWorkers(pool);
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
            ...{ action: `${PATH}/w${id}/drain`, label: `Stop ${name} (w${id})`, isDangerous: true },
            explains:
              "It finishes what it has in hand and ends; with the last one, nothing is taken in or sent any more, and this console ends with its daemon.",
            reason: "required",
          },
          visit,
        ),
      )}</div>
${section("Configuration", configurationOf(withConfiguration(workers), visit))}`,
    };
  });
  site.form(`${PATH}/reload`, async ({ act }) => {
    const { answered, silent } = await reloadWorkers(pool, act, { clock, withinMs: RELOAD_WITHIN_MS });
    const lines = [
      ...withConfiguration(answered).map(({ id, name, configuration }) => {
        const left = configurationInWords(configuration);
        const who = `${name} (w${id})`;
        if (configuration.problems.length > 0) return `${who}: ${left}`;
        return `${who} ${takenOverInWords(configuration)}${left === undefined ? "." : `; ${left}.`}`;
      }),
      ...silent.map(
        ({ id, name }) =>
          `${name} (w${id}) has not answered yet: it may be reading a large file, or its log says why.`,
      ),
    ];
    if (lines.length === 0) lines.push("No daemon works with this ledger.");
    else if (
      answered.some(({ configuration: c }) => c !== null && c.problems.length === 0 && c.takenOver?.length)
    )
      lines.push("Messages that waited for a code which is known now are processed.");
    const isDone =
      silent.length === 0 && answered.every(({ configuration }) => configuration?.problems.length === 0);
    return { to: PATH, notice: { isDone, lines } };
  });
  site.reasonedForm(`${PATH}/:id/drain`, async ({ params: { id = "" }, act }) => {
    const number = /^w([1-9]\d{0,8})$/.exec(id)?.[1];
    if (number === undefined) return undefined;
    const drained = await drainWorkers(pool, { id: Number(number) }, act);
    const isDone = drained.length > 0;
    const words = isDone ? "finishes what it has in hand and ends." : "works with this ledger no more.";
    return { to: PATH, notice: { isDone, lines: [`${id} ${words}`] } };
  });
}

function configurationOf(workers: readonly ConfiguredWorker[], visit: Visit): Content {
  if (workers.length === 0) return "";
  const mistakes = workers.flatMap(({ configuration }) => configuration.problems);
  return html`
${listTable(CONFIGURATION_COLUMNS, workers, visit.viewer, { nothing: "" })}
${mistakes.length > 0 ? html`<div class="why act"><strong>Mistakes in the file</strong><ul class="plain">${[...new Set(mistakes)].map((line) => html`<li>${line}</li>`)}</ul></div>` : ""}
<div class="acts">${actForm(
    {
      ...{ action: `${PATH}/reload`, label: "Reload the configuration" },
      explains:
        "Every daemon checks its whole configuration and takes over profiles, tables, facilities and alerts; no connection is lost. With a mistake in the files, it goes on with what it has.",
      reason: "optional",
    },
    visit,
  )}</div>`;
}
