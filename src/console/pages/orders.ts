import { ORDER_STATES } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import { findRestored } from "../../ledger/restored/restore.ts";
import type { ListedOrder } from "../../operator/order-columns.ts";
import { ORDER_COLUMNS, stateInWords } from "../../operator/order-columns.ts";
import { withStanding } from "../../operator/order-details.ts";
import { chooseBox, chooseForm } from "../bulk.ts";
import { filterForm, listTable, nextPage, options, SEARCH_AGAIN } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import type { Site, Visit } from "../site.ts";
import { releaseAfterRestoreForm } from "./order.ts";
import { findFiltered, statesOf } from "./order-filter.ts";
import { ORDER_BULK_ACTS } from "./orders-bulk.ts";

const A_PAGE = 50;
const PATH = "/orders";

/** The list of orders. */
export function addOrderList(site: Site, records: Records): void {
  site.filter(PATH);
  site.page(PATH, (visit) => listPage(visit, records));
  site.reasonedForm(`${PATH}/release-after-restore`, async ({ act }) => {
    const [isDone, words] = await records.acts.releaseAfterRestore(act);
    return { to: PATH, notice: { isDone, lines: [words] } };
  });
}

async function listPage(visit: Visit, records: Records): Promise<Page> {
  const { query, viewer, mayAct, words } = visit;
  const { pool, connectors } = records;
  const [found, restored] = await Promise.all([
    findFiltered(query, words, records, A_PAGE + 1),
    findRestored(pool),
  ]);
  const orders = await withStanding(pool, found.slice(0, A_PAGE), viewer.clock.now());
  const last = orders.at(-1);
  const word = words.of(query);
  const states = statesOf(query);
  const nothing =
    word === undefined
      ? SEARCH_AGAIN
      : word !== ""
        ? `No order has the number, id, container or control id ${word}, or came in a file whose name begins so. The search above finds it in messages that wait or were refused, too.`
        : query.size > 0
          ? "No order is like that."
          : "No order has come in yet.";
  const before = { title: "choose", cell: ({ id }: ListedOrder) => chooseBox(formatId("o", id)) };
  const table = listTable(ORDER_COLUMNS, orders, viewer, { nothing, ...(mayAct ? { before } : {}) });
  const failure = query.get("failure") ?? "";
  const named = (each: readonly string[]) => [each.join(), each.map(stateInWords).join(", ")] as const;
  const several = states.length > 1 ? [named(states)] : [];
  const inputs = html`
  ${word === "" ? "" : html`<label>Number, id, container, file or control id<input type="search" name="find" maxlength="200" value="${word}"></label>`}
  <label>State<select name="state">${options([...several, ...ORDER_STATES.map((each) => named([each]))], states.join() || undefined)}</select></label>
  <label>Connector<select name="connector">${options(connectors, query.get("connector") ?? undefined)}</select></label>
  ${failure === "" ? "" : html`<label>Failure<select name="failure">${options([failure], failure)}</select></label>`}`;
  return {
    title: "Orders",
    section: PATH,
    isLive: true,
    body: html`
<h1>Orders</h1>
${restored ? html`<div class="acts">${releaseAfterRestoreForm(visit)}</div>` : ""}
${filterForm(PATH, inputs, visit)}
${mayAct && orders.length > 0 ? chooseForm({ path: PATH, acts: ORDER_BULK_ACTS }, table, visit) : table}
${found.length > A_PAGE && last ? nextPage(query, PATH, formatId("o", last.id)) : ""}`,
  };
}
