import type pg from "pg";
import { type Alert, listRecentAlerts } from "../../ledger/alerts/alerts.ts";
import { type AlertDelivery, listAlertDeliveries } from "../../ledger/alerts/messages.ts";
import { formatId } from "../../ledger/ids.ts";
import { ageColumn, type Column, forPrograms } from "../column.ts";
import { list, since } from "../list.ts";
import { LEVELS } from "../signs.ts";

/** An alert with what became of its messages. */
interface AlertRow extends Alert {
  readonly messages: readonly AlertDelivery[];
}

/** Adds to alerts what was sent of them. */
export async function withMessages(pool: pg.Pool, alerts: readonly Alert[]): Promise<AlertRow[]> {
  const ids = alerts.map(({ id }) => id);
  const byAlert = Map.groupBy(await listAlertDeliveries(pool, ids), ({ alertId }) => alertId);
  return alerts.map((alert) => ({ ...alert, messages: byAlert.get(alert.id) ?? [] }));
}

/** An alert, for people and programs. */
export const ALERT_COLUMNS: readonly Column<AlertRow>[] = [
  {
    key: "id",
    title: "id",
    value: ({ id }) => formatId("a", id),
    link: ({ id }) => `/alerts/${formatId("a", id)}`,
  },
  {
    key: "level",
    title: "severity",
    show: ({ level }) => LEVELS[level].meaning,
    paint: ({ level, overAt }) => (overAt ? "dim" : LEVELS[level].paint),
  },
  {
    title: "state",
    show: stateOf,
    paint: ({ overAt, acknowledgedAt, silencedUntil }) =>
      overAt ? "dim" : acknowledgedAt || silencedUntil ? "yellow" : "red",
  },
  { key: "kind", title: "kind" },
  { key: "about", title: "about", only: "details" },
  { key: "since", title: "since" },
  ageColumn(({ since }) => since),
  { key: "overAt", title: "over", only: "details" },
  { key: "text", title: "what", isFlexible: true },
  { key: "hint", title: "what to do", only: "details" },
  { key: "acknowledgedBy", title: "who sees to it", only: "details" },
  { key: "acknowledgedReason", title: "what they do", only: "details" },
  { key: "acknowledgedAt", title: "since when they do", only: "details" },
  { key: "silencedUntil", title: "silenced until", only: "details" },
  { title: "sent", isFlexible: true, only: "list", show: sentOf },
  {
    key: "messages",
    value: ({ messages }) =>
      messages.map(({ place, event, attempts, sentAt, givenUpAt, failure }) => ({
        ...{ place, event, attempts, sentAt: sentAt ?? null },
        ...{ givenUpAt: givenUpAt ?? null, failure: failure ?? null },
      })),
  },
  ...forPrograms<AlertRow>("startedAt", "announcedAt"),
];

function stateOf({ overAt, acknowledgedBy, silencedUntil }: AlertRow): string {
  if (overAt) return "over";
  if (acknowledgedBy !== undefined) return `open, ${acknowledgedBy} sees to it`;
  return silencedUntil ? "open, silenced" : "open";
}

/** `email, hook failed (status 500)`: of the newest event. */
function sentOf({ messages, overAt }: AlertRow): string {
  const event = overAt ? "over" : "started";
  return messages
    .filter((message) => message.event === event)
    .map((message) => {
      if (message.sentAt) return message.place;
      const why = message.failure === undefined ? "" : ` (${message.failure})`;
      return `${message.place} ${fateOf(message)}${why}`;
    })
    .join(", ");
}

/** What became of a message about an alert. */
export function fateOf({ sentAt, givenUpAt }: AlertDelivery): string {
  if (sentAt) return "sent";
  return givenUpAt ? "given up" : "waits";
}

/** Of those that are over, the ones that ended within this time are shown unless another one is asked for, ms. */
const OVER_WITHIN_MS = 7 * 86_400_000;

/** Alerts that hold, and then those that were over lately. */
export const ALERT_LIST = list({
  key: "alerts",
  help: "List alerts that hold, and those that were over within 7 days.",
  filters: {
    since: {
      ...since(),
      ...{ label: "Over within", unset: "a week" },
      help: "of those that are over, the ones that ended since: 2h, 30d, or 2026-11-21T08:00",
    },
  },
  columns: ALERT_COLUMNS,
  nothing: () => "No alert holds, and none was over lately.",
  read: async ({ pool, nowMs }, { since }, { limit, after }) => {
    const withinMs = since === undefined ? OVER_WITHIN_MS : Math.max(0, nowMs - since.getTime());
    return withMessages(pool, await listRecentAlerts(pool, withinMs, limit, after));
  },
  page: { kind: "a", of: ({ id }) => formatId("a", id) },
});
