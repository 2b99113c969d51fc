import { CONNECTOR_COLUMNS } from "../../operator/connector-columns.ts";
import { barChart } from "../chart.ts";
import { listTable, section } from "../components.ts";
import { type Html, html } from "../html.ts";
import type { Visit } from "../site.ts";
import type { Status } from "../status-document.ts";
import { listConnectors, type Traffic } from "../traffic.ts";

/** The last hour and day as charts. */
export function trafficCharts({ hour, day }: Traffic): Html {
  const charts = [
    { id: "hour", name: "last hour", per: "minute", ends: ["an hour ago", "now"], activity: hour },
    { id: "day", name: "last day", per: "hour", ends: ["a day ago", "now"], activity: day },
  ] as const;
  return html`${charts.map(({ id, name, per, ends, activity }) =>
    activity === undefined
      ? ""
      : section(
          `The ${name}`,
          html`<div class="cards">${[
            barChart({
              id: `${id}-received`,
              title: "Messages received",
              values: activity.received,
              per,
              ends,
            }),
            barChart({
              ...{ id: `${id}-completed`, title: "Orders completed", per, ends },
              ...{ values: activity.completed, tone: "good" },
            }),
            barChart({
              ...{ id: `${id}-trouble`, title: "Refused, rejected, failed or parked", per, ends },
              ...{ values: activity.inTrouble, tone: "bad" },
            }),
          ].map((chart) => html`<div class="card">${chart}</div>`)}</div>`,
        ),
  )}`;
}

/** The connectors, and what went through each within a day. */
export function connectorTable(status: Status, traffic: Traffic, { viewer }: Visit): Html {
  const rows = listConnectors(status, traffic);
  if (rows.length === 0) return html``;
  return section(
    "Connectors, with the counts of the last day",
    listTable(CONNECTOR_COLUMNS, rows, viewer, { nothing: "" }),
  );
}
