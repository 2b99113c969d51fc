import { REFILL_LIST } from "../../operator/lists/refills.ts";
import { TANK_LIST } from "../../operator/lists/tanks.ts";
import { section } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { readListPage } from "../list-page.ts";
import type { Site, Visit } from "../site.ts";

const PATH = "/refills";

/** Tanks with their last refill, and the refills. */
export function addRefillPage(site: Site, records: Records): void {
  site.filter(PATH);
  site.page(PATH, (visit) => refillPage(visit, records));
}

async function refillPage(visit: Visit, records: Records): Promise<Page> {
  const [tanks, { table, form, more }] = await Promise.all([
    readListPage(TANK_LIST, PATH, visit, records),
    readListPage(REFILL_LIST, PATH, visit, records),
  ]);
  return {
    title: "Refills",
    section: PATH,
    isLive: true,
    body: html`
<h1>Refills and tanks</h1>
${records.config.refills ? "" : html`<p class="note">No refills are followed: the configuration has no section <code>refills</code>.</p>`}
${form}
${section("Tanks", tanks.table())}
${section("Refills, the latest change first", table())}
${more}`,
  };
}
