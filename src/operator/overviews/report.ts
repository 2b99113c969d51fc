import { FAILURES } from "../../core/failures.ts";
import { encodeCsv } from "../../formats/csv/encode.ts";
import {
  ENDS,
  type Refusals,
  type Report,
  type ReportedOrders,
  type Stage,
  type StageTimes,
} from "../../ledger/reports/report.ts";
import { type Column, recordJson, type Viewer } from "../column.ts";
import { type Overview, tablePart } from "../parts.ts";
import type { NamedPeriod } from "../report-period.ts";
import { roundToUnit } from "../times.ts";

/** Orders by connector and operation, and how they stand; what there is none of is left empty. */
const ORDER_COLUMNS: readonly Column<ReportedOrders>[] = [
  { key: "connector", title: "connector" },
  { key: "operation", title: "operation" },
  { key: "all", title: "orders", isRight: true },
  ...ENDS.map(
    (end): Column<ReportedOrders> => ({ key: end, title: end, isRight: true, show: (row) => row[end] || "" }),
  ),
];

const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  submit: "received to submitted",
  accept: "submitted to accepted",
  complete: "accepted to completed",
  send: "completed to result sent",
  whole: "received to result sent",
};

/** How long the stages took. */
const STAGE_COLUMNS: readonly Column<StageTimes>[] = [
  { key: "stage", title: "stage", show: ({ stage }) => STAGE_WORDS[stage] },
  { key: "count", title: "orders", isRight: true },
  { key: "medianMs", title: "half within", isRight: true, show: ({ medianMs }) => taken(medianMs) },
  { key: "p90Ms", title: "90 % within", isRight: true, show: ({ p90Ms }) => taken(p90Ms) },
  { key: "p99Ms", title: "99 % within", isRight: true, show: ({ p99Ms }) => taken(p99Ms) },
  { key: "maxMs", title: "longest", isRight: true, show: ({ maxMs }) => taken(maxMs) },
];

const REFUSED_WORDS: Readonly<Record<Refusals["what"], string>> = {
  file: "files refused",
  message: "messages refused",
  rejected: "orders rejected",
  failed: "orders failed",
  parked: "orders parked",
};

/** Why files and messages were refused, and orders did not come to their end. */
const REFUSAL_COLUMNS: readonly Column<Refusals>[] = [
  { key: "what", title: "what", show: ({ what }) => REFUSED_WORDS[what] },
  { key: "count", title: "count", isRight: true },
  { key: "code", title: "reason" },
  {
    key: "meaning",
    title: "meaning",
    isFlexible: true,
    value: meaningOf,
    show: (row) => meaningOf(row)?.replaceAll("`", ""),
  },
];

/** A code of a later release has no words here. */
function meaningOf({ code }: Refusals): string | undefined {
  return Object.hasOwn(FAILURES, code) ? FAILURES[code as keyof typeof FAILURES].meaning : undefined;
}

function taken(ms: number): string {
  return ms < 1_000 ? `${ms}ms` : roundToUnit(ms);
}

/** The orders, with their sum below where there are several lines. */
function withSum(orders: readonly ReportedOrders[]): readonly ReportedOrders[] {
  if (orders.length < 2) return orders;
  const counts = Object.fromEntries(
    (["all", ...ENDS] as const).map((key) => [key, orders.reduce((sum, row) => sum + row[key], 0)]),
  ) as Pick<ReportedOrders, "all" | (typeof ENDS)[number]>;
  return [...orders, { connector: "all", operation: "", ...counts }];
}

/** `Report of 2026-11-23`. */
export function reportTitle({ name }: NamedPeriod): string {
  return `Report of ${name}`;
}

/** What the report counts, in a sentence. */
export function reportNote({ kind, timeZone }: NamedPeriod): string {
  return `Orders, messages and files that came in ${kind === "day" ? "on this day" : "in this month"} (${timeZone}), as they stand now.`;
}

/** The tables of the report. Programs get what was counted alone, people also the sum of it. */
export function reportOverview({ orders, stages, refusals }: Report, viewer: Viewer): Overview {
  return {
    parts: [
      {
        ...tablePart<ReportedOrders>(
          "orders",
          {
            ...{ title: "Orders", columns: ORDER_COLUMNS, rows: withSum(orders) },
            nothing: "No orders came in.",
          },
          viewer,
        ),
        json: { orders: orders.map((row) => recordJson(ORDER_COLUMNS, row, viewer)) },
      },
      tablePart<StageTimes>(
        "stages",
        {
          ...{ title: "Times", columns: STAGE_COLUMNS, rows: stages },
          nothing: "No order has come to its next step.",
        },
        viewer,
      ),
      tablePart<Refusals>(
        "refusals",
        {
          ...{ title: "Refusals", columns: REFUSAL_COLUMNS, rows: refusals },
          nothing: "Nothing was refused, rejected, failed or parked.",
        },
        viewer,
      ),
    ],
  };
}

/** The report for programs. */
export function reportJson(
  { kind, name, from, to, timeZone }: NamedPeriod,
  report: Report,
  viewer: Viewer,
): Record<string, unknown> {
  const parts = reportOverview(report, viewer).parts.map(({ json }) => json);
  return Object.assign({ [kind]: name, from, to, timeZone }, ...parts);
}

const CSV_COLUMNS = [
  ...["part", "connector", "operation", "end", "stage", "what", "code", "meaning"],
  ...["count", "median_ms", "p90_ms", "p99_ms", "max_ms"],
];

/** The report as one CSV text: a count in each row, and which part of the report it belongs to. */
export function reportCsv({ orders, stages, refusals }: Report): string {
  const none = undefined;
  return encodeCsv(CSV_COLUMNS, [
    ...orders.flatMap((row) =>
      ENDS.filter((end) => row[end] > 0).map((end) => [
        ...["orders", row.connector, row.operation, end, none, none, none, none],
        ...[row[end], none, none, none, none],
      ]),
    ),
    ...stages.map(({ stage, count, medianMs, p90Ms, p99Ms, maxMs }) => [
      ...["stages", none, none, none, stage, none, none, none],
      ...[count, medianMs, p90Ms, p99Ms, maxMs],
    ]),
    ...refusals.map((row) => [
      ...["refusals", none, none, none, none, row.what, row.code, meaningOf(row)],
      ...[row.count, none, none, none, none],
    ]),
  ]);
}
