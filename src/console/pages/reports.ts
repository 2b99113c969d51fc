import { Failure } from "../../core/failures.ts";
import { LATE, within } from "../../core/within.ts";
import { type Report, readReport } from "../../ledger/reports/report.ts";
import type { Viewer } from "../../operator/column.ts";
import {
  reportCsv,
  reportJson,
  reportNote,
  reportOverview,
  reportTitle,
} from "../../operator/overviews/report.ts";
import { type NamedPeriod, parsePeriod } from "../../operator/report-period.ts";
import type { Records } from "../deps.ts";
import { type Content, type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { partsAt } from "../record-page.ts";
import type { Site, Visit } from "../site.ts";

const PATH = "/reports";
/** A month of a busy site is some hundred thousand orders, which are not read anew for each look and each form of the report. */
const REPORT_LASTS_MS = 60_000;
const MOST_KEPT = 10;
/** What takes longer, as the month of a large ledger does, is waited for by a page that says so, ms. */
const SHORT_MS = 700;

interface KeptReport {
  readonly report: Promise<Report>;
  /** Monotonic, ms; undefined while it is read. */
  endedAt: number | undefined;
}

/** The report of a day or a month: to look at, to print, as CSV and as JSON. */
export function addReportPage(site: Site, { pool }: Records): void {
  const kept = new Map<string, KeptReport>();
  /** One at a time: the daemon's work has the same connections. */
  let reading: Promise<unknown> = Promise.resolve();
  const reportOf = ({ viewer: { clock } }: Visit, { name, from, to }: NamedPeriod): Promise<Report> => {
    const known = kept.get(name);
    const isFresh = ({ endedAt }: KeptReport) =>
      endedAt === undefined || clock.monotonic() - endedAt < REPORT_LASTS_MS;
    if (known && isFresh(known)) return known.report;
    kept.delete(name);
    for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size + 1 - MOST_KEPT)))
      kept.delete(oldest);
    const report = reading.then(() => readReport(pool, { from, to }));
    const begun: KeptReport = { report, endedAt: undefined };
    kept.set(name, begun);
    // A failure, too, is kept for a while: who asks again and again would only add to its cause.
    reading = report
      .catch(() => undefined)
      .finally(() => {
        begun.endedAt = clock.monotonic();
      });
    return report;
  };
  site.page(PATH, async (visit) => {
    const period = periodOf(visit);
    if (period instanceof Failure) return unknownPeriod(period);
    const report = await within(reportOf(visit, period), SHORT_MS, visit.viewer.clock);
    return report === LATE ? waitingPage(period) : reportPage(visit, period, report);
  });
  site.file(`${PATH}/csv`, async (visit) => {
    const period = periodOf(visit);
    if (period instanceof Failure) return undefined;
    const text = reportCsv(await reportOf(visit, period));
    return { name: `report-${period.name}.csv`, type: "text/csv; charset=utf-8", text };
  });
  site.file(`${PATH}/json`, async (visit) => {
    const period = periodOf(visit);
    if (period instanceof Failure) return undefined;
    const text = `${JSON.stringify(reportJson(period, await reportOf(visit, period), visit.viewer), null, 2)}\n`;
    return { name: `report-${period.name}.json`, type: "application/json; charset=utf-8", text };
  });
}

function waitingPage(period: NamedPeriod): Page {
  return {
    title: reportTitle(period),
    section: PATH,
    isLive: true,
    body: html`<h1>${reportTitle(period)}</h1><p class="banner" role="status">The report is being put together, and stands here as soon as it is.</p>`,
  };
}

/** The period of the address: a month where one is named, else a day, today without a name. */
function periodOf({ query, viewer }: Visit): NamedPeriod | Failure {
  const month = query.get("month") || undefined;
  try {
    return parsePeriod(
      month === undefined ? "day" : "month",
      month ?? (query.get("day") || undefined),
      viewer.clock.now(),
    );
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function unknownPeriod({ message }: Failure): Page {
  return {
    title: "Reports",
    section: PATH,
    status: 400,
    body: html`<h1>Reports</h1><p class="banner bad">${message}</p><p class="more"><a href="${PATH}">The report of today</a></p>`,
  };
}

function reportPage({ viewer }: Visit, period: NamedPeriod, report: Report): Page {
  const { kind, name, previous, next, to } = period;
  const isPast = to.getTime() <= viewer.clock.now();
  const link = (to: string, words: string) => html`<a href="${PATH}?${kind}=${to}">${words}</a>`;
  const other = kind === "day" ? html`<a href="${PATH}?month=${name.slice(0, 7)}">Its month</a>` : "";
  const controls = html`<div class="filters screen">
  <form class="filter"><label>Day<input type="date" name="day" value="${kind === "day" ? name : ""}"></label><button class="small">Show</button></form>
  <form class="filter"><label>Month<input type="month" name="month" pattern="\\d{4}-\\d{2}" placeholder="2026-11" value="${kind === "month" ? name : ""}"></label><button class="small">Show</button></form>
</div>
<p class="screen links">${link(previous, `← ${previous}`)} ${isPast && link(next, `${next} →`)} ${other} <a href="${PATH}/csv?${kind}=${name}">Save as CSV</a> <a href="${PATH}/json?${kind}=${name}">Save as JSON</a> <span class="note">Printed, this page leaves the menu out.</span></p>`;
  return {
    title: reportTitle(period),
    section: PATH,
    body: reportBody(period, report, viewer, controls),
  };
}

/**
 * What the report says, on a page of the console or on one of its own.
 *
 * @param controls what a page has besides, below the heading
 */
export function reportBody(
  period: NamedPeriod,
  report: Report,
  viewer: Viewer,
  controls: Content = "",
): Html {
  const at = partsAt(reportOverview(report, viewer).parts, PATH, viewer);
  return html`
<h1>${reportTitle(period)}</h1>
${controls}
<p class="note">${reportNote(period)}</p>
${at("orders")}${at("stages")}${at("refusals")}`;
}
