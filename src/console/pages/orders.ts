import { isTerminal } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import { findMessage } from "../../ledger/messages/views.ts";
import { findRestored, isUncompared } from "../../ledger/restored/restore.ts";
import type { Acted } from "../../operator/acts.ts";
import { isNarrowedOnlyBy } from "../../operator/list.ts";
import { ORDER_LIST } from "../../operator/lists/orders.ts";
import { getOfOrder, refusalOf } from "../../operator/thing.ts";
import { ORDERS } from "../../operator/things/orders.ts";
import { RELEASE_AFTER_RESTORE } from "../../operator/things/restored.ts";
import { RESULTS } from "../../operator/things/results.ts";
import { addActs, chooseForm, findNamed, formOf, pathOf } from "../act-forms.ts";
import type { BeginWork } from "../act-on-many.ts";
import { section } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import { addListPage } from "../list-page.ts";
import { addDetails } from "../record-page.ts";
import type { Site, Visit } from "../site.ts";
import { addSiteAct } from "../site-act-forms.ts";
import { messageContent } from "./message-text.ts";

/** The list of orders, the page of one, and what can be done to them. */
export function addOrderPages(site: Site, records: Records, beginWork: BeginWork): void {
  addListPage(site, "/orders", ORDER_LIST, records, {
    above: async (visit) =>
      (await findRestored(records.pool)) &&
      html`<div class="acts">${await releaseAfterRestoreForm(visit, records)}</div>`,
    list: (page, visit) => {
      const { values, nothing } = page;
      const isSearch = values && isNarrowedOnlyBy(values, "find") && !visit.query.has("before");
      const elsewhere = isSearch
        ? " The search above finds it in messages that wait or were refused, too."
        : "";
      return chooseForm(ORDERS, page, visit, { nothing: `${nothing}${elsewhere}` });
    },
  });
  addActs(site, ORDERS, records, { list: ORDER_LIST, beginWork });
  addSiteAct(site, RELEASE_AFTER_RESTORE, records, () => ({}));
  addOrderPage(site, records);
}

function addOrderPage(site: Site, records: Records): void {
  const { pool, acts } = records;
  const { resend } = RESULTS.acts;
  const { ofOrder } = resend;
  addDetails(site, ORDERS, records, {
    alsoSeen: ({ messageId }) => formatId("m", messageId),
    arrange: (at) =>
      html`${at("timeline")}<div class="columns">${at("facts")}${at("containers")}</div>${at("controls")}${at("tasks")}${at("original")}${at("calls")}${at("answers")}${at("results")}`,
    forms: async (order, _details, visit) => [
      !isTerminal(order.state) &&
        (await isUncompared(pool)) &&
        (await releaseAfterRestoreForm(visit, records)),
      (await ofOrder.list(pool, order)).length > 0 &&
        formOf({ ...resend, ...ofOrder }, `${pathOf(ORDERS, order)}/resend`, order, visit),
    ],
    below: (order) =>
      acts.mayCancel(order) || isTerminal(order.state)
        ? ""
        : html`<p class="note">It can't be cancelled here: the service has it, and the configuration has no cancel call (<code>service.cancel</code>). The facility's staff can still stop it.</p>`,
    instead: async ({ messageId }, { viewer, isRefresh }) => {
      const message = await findMessage(pool, messageId);
      if (message === undefined) return {};
      const shown = isRefresh ? "" : await messageContent(message, viewer.mayShowPhi);
      const original = html`<details id="original" class="act" hx-morph-skip><summary class="small">Show it here</summary>${shown}</details>`;
      return { original: section("The message as it came", original) };
    },
  });
  site.form(`${ORDERS.path}/:id/resend`, async (submission) => {
    const order = await findNamed(ORDERS, submission, records);
    if (order === undefined) return undefined;
    const { each } = await resend.start(records, submission.act, undefined);
    const all: Acted[] = [];
    for (const result of await getOfOrder(ofOrder, pool, order))
      all.push(
        await each(result)
          .catch(refusalOf)
          .then(([isDone, words]) => [isDone, `${result.deliveryId} ${words}`]),
      );
    const notice = { isDone: all.every(([isDone]) => isDone), lines: all.map(([, words]) => words) };
    return { to: pathOf(ORDERS, order), notice };
  });
}

/** Goes on after a restore without comparing anything more. */
async function releaseAfterRestoreForm(visit: Visit, { pool }: Pick<Records, "pool">): Promise<Html> {
  const warnings = await RELEASE_AFTER_RESTORE.warnings({ pool });
  return formOf(RELEASE_AFTER_RESTORE, RELEASE_AFTER_RESTORE.path, {}, visit, { warnings });
}
