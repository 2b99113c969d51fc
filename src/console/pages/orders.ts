import { formatId } from "../../ledger/ids.ts";
import { findRestored } from "../../ledger/restored/restore.ts";
import { isNarrowedBy } from "../../operator/listing.ts";
import { ORDER_LIST } from "../../operator/lists/orders.ts";
import { ORDER_COLUMNS } from "../../operator/order-columns.ts";
import { ORDERS } from "../../operator/things/orders.ts";
import { RELEASE_AFTER_RESTORE } from "../../operator/things/restored.ts";
import { addActs, beforeRows, chooseBox, chooseForm } from "../act-forms.ts";
import { listTable } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { readListPage } from "../listing.ts";
import type { Site, Visit } from "../site.ts";
import { addSiteAct } from "../site-acts.ts";
import type { BeginWork } from "../work.ts";
import { RELEASED_AT, releaseAfterRestoreForm } from "./order.ts";

const PATH = "/orders";

/** The list of orders, and what can be done to them. */
export function addOrderList(site: Site, records: Records, beginWork: BeginWork): void {
  site.filter(PATH);
  site.page(PATH, (visit) => listPage(visit, records));
  addActs(site, ORDERS, records, { list: ORDER_LIST, beginWork });
  addSiteAct(site, RELEASED_AT, RELEASE_AFTER_RESTORE, records, () => ({}));
}

async function listPage(visit: Visit, records: Records): Promise<Page> {
  const { viewer, mayAct } = visit;
  const [{ rows, values, nothing, form, more }, restored] = await Promise.all([
    readListPage(ORDER_LIST, PATH, visit, records),
    findRestored(records.pool),
  ]);
  const elsewhere =
    values === undefined || !isNarrowedBy(values, "find") || visit.query.has("before")
      ? ""
      : " The search above finds it in messages that wait or were refused, too.";
  const table = listTable(ORDER_COLUMNS, rows, viewer, {
    nothing: `${nothing}${elsewhere}`,
    ...beforeRows("choose", ({ id }: { readonly id: number }) => chooseBox(formatId("o", id)), visit),
  });
  return {
    title: "Orders",
    section: PATH,
    isLive: true,
    body: html`
<h1>Orders</h1>
${restored ? html`<div class="acts">${await releaseAfterRestoreForm(visit, records)}</div>` : ""}
${form}
${mayAct && rows.length > 0 ? chooseForm(ORDERS, table, visit) : table}
${more}`,
  };
}
