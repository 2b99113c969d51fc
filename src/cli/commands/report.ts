import type { Command } from "commander";
import { reportBody } from "../../console/pages/reports.ts";
import { printed } from "../../console/printed.ts";
import { type Report, readReport } from "../../ledger/reports/report.ts";
import {
  reportCsv,
  reportJson,
  reportNote,
  reportOverview,
  reportTitle,
} from "../../operator/overviews/report.ts";
import { type NamedPeriod, parsePeriod } from "../../operator/report-period.ts";
import { withLedger } from "../open.ts";
import { type FormOptions, requireOneForm } from "../output/form.ts";
import { printOverview } from "../output/print-parts.ts";
import { type Act, type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge report …`. */
export function define(report: Command, cli: Cli): void {
  for (const kind of ["day", "month"] as const) {
    const [form, example] = kind === "day" ? ["YYYY-MM-DD", "2026-11-23"] : ["YYYY-MM", "2026-11"];
    report
      .command(kind)
      .description(
        `What came in ${kind === "day" ? "on a day" : "in a month"}, what became of it, how long it took, and what was refused why.`,
      )
      .argument(`[${form}]`, `the ${kind} (default: the current one)`)
      .option("--csv", "one CSV text instead")
      .option("--html", "a page to print instead, which needs no other file")
      .addHelpText("after", `\nExample:\n  cryobridge report ${kind} ${example} --html > report.html`)
      .action(toAction(cli, showReport(kind)));
  }
}

function showReport(kind: NamedPeriod["kind"]): Act {
  return async (session, wanted: string | undefined, form: FormOptions) => {
    requireOneForm(session, form);
    const period = parsePeriod(kind, wanted, session.clock.now());
    const report = await withLedger(session, ({ pool }) => readReport(pool, period));
    if (session.isJson) session.json(reportJson(period, report, session));
    else if (form.csv === true) session.io.stdout.write(reportCsv(report));
    else if (form.html === true)
      session.io.stdout.write(printed(reportTitle(period), reportBody(period, report, session)));
    else print(period, report, session);
    return undefined;
  };
}

function print(period: NamedPeriod, report: Report, session: Session): void {
  session.lines([session.paint("bold", reportTitle(period)), reportNote(period), ""]);
  printOverview(session, reportOverview(report, session));
}
