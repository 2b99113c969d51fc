import { FILE_COLUMNS } from "../../operator/file-columns.ts";
import { FILE_LIST } from "../../operator/lists/files.ts";
import { FILES } from "../../operator/things/files.ts";
import { listAttention } from "../attention/conditions.ts";
import { untakenOf } from "../attention/untaken.ts";
import { listTable, section } from "../components.ts";
import type { ConsoleDeps, Records } from "../deps.ts";
import { addDetails } from "../details.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { readListPage } from "../listing.ts";
import type { Site, Visit } from "../site.ts";
import { untakenStatus } from "../status.ts";
import { attentionList } from "./overview.ts";

const PATH = "/files";

/** The list of dropped files, and the page of one. */
export function addFilePages(site: Site, deps: ConsoleDeps, records: Records): void {
  site.filter(PATH);
  site.page(PATH, (visit) => listPage(visit, deps, records));
  addDetails(site, FILES, records, {
    arrange: (at) => html`${at("facts")}${at("messages")}${at("results")}`,
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
