import { findRestored } from "../../ledger/restored/restore.ts";
import { isNarrowedBy } from "../../operator/listing.ts";
import { ORDER_LIST } from "../../operator/lists/orders.ts";
import { ORDERS } from "../../operator/things/orders.ts";
import { RELEASE_AFTER_RESTORE } from "../../operator/things/restored.ts";
import { addActs, chooseForm } from "../act-forms.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import { addListPage } from "../listing.ts";
import type { Site } from "../site.ts";
import { addSiteAct } from "../site-acts.ts";
import type { BeginWork } from "../work.ts";
import { RELEASED_AT, releaseAfterRestoreForm } from "./order.ts";

/** The list of orders, and what can be done to them. */
export function addOrderList(site: Site, records: Records, beginWork: BeginWork): void {
  addListPage(site, "/orders", ORDER_LIST, records, {
    above: async (visit) =>
      (await findRestored(records.pool)) &&
      html`<div class="acts">${await releaseAfterRestoreForm(visit, records)}</div>`,
    list: (page, visit) => {
      const { values, nothing } = page;
      const isSearch = values && isNarrowedBy(values, "find") && !visit.query.has("before");
      const elsewhere = isSearch
        ? " The search above finds it in messages that wait or were refused, too."
        : "";
      return chooseForm(ORDERS, page, visit, { nothing: `${nothing}${elsewhere}` });
    },
  });
  addActs(site, ORDERS, records, { list: ORDER_LIST, beginWork });
  addSiteAct(site, RELEASED_AT, RELEASE_AFTER_RESTORE, records, () => ({}));
}
