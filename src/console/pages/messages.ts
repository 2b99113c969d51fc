import { listWaitingCodes } from "../../ledger/messages/waiting.ts";
import { MESSAGE_LIST } from "../../operator/lists/messages.ts";
import { connectorNames } from "../../operator/place.ts";
import { MESSAGES } from "../../operator/things/messages.ts";
import { addActs, chooseForm } from "../act-forms.ts";
import type { BeginWork } from "../act-on-many.ts";
import { section } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import { addListPage } from "../list-page.ts";
import { addDetails } from "../record-page.ts";
import type { Site } from "../site.ts";
import { messageContent } from "./message-text.ts";
import { waitingList } from "./waiting-codes.ts";

/** The list of messages, the page of one, and what can be done to them. */
export function addMessagePages(site: Site, records: Records, beginWork: BeginWork): void {
  addListPage(site, "/messages", MESSAGE_LIST, records, {
    above: async (visit) => {
      const waiting = await listWaitingCodes(records.pool);
      const items = waitingList(waiting, visit, connectorNames(records.config));
      return waiting.length > 0 && section("Waiting for a code", items);
    },
    list: (page, visit) => chooseForm(MESSAGES, page, visit),
  });
  addActs(site, MESSAGES, records, { list: MESSAGE_LIST, beginWork });
  addDetails(site, MESSAGES, records, {
    isStill: true,
    arrange: (at) =>
      html`${at("facts")}<div class="columns wide">${at("text")}<div>${at("orders")}${at("answer")}</div></div>${at("results")}`,
    instead: async (message, { viewer }) => ({ text: await messageContent(message, viewer.mayShowPhi) }),
  });
}
