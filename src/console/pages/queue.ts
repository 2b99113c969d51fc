import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import { LATE, within } from "../../core/within.ts";
import { QUEUE_NAMES, type QueueName } from "../../jobs/queues.ts";
import type { Column } from "../../operator/column.ts";
import {
  HANDED_OVER,
  type NamedJob,
  NO_DAEMON,
  OPEN_DELIVERIES,
  ORPHANED,
  QUEUE_COLUMNS,
  type QueueView,
  WAITING_ORDERS,
} from "../../operator/queue-columns.ts";
import { readQueueOverview } from "../../operator/queue-overview.ts";
import type { DeclaredAct, Thing } from "../../operator/thing.ts";
import { ORDERS } from "../../operator/things/orders.ts";
import { MEANINGS, QUEUE_ACTS } from "../../operator/things/queues.ts";
import { RESULTS } from "../../operator/things/results.ts";
import { beforeRows, formOf, pathOf } from "../act-forms.ts";
import { askOrphaned } from "../ask.ts";
import { hintForOrphaned } from "../attention/orphaned.ts";
import { actForm, listTable, section } from "../components.ts";
import type { ConsoleDeps, Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { placeOf } from "../listing.ts";
import { withCommands } from "../page-of-command.ts";
import type { Site, Visit } from "../site.ts";
import { addSiteAct } from "../site-acts.ts";

const PATH = "/queue";
const LINES = 50;

/** What each queue has to do, what waits, and pausing. */
export function addQueuePage(site: Site, deps: ConsoleDeps, records: Records): void {
  site.page(PATH, (visit) => queuePage(visit, deps, records));
  for (const [name, act] of Object.entries(QUEUE_ACTS))
    addSiteAct(site, `${PATH}/${name}`, act, records, ({ form }) => {
      const queue = QUEUE_NAMES.find((each) => each === form.get("queue"));
      return queue && { queue };
    });
}

const MEANING: Column<QueueView> = {
  title: "what it does",
  isFlexible: true,
  show: ({ queue }) => MEANINGS[queue].replace(/\.$/, ""),
};

async function queuePage(visit: Visit, deps: ConsoleDeps, records: Records): Promise<Page> {
  const { viewer } = visit;
  const own = records.queues;
  const { isDaemonThere, queues, waiting, deliveries, orphaned, jobs } = await readQueueOverview(
    placeOf(records, visit),
    {
      askQueues: own && ((work) => inTime(work(own), deps.clock)),
      orphaned: () => askOrphaned(deps),
      ...{ rows: LINES, jobs: LINES },
    },
  );
  const shown = own ? QUEUE_COLUMNS : QUEUE_COLUMNS.filter(({ key }) => key !== "bullmq");
  const columns = shown.flatMap((column) => (column.key === "queue" ? [column, MEANING] : [column]));
  const cut = (rows: readonly unknown[], ...lists: readonly (readonly [to: string, name: string])[]) =>
    rows.length < LINES
      ? ""
      : html`<p class="more">The first ${LINES}. ${lists.map(([to, name]) => html`<a href="${to}">${name}</a> `)}</p>`;
  return {
    title: "Queue",
    section: PATH,
    isLive: true,
    body: html`
<h1>Queue</h1>
${isDaemonThere ? "" : html`<p class="banner bad">${NO_DAEMON}</p>`}
${jobs instanceof Failure ? html`<p class="banner bad">${jobs.message} (${jobs.code})</p>` : ""}
${listTable(columns, queues, viewer, { nothing: "" })}
<div class="acts">${queues.map(({ queue, isPaused }) => pauseForm(queue, isPaused, visit))}</div>
${section(WAITING_ORDERS.title, html`${listTable(WAITING_ORDERS.columns, waiting, viewer, { nothing: "No order waits.", ...beforeRows("what to do", tryNow(ORDERS, visit, records), visit) })}${cut(waiting, ["/orders?state=parked,submitting,received", "All orders that wait"])}`)}
${section(OPEN_DELIVERIES.title, html`${listTable(OPEN_DELIVERIES.columns, deliveries, viewer, { nothing: noneOpen(queues), ...beforeRows("what to do", tryNow(RESULTS, visit, records), visit) })}${cut(deliveries, ["/results?state=pending", "All results to send"], ["/results?state=parked", "All parked results"])}`)}
${orphaned.length === 0 ? "" : section(ORPHANED.title, html`${listTable(ORPHANED.columns, orphaned, viewer, { nothing: "" })}${orphaned.map((each) => html`<p class="note">${withCommands(hintForOrphaned(each))}</p>`)}`)}
${jobs === undefined ? "" : section(HANDED_OVER.title, jobTable(jobs instanceof Failure ? [] : jobs, visit))}`,
  };
}

/** What BullMQ's server has not said by then the page does without: what the ledger says has its time after that, ms. */
const JOBS_WITHIN_MS = 2_000;

/** @throws Failure QUEUE_UNAVAILABLE for an answer that is late */
async function inTime<T>(jobs: Promise<T>, clock: Clock): Promise<T> {
  const found = await within(jobs, JOBS_WITHIN_MS, clock);
  if (found === LATE)
    throw new Failure("QUEUE_UNAVAILABLE", "the job queue's server gave no answer within 2 s");
  return found;
}

/** What stands in place of results that the lab doesn't have: of a paused queue they are not made yet. */
function noneOpen(queues: readonly QueueView[]): string {
  const toMake = queues.find(({ queue }) => queue === "deliver")?.ledger.waiting ?? 0;
  return toMake === 0 ? "The lab has all results." : `Still to be made: ${toMake}.`;
}

function jobTable(jobs: readonly NamedJob[], { viewer }: Visit): Html {
  return html`${listTable(HANDED_OVER.columns, jobs, viewer, { nothing: "Nothing right now." })}${jobs.length < LINES ? "" : html`<p class="note">At most ${LINES} of each queue.</p>`}`;
}

/** The button before a row that has it tried now, where that does something. */
function tryNow<Row, Found extends Row>(
  thing: Thing<Row, Found> & { readonly acts: { readonly retry: DeclaredAct<Row, never> } },
  visit: Visit,
  { acts }: Records,
) {
  const { suits, button } = thing.acts.retry;
  return (row: Row): Html =>
    suits(row, acts)
      ? actForm({ action: `${pathOf(thing, row)}/retry`, label: button, fields: { back: PATH } }, visit)
      : html``;
}

function pauseForm(queue: QueueName, isPaused: boolean, visit: Visit): Html {
  const name = isPaused ? "resume" : "pause";
  return formOf(QUEUE_ACTS[name], `${PATH}/${name}`, { queue }, visit, { fields: { queue } });
}
