import type { Clock } from "../../core/clock.ts";
import { type Activity, findLastMessages, readActivity } from "../../ledger/operator/activity.ts";
import { ask } from "../ask.ts";
import { barChart } from "../chart.ts";
import { age, badge, section } from "../components.ts";
import type { ConsoleDeps, Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Visit } from "../site.ts";

/** What came and went lately; undefined for what the ledger does not answer. */
interface Traffic {
  readonly hour: Activity | undefined;
  readonly day: Activity | undefined;
  readonly lastMessages: ReadonlyMap<string, Date> | undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A day of a busy site is some hundred thousand rows, which no page has to count anew. */
const DAY_LASTS_MS = MINUTE_MS;

/** Gives what reads the traffic: the last hour each time, the last day once a minute. */
export function watchTraffic(
  deps: Pick<ConsoleDeps, "logger" | "clock">,
  { pool, connectors }: Pick<Records, "pool" | "connectors">,
): () => Promise<Traffic> {
  const { clock } = deps;
  const WARNING = "what came and went could not be read";
  let day: { readonly readAt: number; readonly activity: Promise<Activity | undefined> } | undefined;
  return async () => {
    if (day === undefined || clock.monotonic() - day.readAt >= DAY_LASTS_MS) {
      const span = spanOf(clock, 24, HOUR_MS);
      day = { readAt: clock.monotonic(), activity: ask(deps, () => readActivity(pool, span), WARNING) };
    }
    const [hour, ofDay, lastMessages] = await Promise.all([
      ask(deps, () => readActivity(pool, spanOf(clock, 60, MINUTE_MS)), WARNING),
      day.activity,
      ask(deps, () => findLastMessages(pool, connectors), WARNING),
    ]);
    if (ofDay === undefined) day = undefined;
    return { hour, day: ofDay, lastMessages };
  };
}

/** Whole spans, so that a bar only grows; the last one is under way. */
function spanOf(clock: Clock, slots: number, slotMs: number) {
  const end = (Math.floor(clock.now() / slotMs) + 1) * slotMs;
  return { from: new Date(end - slots * slotMs), slots, slotMs };
}

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
export function connectorTable(
  deps: Pick<ConsoleDeps, "connectors" | "listeners" | "untaken">,
  { day, lastMessages }: Traffic,
  { viewer }: Visit,
): Html {
  const rows = deps.connectors?.() ?? [];
  if (rows.length === 0) return html``;
  const listeners = new Map(deps.listeners?.().map((each) => [each.connector, each]));
  const untaken = deps.untaken?.() ?? [];
  const body = rows.map(({ connector, type, isTaking, trouble, warning, isLabAway }) => {
    const said = trouble ?? warning;
    const last = lastMessages?.get(connector);
    const { received = 0, refused = 0, sent = 0 } = day?.byConnector.get(connector) ?? {};
    const files = untaken
      .filter((each) => each.connector === connector)
      .reduce((all, { count }) => all + count, 0);
    const connections = listeners.get(connector)?.connections;
    const state = !isTaking
      ? badge("another daemon takes", "dim")
      : trouble !== undefined
        ? badge("✗ in trouble", "red")
        : badge(type === "mllp" ? "✓ listens" : "✓ looks for files", "green");
    const cells: readonly (readonly [title: string, content: Html | string | number, isRight?: boolean])[] = [
      ["connector", html`<a href="/messages?connector=${encodeURIComponent(connector)}">${connector}</a>`],
      [
        "intake",
        html`${state}${said === undefined ? "" : html` <span class="note">${said}</span>`}${connections === undefined ? "" : html` <span class="note">${connections} connected</span>`}`,
      ],
      ["last message", last === undefined ? "none yet" : age(last, viewer)],
      ["received", received, true],
      [
        "refused",
        refused === 0
          ? 0
          : html`<a href="/messages?connector=${encodeURIComponent(connector)}&verdict=refused">${refused}</a>`,
        true,
      ],
      ["sent", sent, true],
      ["files not taken", files, true],
      [
        "lab",
        isLabAway ? badge("✗ takes no results, is tried again", "red") : badge("✓ takes results", "green"),
      ],
    ];
    return { cells };
  });
  const heads = body[0]?.cells ?? [];
  return section(
    "Connectors, with the counts of the last day",
    html`<div class="table"><table><thead><tr>${heads.map(([title, , isRight]) => html`<th scope="col"${isRight ? html` class="right"` : ""}>${title}</th>`)}</tr></thead><tbody>${body.map(({ cells }) => html`<tr>${cells.map(([title, content, isRight]) => html`<td data-head="${title}"${isRight ? html` class="right"` : ""}><span>${content}</span></td>`)}</tr>`)}</tbody></table></div>`,
  );
}
