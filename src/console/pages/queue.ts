import { asFailure } from "../../core/failures.ts";
import { type JobView, QUEUE_NAMES, type QueueName } from "../../jobs/queues.ts";
import { listOpenDeliveries, listWaitingOrders } from "../../ledger/operator/views.ts";
import { isWorkerThere } from "../../ledger/workers/roster.ts";
import type { Column } from "../../operator/column.ts";
import { DELIVERY_COLUMNS } from "../../operator/order-columns.ts";
import { withSurroundings } from "../../operator/order-details.ts";
import {
  JOB_COLUMNS,
  nameJobs,
  ORPHANED_COLUMNS,
  QUEUE_COLUMNS,
  type QueueView,
  readQueues,
  WAITING_COLUMNS,
} from "../../operator/queue-columns.ts";
import type { DeclaredAct, Thing } from "../../operator/thing.ts";
import { ORDERS } from "../../operator/things/orders.ts";
import { MEANINGS, QUEUE_ACTS } from "../../operator/things/queues.ts";
import { RESULTS } from "../../operator/things/results.ts";
import { beforeRows, formOf, pathOf } from "../acts.ts";
import { askOrphaned } from "../ask.ts";
import { actForm, listTable, section } from "../components.ts";
import type { ConsoleDeps, Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { placeOf } from "../listing.ts";
import { hintForOrphaned } from "../orphaned.ts";
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
  const { pool } = records;
  const { viewer } = visit;
  const bullmq = await askQueues(records);
  const [queues, waiting, deliveries, isDaemonThere, orphaned = []] = await Promise.all([
    readQueues(pool, bullmq.counts),
    listWaitingOrders(pool, LINES).then((orders) => withSurroundings(placeOf(records, visit), orders)),
    listOpenDeliveries(pool, LINES),
    isWorkerThere(pool),
    askOrphaned(deps),
  ]);
  const jobs = await nameJobs(bullmq.jobs, records);
  const shown = records.queues ? QUEUE_COLUMNS : QUEUE_COLUMNS.filter(({ key }) => key !== "bullmq");
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
${isDaemonThere ? "" : html`<p class="banner bad">No daemon works on this ledger right now.</p>`}
${bullmq.trouble === undefined ? "" : html`<p class="banner bad">${bullmq.trouble}</p>`}
${listTable(columns, queues, viewer, { nothing: "" })}
<div class="acts">${queues.map(({ queue, isPaused }) => pauseForm(queue, isPaused, visit))}</div>
${section("Orders that wait", html`${listTable(WAITING_COLUMNS, waiting, viewer, { nothing: "No order waits.", ...beforeRows("what to do", tryNow(ORDERS, visit, records), visit) })}${cut(waiting, ["/orders?state=parked,submitting,received", "All orders that wait"])}`)}
${section("Results that the lab doesn't have", html`${listTable(DELIVERY_COLUMNS, deliveries, viewer, { nothing: "The lab has all results.", ...beforeRows("what to do", tryNow(RESULTS, visit, records), visit) })}${cut(deliveries, ["/results?state=pending", "All results to send"], ["/results?state=parked", "All parked results"])}`)}
${orphaned.length === 0 ? "" : section("Connectors that are not configured", html`${listTable(ORPHANED_COLUMNS, orphaned, viewer, { nothing: "" })}${orphaned.map((each) => html`<p class="note">${withCommands(hintForOrphaned(each))}</p>`)}`)}
${records.queues ? section("Handed over to the workers", html`${listTable(JOB_COLUMNS, jobs, viewer, { nothing: "Nothing right now." })}${jobs.length < LINES ? "" : html`<p class="note">At most ${LINES} of each queue.</p>`}`) : ""}`,
  };
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

/** What BullMQ has; its server may be away while the ledger answers. */
async function askQueues({ queues }: Records): Promise<{
  readonly counts?: Record<QueueName, Record<string, number>>;
  readonly jobs: readonly JobView[];
  readonly trouble?: string;
}> {
  if (queues === undefined) return { jobs: [] };
  try {
    const [counts, jobs] = await Promise.all([
      queues.counts(),
      Promise.all(QUEUE_NAMES.map((name) => queues.list(name, LINES))),
    ]);
    return { counts, jobs: jobs.flat() };
  } catch (error) {
    const { message, code } = asFailure(error);
    return { jobs: [], trouble: `${message} (${code})` };
  }
}
