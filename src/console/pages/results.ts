import { formatId } from "../../ledger/ids.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { DELIVERY_DETAILS, findMeantOrders, MOST_NAMED, RESULT_LIST } from "../../operator/lists/results.ts";
import { RESULTS } from "../../operator/things/results.ts";
import { nameOf } from "../../operator/why-waiting.ts";
import { addActs } from "../act-forms.ts";
import { details, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import { addListPage } from "../list-page.ts";
import { addDetails } from "../record-page.ts";
import type { Site } from "../site.ts";

const PATH = "/results";

/** The results for the lab: the list, the page of one, and what can be done to it. */
export function addResultPages(site: Site, records: Records): void {
  addListPage(site, PATH, RESULT_LIST, records, {
    heading: "Results for the lab",
    between: async ({ values }) => {
      const word = values?.order;
      const [order, ...others] = word === undefined ? [] : await findMeantOrders(records, word);
      return html`<p class="note">Delivered: the lab acknowledged it, or, where it gets files, the file lies in its folder <code>out</code>.</p>${order && aboutOrder(order, others)}`;
    },
  });
  addActs(site, RESULTS, records);
  addDetails(site, RESULTS, records, {
    arrange: (at) => html`<div class="columns">${at("facts")}${at("about")}</div>${at("text")}`,
    below: ({ waitsBehind }) =>
      waitsBehind &&
      html`<p class="why">It waits for <a href="${PATH}/${waitsBehind}">${waitsBehind}</a>, an earlier result of the same order.</p>`,
    instead: async (result, { viewer }) => ({
      facts: details(OWN_FACTS, result, viewer),
      about: section("What it is about", linksTo(result.orderIds)),
    }),
  });
}

/** What it is about stands beside them, with links. */
const OWN_FACTS = DELIVERY_DETAILS.filter(({ key }) => key !== "orderIds");

function linksTo(orderIds: readonly string[]): Html {
  if (orderIds.length === 0) return html`<p>A message as a whole.</p>`;
  return html`<ul class="plain">${orderIds.map((id) => html`<li><a href="/orders/${id}">Order ${id}</a></li>`)}</ul>`;
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
