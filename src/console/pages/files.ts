import { FILE_LIST } from "../../operator/lists/files.ts";
import { FILES } from "../../operator/things/files.ts";
import { listAttention } from "../../standing/attention/conditions.ts";
import { untakenOf } from "../../standing/attention/untaken.ts";
import { untakenStatus } from "../../standing/status.ts";
import { section } from "../components.ts";
import type { ConsoleDeps, Records } from "../deps.ts";
import { html } from "../html.ts";
import { addListPage } from "../list-page.ts";
import { addDetails } from "../record-page.ts";
import type { Site } from "../site.ts";
import { attentionList } from "./overview.ts";

/** The list of dropped files, and the page of one. */
export function addFilePages(site: Site, deps: ConsoleDeps, records: Records): void {
  addListPage(site, "/files", FILE_LIST, records, {
    above: ({ viewer }) => {
      const untakenFiles = untakenStatus(deps);
      const untaken = listAttention(untakenOf({ untakenFiles }), { waitingMessages: null });
      const items = attentionList(untaken, viewer.clock.now());
      return untaken.length > 0 && section("In the drop folders, and not taken", items);
    },
  });
  addDetails(site, FILES, records, {
    arrange: (at) => html`${at("facts")}${at("messages")}${at("results")}`,
  });
}
