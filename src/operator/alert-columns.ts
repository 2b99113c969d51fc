import type pg from "pg";
import type { AlertLevel } from "../core/alert.ts";
import type { Alert } from "../ledger/alerts/alerts.ts";
import { type AlertDelivery, listAlertDeliveries } from "../ledger/alerts/messages.ts";
import type { Silence, Silenced } from "../ledger/alerts/silences.ts";
import { formatId } from "../ledger/ids.ts";
import { ageColumn, type Column, forPrograms, type Paint } from "./column.ts";
import { localTime } from "./times.ts";

/** How urgent something is, by sign, words and colour. */
export const LEVELS = {
  act: { sign: "✗", meaning: "needs a person", paint: "red" },
  wait: { sign: "↻", meaning: "goes on by itself", paint: "yellow" },
  look: { sign: "·", meaning: "worth a look", paint: "cyan" },
} as const satisfies Record<
  AlertLevel,
  { readonly sign: string; readonly meaning: string; readonly paint: Paint }
>;

/** How a part stands of which everything else depends. */
export const PART_SIGNS = {
  up: { sign: "✓", paint: "green" },
  waits: { sign: "◦", paint: "yellow" },
  down: { sign: "✗", paint: "red" },
  unknown: { sign: "·", paint: "dim" },
} as const satisfies Record<string, { readonly sign: string; readonly paint: Paint }>;

/** An alert with what became of its messages. */
export interface AlertRow extends Alert {
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

/** What a place was sent of an alert. */
export const ALERT_MESSAGE_COLUMNS: readonly Column<AlertDelivery>[] = [
  { key: "place", title: "place" },
  { key: "event", title: "what", show: ({ event }) => (event === "over" ? "its end" : "its start") },
  {
    title: "state",
    show: fateOf,
    paint: ({ sentAt, givenUpAt }) => (sentAt ? "green" : givenUpAt ? "red" : "yellow"),
  },
  { key: "attempts", title: "attempts", isRight: true },
  { key: "sentAt", title: "when" },
  { key: "failure", title: "last error", isFlexible: true },
];

function fateOf({ sentAt, givenUpAt }: AlertDelivery): string {
  if (sentAt) return "sent";
  return givenUpAt ? "given up" : "waits";
}

/** What a person wants to hear nothing of for a while. */
export const SILENCE_COLUMNS: readonly Column<Silence>[] = [
  { key: "id", title: "id", value: ({ id }) => formatId("s", id) },
  { title: "what", isFlexible: true, show: nameSilenced },
  ...forPrograms<Silence>("kind", "about"),
  { key: "until", title: "until" },
  ageColumn(({ until }) => until, "ends"),
  { key: "actor", title: "who" },
  { key: "reason", title: "why", isFlexible: true },
  { key: "createdAt" },
];

/** What is silenced, in words: `all tankOverdue`, `tankOverdue NORTH T1`. */
function nameSilenced({ kind, about }: Silenced): string {
  if (about === null) return `all ${kind}`;
  return about === "" ? kind : `${kind} ${about}`;
}

/** What a silence does, in a sentence. */
export function describeSilenced(silenced: Silenced, until: Date): string {
  return `Nothing is announced of ${nameSilenced(silenced)} until ${localTime(until)}.`;
}

/** That maintenance is in force, in a sentence. */
export function describeMaintenance(until: Date): string {
  return `Maintenance until ${localTime(until)}: nothing is announced; what still holds then is.`;
}
