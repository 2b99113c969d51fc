import { isTerminal } from "../../core/order-state.ts";
import type { Surface } from "../../core/surface.ts";
import { formatId, parseId } from "../../ledger/ids.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import { type DeliveryView, listOrderDeliveries } from "../../ledger/operator/views.ts";
import { overrideOf } from "../../ledger/orders/acts.ts";
import { lostCallOf } from "../../ledger/orders/end-reconciling.ts";
import { type LedgerOrder, readOrders } from "../../ledger/orders/row.ts";
import type { Override } from "../../ledger/orders/same-containers.ts";
import type { Acted, OrderAct } from "../../operator/acts.ts";
import { describeCall } from "../../operator/calls.ts";
import { hideRecord } from "../../operator/hide-record.ts";
import {
  DELIVERY_COLUMNS,
  PAINT_BY_STATE,
  stateInWords,
  TASK_COLUMNS,
} from "../../operator/order-columns.ts";
import {
  CONTAINER_COLUMNS,
  describeAnswer,
  describeControl,
  hintForControl,
  ORDER_DETAIL_COLUMNS,
  readOrderDetails,
  whyEnded,
} from "../../operator/order-details.ts";
import { localTime } from "../../operator/times.ts";
import { nameOf } from "../../operator/why-waiting.ts";
import {
  actForm,
  age,
  badge,
  details as facts,
  hideLink,
  listTable,
  section,
  whoActs,
} from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { withCommands } from "../page-of-command.ts";
import { type Site, type Submission, type Visit, wholeNumber } from "../site.ts";
import { timeline } from "../timeline.ts";
import { messageContent } from "./message-text.ts";

/** What is about the order alone needs not name it. */
const RESULT_COLUMNS = DELIVERY_COLUMNS.filter(({ key }) => key !== "orderIds");

/** The page of an order, and what can be done to it. */
export function addOrderPage(site: Site, records: Records): void {
  const { pool, acts } = records;
  const find = async ({ params: { id = "" } }: Visit) => {
    const number = parseId("o", id);
    return number === undefined ? undefined : (await readOrders(pool, [number]))[0];
  };
  site.page("/orders/:id", async (visit) => {
    const order = await find(visit);
    return order && orderPage(order, visit, records);
  });
  site.form("/orders/:id/show", async (submission) => {
    const order = await find(submission);
    if (!order) return undefined;
    const seen = [formatId("o", order.id), formatId("m", order.messageId)];
    const targets = seen.map((target) => ({ target }));
    await recordAudit(pool, submission.act, "show-phi", targets);
    return orderPage(order, submission, records);
  });
  for (const { path, name, needsReason } of ORDER_FORMS) {
    const add = needsReason ? site.reasonedForm : site.form;
    add(`/orders/:id/${path}`, async (submission) => {
      const order = await find(submission);
      return order && answerOf(order, await acts.order(name, order, submission.act));
    });
  }
  site.form("/orders/:id/resolve", async (submission) => {
    const order = await find(submission);
    if (!order) return undefined;
    const id = wholeNumber(submission.form.get("number"), 15);
    if (id === undefined)
      return answerOf(order, [false, "is linked by a number of the service: nothing was done"]);
    return answerOf(order, await acts.resolve(order, { id }, submission.act));
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
  { path: "retry", name: "retry", needsReason: false },
  { path: "discard", name: "discard", needsReason: true },
  { path: "release", name: "release", needsReason: false },
  { path: "override", name: "override", needsReason: true },
  { path: "cancel", name: "cancel", needsReason: true },
  { path: "send-again", name: "sendAgain", needsReason: true },
] as const satisfies readonly { path: string; name: OrderAct; needsReason: boolean }[];

function answerOf(order: LedgerOrder, [isDone, words]: Acted) {
  const notice = { isDone, lines: [`${nameOf(order)} ${words}`] };
  return { to: `/orders/${formatId("o", order.id)}`, notice };
}

async function orderPage(order: LedgerOrder, visit: Visit, records: Records): Promise<Page> {
  const { pool, acts, doesParkedBlock, isTraced } = records;
  const { viewer, isRefresh } = visit;
  const { containers } = order;
  const details = await readOrderDetails(pool, order, {
    nowMs: viewer.clock.now(),
    doesParkedBlock,
    isTraced,
  });
  const { message, why, around, calls, answers, requests, tasks, events, deliveries, traceId } = details;
  const ended = whyEnded(order, details);
  const path = `/orders/${formatId("o", order.id)}`;
  const reveal = viewer.mayShowPhi
    ? hideLink(path)
    : actForm({ action: `${path}/show`, label: "Show the patient's data (is recorded)" }, visit);
  return {
    title: nameOf(order),
    section: "/orders",
    isLive: !viewer.mayShowPhi,
    body: html`
<div class="title"><h1>Order ${nameOf(order)}</h1>${badge(stateInWords(order.state), PAINT_BY_STATE[order.state])}<span class="note">${order.operation} · ${age(order.changedAt, viewer)}</span></div>
${why ? html`<p class="why${order.state === "parked" ? " act" : ""}"><strong>Why is it waiting?</strong> ${withCommands(why)}</p>` : ended ? html`<div class="why"><strong>Reason:</strong> ${ended.reason}${noteOf(ended.hint)}</div>` : ""}
<div class="acts">${formsFor(order, path, visit, records)}${around.isComparing && why ? releaseAfterRestoreForm(visit) : ""}${reveal}</div>
${why || ended ? whoActs(visit) : ""}
${acts.mayCancel(order) || isTerminal(order.state) ? "" : html`<p class="note">It can't be cancelled here: the service has it, and the configuration has no cancel call (<code>service.cancel</code>). The facility's staff can still stop it.</p>`}
${section("Timeline", timeline(events, viewer))}
<div class="columns">
<section><h2>What was asked</h2>${facts(ORDER_DETAIL_COLUMNS, { ...order, message, traceId, site: around }, viewer)}</section>
<section><h2>Containers</h2>${listTable(CONTAINER_COLUMNS, containers, viewer, { nothing: "None." })}</section>
</div>
${requests.length === 0 ? "" : section("Order control requests", html`<ul class="plain">${requests.map((request) => html`<li>${localTime(request.askedAt)} ${describeControl(request)}${noteOf(hintForControl(request, order, details))}</li>`)}</ul>`)}
${tasks.length === 0 ? "" : section("For a person to do", listTable(TASK_COLUMNS, tasks, viewer, { nothing: "" }))}
${message === undefined ? "" : section("The message as it came", html`<details id="original" class="act" hx-morph-skip><summary class="small">Show it here</summary>${isRefresh ? "" : await messageContent(message, viewer.mayShowPhi)}</details>`)}
${calls.length === 0 ? "" : section("Calls to the service", html`<ul class="plain">${calls.map((call) => html`<li>${localTime(call.at)} ${describeCall(call)}${call.sent === undefined ? "" : html`<pre>${JSON.stringify(hideRecord(call.sent, "order", viewer.mayShowPhi), null, 2)}</pre>`}</li>`)}</ul>`)}
${answers.length === 0 ? "" : section("Answers of the service", html`<ul class="plain">${answers.map((answer) => html`<li>${localTime(answer.firstAt)} ${describeAnswer(answer)}${viewer.mayShowPhi && answer.body ? html`<pre>${answer.body.reveal()}</pre>` : ""}</li>`)}</ul>`)}
${section("Results for the lab", html`${listTable(RESULT_COLUMNS, deliveries, viewer, { nothing: "Nothing yet." })}${deliveries.some(isSent) ? html`<div class="acts">${resendForm(path, visit)}</div>` : ""}`)}`,
  };
}

function noteOf(hint: string | undefined): Html | "" {
  return hint === undefined ? "" : html`<div class="note">${withCommands(hint)}</div>`;
}

/** Goes on after a restore without comparing anything more. */
export function releaseAfterRestoreForm(visit: Visit): Html {
  const label = "Go on without comparing";
  const explains =
    "Orders that were not compared with the service yet may be there already, and are sent to it again.";
  const form = { action: "/orders/release-after-restore", label, explains, reason: "required" } as const;
  return actForm({ ...form, isDangerous: true }, visit);
}

function resendForm(path: string, visit: Visit): Html {
  const explains = "All results that the lab had of the order, with the names and bytes that they had.";
  const label = "Send its results again";
  return actForm({ action: `${path}/resend`, label, explains, reason: "optional" }, visit);
}

const BOTH_MEANT =
  "Only when you know that both orders are meant: it is sent although another order asks for the same container or has its number.";

/** What a person should know before an order goes past what it matches. */
const OVERRIDE_WORDS: Readonly<Record<Override, string>> = {
  number: BOTH_MEANT,
  containers: BOTH_MEANT,
  label: "Only when you know whose container it is: it is sent although a label belongs to another subject.",
  restored:
    "Only when you know that the request at the service is not this order's: the order is sent besides it.",
};

/** What an order becomes at the service. */
const NAME_BY_SURFACE: Readonly<Record<Surface, string>> = {
  request: "Procedure request",
  external: "Procedure",
};

/** The forms that this order's state has a use for. */
function formsFor(order: LedgerOrder, path: string, visit: Visit, { acts }: Records): Html[] {
  const { state, heldAt, surface } = order;
  const isForgotten = order.missingSince !== undefined && !isTerminal(state);
  const isParked = state === "parked" || isForgotten;
  const forms: Html[] = [];
  const add = (name: string, label: string, more: Partial<Parameters<typeof actForm>[0]> = {}) =>
    forms.push(actForm({ action: `${path}/${name}`, label, ...more }, visit));
  if (heldAt)
    add("release", "Release", { reason: "optional", explains: "It goes on, though the lab put it on hold." });
  if (isParked || state === "failed" || state === "received" || lostCallOf(order) !== undefined)
    add("retry", "Try now", {
      reason: "optional",
      explains:
        state === "failed" ? "A new request is made for it." : "It is tried now, from where it stood.",
    });
  const override = overrideOf(order);
  if (override !== undefined)
    add("override", "Have it done although it matches another", {
      reason: "required",
      isDangerous: true,
      explains: OVERRIDE_WORDS[override],
    });
  if (lostCallOf(order) !== undefined)
    add("send-again", "It is not at the service: send it again", {
      reason: "required",
      isDangerous: true,
      explains:
        "Look at the service first. A last check is made; when it finds nothing, the order is sent again.",
    });
  if (isParked)
    add("resolve", "Link it to what you found at the service", {
      reason: "optional",
      inputs: html`<label>${surface === undefined ? "Procedure request or procedure" : NAME_BY_SURFACE[surface]}<input name="number" inputmode="numeric" pattern="[0-9]+" required></label>`,
    });
  if (acts.mayCancel(order))
    add("cancel", "Cancel", {
      button: "Cancel the order",
      reason: "required",
      isDangerous: true,
      explains: "At once where nothing has left for the service; else the service is asked.",
    });
  if (isParked || state === "failed" || state === "received")
    add("discard", "Discard", {
      reason: "required",
      isDangerous: true,
      explains: "It is not carried out, and the lab hears it.",
    });
  return forms;
}
