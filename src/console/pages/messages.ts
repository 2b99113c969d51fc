import type { MessageView } from "../../ledger/messages/views.ts";
import { listWaitingCodes } from "../../ledger/messages/waiting.ts";
import { MESSAGE_LIST } from "../../operator/lists/messages.ts";
import { MESSAGE_COLUMNS } from "../../operator/message-columns.ts";
import { connectorNames } from "../../operator/place.ts";
import { MESSAGES } from "../../operator/things/messages.ts";
import { addActs, beforeRows, chooseBox, chooseForm } from "../act-forms.ts";
import { listTable, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { addDetails } from "../details.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { readListPage } from "../listing.ts";
import type { Site, Visit } from "../site.ts";
import type { BeginWork } from "../work.ts";
import { messageContent } from "./message-text.ts";
import { waitingList } from "./waiting-codes.ts";

const PATH = "/messages";

/** The list of messages, the page of one, and what can be done to them. */
export function addMessagePages(site: Site, records: Records, beginWork: BeginWork): void {
  site.filter(PATH);
  site.page(PATH, (visit) => listPage(visit, records));
  addActs(site, MESSAGES, records, { list: MESSAGE_LIST, beginWork });
  addDetails(site, MESSAGES, records, {
    isStill: true,
    arrange: (at) =>
      html`${at("facts")}<div class="columns wide">${at("text")}<div>${at("orders")}${at("answer")}</div></div>${at("results")}`,
    instead: async (message, { viewer }) => ({ text: await messageContent(message, viewer.mayShowPhi) }),
  });
}

async function listPage(visit: Visit, records: Records): Promise<Page> {
  const { viewer, mayAct } = visit;
  const [{ rows, nothing, form, more }, waiting] = await Promise.all([
    readListPage(MESSAGE_LIST, PATH, visit, records),
    listWaitingCodes(records.pool),
  ]);
  const table = listTable(MESSAGE_COLUMNS, rows, viewer, {
    nothing,
    ...beforeRows("choose", ({ messageId }: MessageView) => chooseBox(messageId), visit),
  });
  return {
    title: "Messages",
    section: PATH,
    isLive: true,
    body: html`
<h1>Messages</h1>
${waiting.length === 0 ? "" : section("Waiting for a code", waitingList(waiting, visit, connectorNames(records.config)))}
${form}
${mayAct && rows.length > 0 ? chooseForm(MESSAGES, table, visit) : table}
${more}`,
  };
}
