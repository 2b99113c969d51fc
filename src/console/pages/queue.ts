import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import { LATE, within } from "../../core/within.ts";
import type { QueueName } from "../../jobs/queues.ts";
import type { Orphaned } from "../../ledger/results/orphaned.ts";
import { readQueueOverview } from "../../operator/overviews/queue.ts";
import type { DeclaredAct, Thing } from "../../operator/thing.ts";
import { ORDERS } from "../../operator/things/orders.ts";
import { listTargets, MOVE } from "../../operator/things/orphaned.ts";
import { QUEUE_ACTS } from "../../operator/things/queues.ts";
import { RESULTS } from "../../operator/things/results.ts";
import { beforeRows, formOf, pathOf } from "../act-forms.ts";
import type { BeginWork } from "../act-on-many.ts";
import { actForm } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { placeOf } from "../list-page.ts";
import { partsAt, remarkBoxes } from "../record-page.ts";
import type { Site, Visit } from "../site.ts";
import { addManySiteAct, addSiteAct } from "../site-act-forms.ts";

const PATH = "/queue";
const LINES = 50;

/** What each queue has to do, what waits, and pausing. */
export function addQueuePage(site: Site, records: Records, beginWork: BeginWork): void {
  site.page(PATH, (visit) => queuePage(visit, records));
  for (const act of Object.values(QUEUE_ACTS))
    addSiteAct(site, act, records, ({ form }) => act.on(form.get("queue") ?? ""));
  addManySiteAct(site, MOVE, { records, beginWork }, ({ form }) => ({
    from: form.get("from") ?? "",
    to: form.get("to") ?? "",
  }));
}

async function queuePage(visit: Visit, records: Records): Promise<Page> {
  const own = records.queues;
  const { queues, orphaned, failure, remarks, parts, cut } = await readQueueOverview(
    placeOf(records, visit),
    visit.viewer,
    {
      askQueues: own && ((work) => inTime(work(own), visit.viewer.clock)),
      limit: LINES,
    },
  );
  const moveForms = await Promise.all(orphaned.map((left) => moveForm(left, records, visit)));
  const at = partsAt(parts, PATH, visit.viewer);
  const listed = (name: string, ...lists: readonly (readonly [to: string, words: string])[]) =>
    cut.includes(name) &&
    html`<p class="more">The first ${LINES}. ${lists.map(([to, words]) => html`<a href="${to}">${words}</a> `)}</p>`;
  return {
    title: "Queue",
    section: PATH,
    isLive: true,
    body: html`
<h1>Queue</h1>
${remarkBoxes(remarks)}
${failure && html`<p class="banner bad">${failure.message} (${failure.code})</p>`}
${at("queues", { below: html`<div class="acts">${queues.map(({ queue, isPaused }) => pauseForm(queue, isPaused, visit))}</div>` })}
${at("waitingOrders", {
  ...beforeRows("what to do", tryNow(ORDERS, visit, records), visit),
  below: listed("waitingOrders", ["/orders?state=parked,submitting,received", "All orders that wait"]),
})}
${at("openDeliveries", {
  ...beforeRows("what to do", tryNow(RESULTS, visit, records), visit),
  below: listed(
    "openDeliveries",
    ["/results?state=pending", "All results to send"],
    ["/results?state=parked", "All parked results"],
  ),
})}
${at("orphaned", { below: html`<div class="acts">${moveForms}</div>` })}
${at("jobs", { below: cut.includes("jobs") && html`<p class="note">At most ${LINES} of each queue.</p>` })}`,
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
  const act = isPaused ? QUEUE_ACTS.resume : QUEUE_ACTS.pause;
  return formOf(act, act.path, { queue }, visit, { fields: { queue } });
}

/** Chooses to whom the orders and results of a connector go that is gone, if there is one; what that will do is said then. */
async function moveForm(
  { connector, results, orders }: Orphaned,
  records: Records,
  visit: Visit,
): Promise<Html> {
  const targets = results + orders === 0 ? [] : await listTargets(records, connector);
  if (targets.length === 0) return html``;
  const inputs = html`<label>To<select name="to">${targets.map((name) => html`<option>${name}</option>`)}</select></label>`;
  const { button, explains, path } = MOVE;
  const label = `${button}: ${connector}`;
  return actForm({ action: `${path}/choose`, label, explains, inputs, fields: { from: connector } }, visit);
}
