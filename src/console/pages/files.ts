import { parseId } from "../../ledger/ids.ts";
import { type FileView, findFile } from "../../ledger/messages/file-views.ts";
import { listFileMessageViews } from "../../ledger/messages/views.ts";
import { listFileDeliveries } from "../../ledger/operator/views.ts";
import { FILE_COLUMNS, FILE_STATUS_WORDS, paintOfFile } from "../../operator/file-columns.ts";
import { FILE_LIST } from "../../operator/lists/files.ts";
import { FILE_MESSAGE_COLUMNS } from "../../operator/message-columns.ts";
import { DELIVERY_COLUMNS } from "../../operator/order-columns.ts";
import { listAttention, untakenOf } from "../attention.ts";
import { age, badge, details, listTable, problemBox, section } from "../components.ts";
import type { ConsoleDeps, Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { readListPage } from "../listing.ts";
import { type Site, type Visit, wholeNumber } from "../site.ts";
import { untakenStatus } from "../status.ts";
import { attentionList } from "./overview.ts";

const A_PAGE = 50;
const PATH = "/files";
/** Results that a file's page shows, the newest. */
const RESULTS = 20;

/** The list of dropped files, and the page of one. */
export function addFilePages(site: Site, deps: ConsoleDeps, records: Records): void {
  site.filter(PATH);
  site.page(PATH, (visit) => listPage(visit, deps, records));
  site.page(`${PATH}/:id`, async (visit) => {
    const number = parseId("f", visit.params.id ?? "");
    if (number === undefined) return undefined;
    const file = await findFile(records.pool, number);
    return file && filePage(file, number, visit, records);
  });
}

async function listPage(visit: Visit, deps: ConsoleDeps, records: Records): Promise<Page> {
  const { viewer } = visit;
  const { rows, nothing, form, more } = await readListPage(FILE_LIST, PATH, visit, records);
  const untaken = listAttention(untakenOf({ untakenFiles: untakenStatus(deps) }), { waitingMessages: null });
  return {
    title: "Files",
    section: PATH,
    isLive: true,
    body: html`
<h1>Files</h1>
${untaken.length === 0 ? "" : section("In the drop folders, and not taken", attentionList(untaken, viewer.clock.now()))}
${form}
${listTable(FILE_COLUMNS, rows, viewer, { nothing })}
${more}`,
  };
}

async function filePage(
  file: FileView,
  number: number,
  { query, viewer }: Visit,
  { pool }: Records,
): Promise<Page> {
  const { fileId, fileName, status, connector, receivedAt, problems } = file;
  const after = wholeNumber(query.get("after"), 9) ?? 0;
  const [found, results] = await Promise.all([
    listFileMessageViews(pool, number, after, A_PAGE + 1),
    listFileDeliveries(pool, number, RESULTS),
  ]);
  const messages = found.slice(0, A_PAGE);
  const last = messages.at(-1);
  const more =
    found.length > A_PAGE && last
      ? html`<p class="more"><a href="${PATH}/${fileId}?after=${last.ordinal}">Next ones</a></p>`
      : "";
  return {
    title: `File ${fileId}`,
    section: PATH,
    isLive: true,
    body: html`
<div class="title"><h1>File ${fileName}</h1>${badge(FILE_STATUS_WORDS[status], paintOfFile(file))}<span class="note">${fileId}, through ${connector}, ${age(receivedAt, viewer)}</span></div>
${problemBox("What is wrong with it", problems)}
${details(FILE_COLUMNS, file, viewer)}
<section><h2>${after > 0 ? `Messages after the first ${after}` : "Messages"}</h2>${listTable(FILE_MESSAGE_COLUMNS, messages, viewer, { nothing: "No message was taken of it." })}${more}</section>
${section("The newest results about it", listTable(DELIVERY_COLUMNS, results, viewer, { nothing: "Nothing was sent." }))}`,
  };
}
