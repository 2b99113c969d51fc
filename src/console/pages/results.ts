import { formatId, parseId } from "../../ledger/ids.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import { type DeliveryDetails, findDelivery } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { findBytes } from "../../ledger/results/resend.ts";
import type { ResultAct } from "../../operator/acts.ts";
import { resultText } from "../../operator/kept-text.ts";
import { findMeantOrders, MOST_NAMED, RESULT_LIST } from "../../operator/lists/results.ts";
import {
  DELIVERY_COLUMNS,
  DELIVERY_DETAILS,
  hintForResult,
  PAINT_BY_DELIVERY_STATE,
} from "../../operator/order-columns.ts";
import { cleanLines } from "../../operator/text.ts";
import { nameOf } from "../../operator/why-waiting.ts";
import { actForm, age, badge, details, hideLink, listTable, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { readListPage } from "../listing.ts";
import { withCommands } from "../page-of-command.ts";
import type { Site, Visit } from "../site.ts";

const PATH = "/results";

/** The results for the lab: the list, the page of one, and what can be done to it. */
export function addResultPages(site: Site, records: Records): void {
  const { pool, acts } = records;
  const find = async ({ params: { id = "" } }: Visit) => {
    const number = parseId("d", id);
    return number === undefined ? undefined : findDelivery(pool, number);
  };
  site.filter(PATH);
  site.page(PATH, (visit) => listPage(visit, records));
  site.page(`${PATH}/:id`, async (visit) => {
    const result = await find(visit);
    return result && resultPage(result, visit, records);
  });
  site.form(`${PATH}/:id/show`, async (submission) => {
    const result = await find(submission);
    if (!result) return undefined;
    await recordAudit(pool, submission.act, "show-phi", [{ target: result.deliveryId }]);
    return resultPage(result, submission, records);
  });
  for (const name of ACTS) {
    const add = name === "drop" ? site.reasonedForm : site.form;
    add(`${PATH}/:id/${name}`, async (submission) => {
      const result = await find(submission);
      if (!result) return undefined;
      const { deliveryId } = result;
      const [isDone, words] = await acts.result(name, result, submission.act);
      return { to: `${PATH}/${deliveryId}`, notice: { isDone, lines: [`${deliveryId} ${words}`] } };
    });
  }
}

const ACTS: readonly ResultAct[] = ["retry", "drop", "resend"];

async function listPage(visit: Visit, records: Records): Promise<Page> {
  const { rows, values, nothing, form, more } = await readListPage(RESULT_LIST, PATH, visit, records);
  const word = values?.order;
  const [order, ...others] = word === undefined ? [] : await findMeantOrders(records, word);
  return {
    title: "Results",
    section: PATH,
    isLive: true,
    body: html`
<h1>Results for the lab</h1>
${form}
<p class="note">Delivered: the lab acknowledged it, or, where it gets files, the file lies in its folder <code>out</code>.</p>
${order ? aboutOrder(order, others) : ""}
${listTable(DELIVERY_COLUMNS, rows, visit.viewer, { nothing })}
${more}`,
  };
}

/** Which order the results are about, and the others that the word means as well, whose pages have theirs. */
function aboutOrder(order: LedgerOrder, others: readonly LedgerOrder[]): Html {
  const [own, ...further] = [order, ...others].map(
    (each) => html`<a href="/orders/${formatId("o", each.id)}">${nameOf(each)}</a>`,
  );
  if (further.length === 0) return html`<p class="note">About order ${own}.</p>`;
  const more = further.length + 1 < MOST_NAMED ? "" : " …";
  return html`<p class="note">Several orders have that. These are the results about ${own}; the others are${further.map((link) => html` ${link}`)}${more}</p>`;
}

async function resultPage(result: DeliveryDetails, visit: Visit, { pool }: Records): Promise<Page> {
  const { deliveryId, state, failure, orderIds, deliveredAt, waitsBehind } = result;
  const { viewer } = visit;
  const bytes = viewer.mayShowPhi ? await findBytes(pool, parseId("d", deliveryId) ?? 0) : undefined;
  const hint = hintForResult(result);
  const facts = DELIVERY_DETAILS.filter(({ key }) => key !== "orderIds");
  return {
    title: deliveryId,
    section: PATH,
    isLive: !viewer.mayShowPhi,
    body: html`
<div class="title"><h1>Result ${deliveryId}</h1>${badge(state, PAINT_BY_DELIVERY_STATE[state])}${deliveredAt === undefined ? "" : html`<span class="note">the lab has it, ${age(deliveredAt, viewer)}</span>`}</div>
${failure ? html`<p class="why"><strong>Last error:</strong> ${failure.text} <code>${failure.code}</code>${hint ? html` <span class="note">${withCommands(hint)}</span>` : ""}</p>` : ""}
${waitsBehind === undefined ? "" : html`<p class="why">It waits for <a href="${PATH}/${waitsBehind}">${waitsBehind}</a>, an earlier result of the same order.</p>`}
<div class="acts">${formsFor(result, visit)}</div>
<div class="columns">
<section><h2>The result</h2>${details(facts, result, viewer)}</section>
<section><h2>What it is about</h2>${orderIds.length === 0 ? html`<p>A message as a whole.</p>` : html`<ul class="plain">${orderIds.map((id) => html`<li><a href="/orders/${id}">Order ${id}</a></li>`)}</ul>`}</section>
</div>
${section("Text", textOf(result, bytes, visit))}`,
  };
}

function textOf({ sizeBytes, deliveryId }: DeliveryDetails, bytes: Buffer | undefined, visit: Visit): Html {
  if (sizeBytes === undefined) return html`<p class="nothing">It is not kept.</p>`;
  if (bytes !== undefined)
    return html`<div class="acts">${hideLink(`${PATH}/${deliveryId}`)}</div><pre>${cleanLines(resultText(bytes)).join("\n")}</pre>`;
  const form = { action: `${PATH}/${deliveryId}/show`, label: "Show the text (is recorded)" };
  return html`<p class="nothing">Hidden, since it may name a patient.</p>${visit.mayAct ? html`<div class="acts">${actForm(form, visit)}</div>` : ""}`;
}

/** The forms that the state of a result has a use for. */
function formsFor({ deliveryId, state }: DeliveryDetails, visit: Visit): Html[] {
  const action = (name: ResultAct) => `${PATH}/${deliveryId}/${name}`;
  if (state === "delivered")
    return [
      actForm(
        {
          ...{ action: action("resend"), label: "Send it again", reason: "optional" },
          explains: "With the name and the bytes that it had.",
        },
        visit,
      ),
    ];
  if (state === "dropped") return [];
  return [
    actForm({ action: action("retry"), label: "Try now", reason: "optional" }, visit),
    actForm(
      {
        ...{ action: action("drop"), label: "Give it up", reason: "required", isDangerous: true },
        explains: "The lab never gets it; later results of the same orders go on.",
      },
      visit,
    ),
  ];
}
