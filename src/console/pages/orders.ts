import { ORDER_STATES } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import { listOrders } from "../../ledger/operator/views.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { findRestored } from "../../ledger/restored/restore.ts";
import { ORDER_COLUMNS } from "../../operator/order-columns.ts";
import { chooseBox, chooseForm } from "../bulk.ts";
import { actForm, listTable, nextPage, options } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import type { Site, Submission, Visit } from "../site.ts";
import { releaseAfterRestoreForm } from "./order.ts";
import { findFiltered, statesOf } from "./order-filter.ts";
import { ORDER_BULK_ACTS } from "./orders-bulk.ts";

const A_PAGE = 50;
const PATH = "/orders";

/** The list of orders, and the search by what identifies a patient. */
export function addOrderList(site: Site, records: Records): void {
  site.page(PATH, (visit) => listPage(visit, records));
  site.form(`${PATH}/of-subject`, (submission) => subjectPage(submission, records));
  site.form(`${PATH}/release-after-restore`, async ({ act }) => {
    if (act.reason === undefined) return { to: PATH, notice: { isDone: false, lines: ["Say why."] } };
    const [isDone, words] = await records.acts.releaseAfterRestore(act);
    return { to: PATH, notice: { isDone, lines: [words] } };
  });
}

async function listPage(visit: Visit, records: Records): Promise<Page> {
  const { query, viewer, mayAct } = visit;
  const { pool, connectors } = records;
  const [found, restored] = await Promise.all([findFiltered(query, records, A_PAGE + 1), findRestored(pool)]);
  const orders = found.slice(0, A_PAGE);
  const last = orders.at(-1);
  const word = query.get("find")?.trim() ?? "";
  const states = statesOf(query);
  const nothing =
    word === ""
      ? "No orders."
      : `No order has the number, id, container or control id ${word}, or came in a file whose name begins so.`;
  const before = { title: "", cell: ({ id }: LedgerOrder) => chooseBox(formatId("o", id)) };
  const table = listTable(ORDER_COLUMNS, orders, viewer, { nothing, ...(mayAct ? { before } : {}) });
  const several = states.length > 1 ? [[states.join(), states.join(", ")] as const] : [];
  return {
    title: "Orders",
    section: PATH,
    isLive: true,
    body: html`
<h1>Orders</h1>
${restored ? html`<div class="acts">${releaseAfterRestoreForm(visit)}</div>` : ""}
<form class="filter" data-auto>
  <label>Number, id, container, file or control id<input type="search" name="find" value="${word}"></label>
  <label>State<select name="state">${options([...several, ...ORDER_STATES], states.join() || undefined)}</select></label>
  <label>Connector<select name="connector">${options(connectors, query.get("connector") ?? undefined)}</select></label>
  <button class="small">Find</button>
</form>
<div class="acts">${actForm(
      {
        action: `${PATH}/of-subject`,
        label: "Find by subject code…",
        explains: "The code identifies a patient: it stands in no address, and the search is recorded.",
        inputs: html`<label>Subject code<input name="code" maxlength="200" autocomplete="off" required></label>`,
      },
      visit,
    )}</div>
${mayAct && orders.length > 0 ? chooseForm({ path: PATH, acts: ORDER_BULK_ACTS }, table, visit) : table}
${found.length > A_PAGE && last ? nextPage(query, PATH, formatId("o", last.id)) : ""}`,
  };
}

/** The newest orders of a subject. Neither their code nor what was searched for is in the address, or the audit. */
async function subjectPage({ form, viewer, act }: Submission, { pool }: Records): Promise<Page> {
  const code = form.get("code")?.trim() ?? "";
  const orders = code === "" ? [] : await listOrders(pool, { subjectCode: code, limit: A_PAGE });
  const targets = orders.map(({ id }) => ({ target: formatId("o", id), detail: { search: "subject code" } }));
  await recordAudit(pool, act, "show-phi", targets);
  return {
    title: "Orders of a subject",
    section: PATH,
    body: html`
<h1>Orders of a subject</h1>
<p class="note">The newest ${A_PAGE}; each is recorded as looked at.</p>
${listTable(ORDER_COLUMNS, orders, viewer, { nothing: "No order has this subject code." })}
<p class="more"><a href="${PATH}">Back to all orders</a></p>`,
  };
}
