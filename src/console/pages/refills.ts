import { readTankAges } from "../../jobs/refills/tanks.ts";
import { listRefills } from "../../ledger/refills.ts";
import { REFILL_COLUMNS, TANK_COLUMNS } from "../../operator/refill-columns.ts";
import { listTable, nextPage, options, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Page } from "../layout.ts";
import { type Site, type Visit, wholeNumber } from "../site.ts";

const PATH = "/refills";
const A_PAGE = 50;

/** Tanks with their last refill, and the refills. */
export function addRefillPage(site: Site, records: Records): void {
  site.page(PATH, (visit) => refillPage(visit, records));
}

async function refillPage(
  { query, viewer }: Visit,
  { pool, tankLimits, facilityIdByCode }: Records,
): Promise<Page> {
  const facility = query.get("facility") || undefined;
  const facilityId = facility === undefined ? undefined : facilityIdByCode.get(facility);
  const isUnknown = facility !== undefined && facilityId === undefined;
  const [all, found] = await Promise.all([
    readTankAges(pool, tankLimits ?? { limitByTank: new Map() }, viewer.clock.now()),
    isUnknown
      ? []
      : listRefills(pool, { facilityId, beforeId: wholeNumber(query.get("before"), 15), limit: A_PAGE + 1 }),
  ]);
  const tanks = all.filter(({ facilityCode }) => facility === undefined || facilityCode === facility);
  const refills = found.slice(0, A_PAGE);
  const last = refills.at(-1);
  return {
    title: "Refills",
    section: PATH,
    isLive: true,
    body: html`
<h1>Refills and tanks</h1>
${tankLimits ? "" : html`<p class="note">No refills are followed: the configuration has no section <code>refills</code>.</p>`}
<form class="filter">
  <label>Facility<select name="facility">${options([...facilityIdByCode.keys()], facility)}</select></label>
  <button class="small">Find</button>
</form>
${section("Tanks", listTable(TANK_COLUMNS, tanks, viewer, { nothing: "No tanks." }))}
${section("Refills, the latest change first", listTable(REFILL_COLUMNS, refills, viewer, { nothing: "No refills." }))}
${found.length > A_PAGE && last ? nextPage(query, PATH, String(last.ledgerId)) : ""}`,
  };
}
