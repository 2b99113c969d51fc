import { formatId } from "../../ledger/ids.ts";
import { listFiles } from "../../ledger/messages/file-views.ts";
import { listMessages } from "../../ledger/messages/views.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import { listOrders, searchOrders } from "../../ledger/operator/views.ts";
import { FILE_COLUMNS } from "../../operator/lists/files.ts";
import { MESSAGE_COLUMNS } from "../../operator/lists/messages.ts";
import { ORDER_COLUMNS } from "../../operator/lists/orders.ts";
import { connectorNames } from "../../operator/place.ts";
import { withSurroundings } from "../../operator/surroundings.ts";
import { listTable, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import { SEARCH_PATH } from "../layout.ts";
import { placeOf } from "../list-page.ts";
import type { Answer, Search, Site } from "../site.ts";

const OF_A_SUBJECT = 50;
const BESIDE = 10;
/** What the audit says of a search. */
const DETAIL = { search: "subject code" };

/**
 * The search of every page. What somebody types may identify a patient, so it is posted, and stands in no address. Who may see
 * patients' data searches for a subject's code too, which is recorded where one was found, or nothing at all.
 */
export function addSearch(site: Site, records: Records): void {
  site.search(SEARCH_PATH, (search) => find(search, records));
}

async function find(search: Search, records: Records): Promise<Answer> {
  const { word, viewer, mayAct, act } = search;
  const { pool, config } = records;
  if (word === "") return { to: "/orders" };
  const ids = await searchOrders(pool, word, { connectors: connectorNames(config), limit: BESIDE });
  const orders = await listOrders(pool, { ids, limit: BESIDE });
  const [hit, another] = orders;
  const ofSubject = await ofSubjectCode(search, records);
  if (ofSubject === "" && hit)
    return { to: another ? listOf("/orders", search) : `/orders/${formatId("o", hit.id)}` };
  const beside = await besideOrders(search, records);
  const isNothing = ofSubject === "" && beside === "";
  if (isNothing && mayAct) await recordAudit(pool, act, "show-phi", [{ target: "no order", detail: DETAIL }]);
  return {
    title: "Search",
    section: "/orders",
    body: html`
<h1>Search</h1>
${ofSubject}
${part("Orders with that number, id, container, control id, file or number of the service", listTable(ORDER_COLUMNS, await withSurroundings(placeOf(records, search), orders), viewer, { nothing: "" }), orders, () => listOf("/orders", search))}
${beside}
${isNothing ? nothing(search) : ""}
<p class="more"><a href="/orders">All orders</a></p>`,
  };
}

function listOf(path: string, { word, words }: Search): string {
  return `${path}?${new URLSearchParams({ find: words.keep(word) })}`;
}

function nothing({ word, mayAct }: Search): Html {
  return html`<p>Nothing has the number (the lab’s or the service’s), id, container, control id${mayAct ? ", subject code" : ""} or file name ${word}.</p>`;
}

/** The newest orders of a subject. Neither their code nor what was searched for is in an address, or the audit. */
async function ofSubjectCode(search: Search, records: Records): Promise<Html | ""> {
  const { word, mayAct, act, viewer } = search;
  const { pool } = records;
  if (!mayAct) return "";
  const orders = await listOrders(pool, { subjectCode: word, limit: OF_A_SUBJECT });
  if (orders.length === 0) return "";
  const targets = orders.map(({ id }) => ({ target: formatId("o", id), detail: DETAIL }));
  await recordAudit(pool, act, "show-phi", targets);
  return section(
    "Orders of the subject with that code",
    html`<p class="note">The newest ${OF_A_SUBJECT}; each is recorded as looked at.</p>${listTable(ORDER_COLUMNS, await withSurroundings(placeOf(records, search), orders), viewer, { nothing: "" })}`,
  );
}

/** The messages and files that a word means when no order does, such as one that was refused, or waits. */
async function besideOrders(search: Search, { pool }: Records): Promise<Html | ""> {
  const { word, viewer } = search;
  const [messages, files] = await Promise.all([
    listMessages(pool, { word, limit: BESIDE }),
    listFiles(pool, { name: word, limit: BESIDE }),
  ]);
  if (messages.length + files.length === 0) return "";
  return html`${part("Messages with that id, control id or file, or with that number or container of which no order was made", listTable(MESSAGE_COLUMNS, messages, viewer, { nothing: "" }), messages, () => listOf("/messages", search))}${part("Files of that name", listTable(FILE_COLUMNS, files, viewer, { nothing: "" }), files, () => listOf("/files", search))}`;
}

/** A part of what was found, with a link to the list of all where there may be more. */
function part(title: string, table: Html, rows: readonly unknown[], all: () => string): Html | "" {
  if (rows.length === 0) return "";
  const more = rows.length < BESIDE ? "" : html`<p class="more"><a href="${all()}">All of them</a></p>`;
  return section(title, html`${table}${more}`);
}
