import { CONNECTOR_COLUMNS } from "../../operator/connector-columns.ts";
import type { Status } from "../../standing/status-document.ts";
import { listTable, section } from "../components.ts";
import { type Html, html } from "../html.ts";
import type { Visit } from "../site.ts";
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

/** Numbers over time as bars. */
interface Chart {
  /** Stands in the element's id: unique on its page. */
  readonly id: string;
  readonly title: string;
  readonly values: readonly number[];
  /** What one bar covers, such as `minute`. */
  readonly per: string;
  /** Where it begins and ends, such as `an hour ago` and `now`. */
  readonly ends: readonly [from: string, to: string];
  readonly tone?: "good" | "bad";
}

const WIDTH = 240;
const HEIGHT = 40;
const GAP = 1;

/** A small bar chart; for those who don't see it, its sum and its highest bar. */
function barChart({ id, title, values, per, ends: [from, to], tone }: Chart): Html {
  const most = Math.max(0, ...values);
  const sum = values.reduce((all, value) => all + value, 0);
  const width = WIDTH / Math.max(1, values.length);
  const bars = values.map((value, index) => {
    if (value === 0) return "";
    const height = Math.max(2, Math.round((value / most) * HEIGHT));
    return html`<rect x="${(index * width).toFixed(1)}" y="${HEIGHT - height}" width="${(width - GAP).toFixed(1)}" height="${height}"/>`;
  });
  const said = sum === 0 ? "None." : `${sum} in all, at most ${most} in one ${per}.`;
  return html`<figure class="chart"><figcaption>${title} <strong>${sum}</strong></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-title ${id}-desc" class="${tone}"><title id="${id}-title">${title}, by ${per}, from ${from} to ${to}</title><desc id="${id}-desc">${said}</desc><line x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/>${bars}</svg>
<div class="ends"><span>${from}</span><span>${most > 0 ? `most ${most} in one ${per}` : ""}</span><span>${to}</span></div></figure>`;
}
