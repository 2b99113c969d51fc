import { formatId, parseId } from "../../ledger/ids.ts";
import { findMessage } from "../../ledger/messages/views.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import { listOrderTasks } from "../../ledger/operator/tasks.ts";
import {
  type DeliveryView,
  findOrders,
  findSent,
  listEvents,
  listOrderDeliveries,
  type OrderEvent,
} from "../../ledger/operator/views.ts";
import { isUnreconciled } from "../../ledger/orders/end-reconciling.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { listOrderAnswers } from "../../ledger/orders/service-answers.ts";
import type { Acted, OrderAct } from "../../operator/acts.ts";
import {
  DELIVERY_COLUMNS,
  ORDER_COLUMNS,
  PAINT_BY_STATE,
  TASK_COLUMNS,
} from "../../operator/order-columns.ts";
import { findSurroundings } from "../../operator/surroundings.ts";
import { hideBody } from "../../operator/text.ts";
import { describeEvent } from "../../operator/timeline.ts";
import { localTime, roundToUnit } from "../../operator/times.ts";
import { nameOf, whyWaiting } from "../../operator/why-waiting.ts";
import { actForm, age, badge, details, listTable, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { withCommands } from "../page-of-command.ts";
import type { Site, Submission, Visit } from "../site.ts";

/** The page of an order, and what can be done to it. */
export function addOrderPage(site: Site, records: Records): void {
  const { pool, acts } = records;
  const find = async ({ params: { id = "" } }: Visit) => {
    const number = parseId("o", id);
    return number === undefined ? undefined : (await findOrders(pool, id))[0];
  };
  site.page("/orders/:id", async (visit) => {
    const order = await find(visit);
    return order && orderPage(order, visit, records);
  });
  site.form("/orders/:id/show", async (submission) => {
    const order = await find(submission);
    if (!order) return undefined;
    await recordAudit(pool, submission.act, "show-phi", [{ target: formatId("o", order.id) }]);
    return orderPage(order, submission, records);
  });
  for (const { path, name } of ORDER_FORMS) {
    site.form(`/orders/:id/${path}`, async (submission) => {
      const order = await find(submission);
      return order && answerOf(order, await acts.order(name, order, submission.act));
    });
  }
  site.form("/orders/:id/resolve", async (submission) => {
    const order = await find(submission);
    if (!order) return undefined;
    const number = Number(submission.form.get("number"));
    const surface = order.surface ?? submission.form.get("surface");
    const found = surface === "external" ? { procedureId: number } : { requestId: number };
    return answerOf(order, await acts.resolve(order, found, submission.act));
  });
  site.form("/orders/:id/resend", async (submission) => {
    const order = await find(submission);
    return order && resendAll(order, submission, records);
  });
}

/** Sends all that the lab had of an order again, in the order in which it was made. */
async function resendAll(order: LedgerOrder, { act }: Submission, { pool, acts }: Records) {
  const sent = (await listOrderDeliveries(pool, order.id)).filter(isSent);
  const lines: string[] = [];
  let isDone = sent.length > 0;
  for (const result of sent) {
    const [isSentAgain, words] = await acts.result("resend", result, act);
    isDone &&= isSentAgain;
    lines.push(`${result.deliveryId} ${words}`);
  }
  const notice = { isDone, lines: lines.length > 0 ? lines : ["Nothing was sent about the order yet."] };
  return { to: `/orders/${formatId("o", order.id)}`, notice };
}

const isSent = ({ state }: DeliveryView) => state === "delivered";

const ORDER_FORMS = [
  { path: "retry", name: "retry" },
  { path: "discard", name: "discard" },
  { path: "release", name: "release" },
  { path: "override", name: "override" },
  { path: "cancel", name: "cancel" },
  { path: "send-again", name: "sendAgain" },
] as const satisfies readonly { path: string; name: OrderAct }[];

function answerOf(order: LedgerOrder, [isDone, words]: Acted) {
  const notice = { isDone, lines: [`${nameOf(order)} ${words}`] };
  return { to: `/orders/${formatId("o", order.id)}`, notice };
}

async function orderPage(order: LedgerOrder, visit: Visit, records: Records): Promise<Page> {
  const { pool, doesParkedBlock } = records;
  const { viewer, mayAct } = visit;
  const { id, failure } = order;
  const [message, sent, answers, events, deliveries, tasks] = await Promise.all([
    findMessage(pool, order.messageId),
    findSent(pool, id),
    listOrderAnswers(pool, id),
    listEvents(pool, id),
    listOrderDeliveries(pool, id),
    listOrderTasks(pool, id),
  ]);
  const around = await findSurroundings(pool, order, { nowMs: viewer.clock.now(), doesParkedBlock });
  const why = whyWaiting(order, around);
  const path = `/orders/${formatId("o", id)}`;
  const reveal =
    mayAct && !viewer.mayShowPhi
      ? actForm({ action: `${path}/show`, label: "Show the patient's data (is recorded)" }, visit)
      : "";
  return {
    title: nameOf(order),
    section: "/orders",
    isLive: !viewer.mayShowPhi,
    body: html`
<div class="title"><h1>Order ${nameOf(order)}</h1>${badge(order.state, PAINT_BY_STATE[order.state])}<span class="note">${order.operation} · since ${age(order.changedAt, viewer)}</span></div>
${why ? html`<p class="why"><strong>Why is it waiting?</strong> ${withCommands(why)}</p>` : failure ? html`<p class="why"><strong>Reason:</strong> ${failure.text} <code>${failure.code}</code></p>` : ""}
<div class="acts">${formsFor(order, path, visit)}${around.isComparing && why ? releaseAfterRestoreForm(visit) : ""}${reveal}</div>
${section("Timeline", timeline(events))}
<div class="columns">
<section><h2>What was asked</h2>${details(ORDER_COLUMNS, order, viewer)}</section>
<section><h2>Containers</h2><ul class="plain">${order.containers.map(({ label, containerId }) => html`<li><strong>${label}</strong>${containerId === undefined ? "" : html` <span class="note">container ${containerId}</span>`}</li>`)}</ul>
<h2>Where it came from</h2><p><a href="/messages/${formatId("m", order.messageId)}">The message as it came (${formatId("m", order.messageId)})</a> through ${order.connector}${message?.fileName ? html`, ${message.fileName}` : ""}${message?.place ? html`, ${message.place}` : ""}</p></section>
</div>
${tasks.length === 0 ? "" : section("For a person to do", listTable(TASK_COLUMNS, tasks, viewer, { nothing: "" }))}
${section("Results for the lab", html`${listTable(DELIVERY_COLUMNS, deliveries, viewer, { nothing: "Nothing yet." })}${deliveries.some(isSent) ? html`<div class="acts">${resendForm(path, visit)}</div>` : ""}`)}
${sent === undefined ? "" : section("Sent to the service", html`<pre tabindex="0">${JSON.stringify(hideBody(sent, viewer.mayShowPhi), null, 2)}</pre>`)}
${
  answers.length === 0
    ? ""
    : section(
        "Answers of the service",
        html`<ul class="plain">${answers.map((answer) => html`<li>${localTime(answer.firstAt)} ${answer.method} ${answer.route}: status ${answer.status}, taken as <code>${answer.failureCode}</code>${answer.times > 1 ? html`, ${answer.times} times` : ""}${viewer.mayShowPhi && answer.body ? html`<pre tabindex="0">${answer.body.reveal()}</pre>` : ""}</li>`)}</ul>`,
      )
}`,
  };
}

/** Goes on after a restore without comparing anything more. */
export function releaseAfterRestoreForm(visit: Visit): Html {
  const label = "Go on without comparing";
  const explains =
    "Orders that were not compared with the service yet may be there already, and are sent to it all the same.";
  const form = { action: "/orders/release-after-restore", label, explains, reason: "required" } as const;
  return actForm({ ...form, isDangerous: true }, visit);
}

function resendForm(path: string, visit: Visit): Html {
  const explains = "All results that the lab had of the order, with the names and bytes that they had.";
  const label = "Send its results again";
  return actForm({ action: `${path}/resend`, label, explains, reason: "optional" }, visit);
}

/** The forms that this order's state has a use for. */
function formsFor(order: LedgerOrder, path: string, visit: Visit): Html[] {
  const { state, heldAt, surface } = order;
  const isParked = state === "parked";
  const forms: Html[] = [];
  const add = (name: string, label: string, more: Partial<Parameters<typeof actForm>[0]> = {}) =>
    forms.push(actForm({ action: `${path}/${name}`, label, ...more }, visit));
  if (heldAt)
    add("release", "Release", { reason: "optional", explains: "It goes on, though the lab put it on hold." });
  if (isParked || state === "failed" || state === "received" || isUnreconciled(order))
    add("retry", "Try now", {
      reason: "optional",
      explains:
        state === "failed" ? "A new request is made for it." : "It is tried now, from where it stood.",
    });
  if (isParked && order.failure?.code.startsWith("ORDER_"))
    add("override", "Have it done although it matches another", {
      reason: "required",
      isDangerous: true,
      explains:
        "Only when you know that both orders are meant: it is sent although another order asks for the same container or has its number.",
    });
  if (isUnreconciled(order))
    add("send-again", "It is not at the service: send it again", {
      reason: "required",
      isDangerous: true,
      explains:
        "Look at the service first. A last check is made; when it finds nothing, the order is sent again.",
    });
  if (isParked)
    add("resolve", "Link it to what you found at the service", {
      reason: "optional",
      inputs: html`<label>${surface === "external" ? "Procedure" : "Procedure request"}<input name="number" inputmode="numeric" pattern="[0-9]+" required></label>`,
    });
  if (!["completed", "rejected", "cancelled", "failed", "discarded"].includes(state))
    add("cancel", "Cancel", {
      reason: "required",
      isDangerous: true,
      explains:
        "At once where nothing has left for the service; else the service is asked, where its cancel call is configured.",
    });
  if (isParked || state === "failed" || state === "received")
    add("discard", "Discard", {
      reason: "required",
      isDangerous: true,
      explains: "It is not carried out, and the lab hears it.",
    });
  return forms;
}

/** The steps of an order, one below the other, with the time between them. */
function timeline(events: readonly OrderEvent[]): Html {
  return html`<ol class="timeline">${events.map((event, index) => {
    const before = events[index - 1];
    const gap = before && event.at.getTime() - before.at.getTime();
    return html`<li class="${event.toState ?? ""}">${gap === undefined || gap < 1_000 ? "" : html`<span class="gap">${roundToUnit(gap)} later</span>`}<time datetime="${event.at.toISOString()}">${localTime(event.at)}</time> <span>${describeEvent(event)}</span></li>`;
  })}</ol>`;
}
