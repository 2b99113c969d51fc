import type { Alert } from "../ledger/alerts/alerts.ts";
import type { AlertDelivery } from "../ledger/alerts/messages.ts";
import { formatId } from "../ledger/ids.ts";
import { ageColumn, type Column, forPrograms } from "./column.ts";

/** An alert with what became of its messages. */
export interface AlertRow extends Alert {
  readonly messages: readonly AlertDelivery[];
}

/** An alert, for people and programs. */
export const ALERT_COLUMNS: readonly Column<AlertRow>[] = [
  { key: "id", title: "id", value: ({ id }) => formatId("a", id) },
  {
    title: "state",
    show: stateOf,
    paint: ({ overAt, acknowledgedAt }) => (overAt ? "dim" : acknowledgedAt ? "yellow" : "red"),
  },
  { key: "kind", title: "kind" },
  { key: "about" },
  { key: "since", title: "since" },
  ageColumn(({ since }) => since),
  { key: "text", title: "what", isFlexible: true },
  { title: "sent", isFlexible: true, show: sentOf },
  {
    key: "messages",
    value: ({ messages }) =>
      messages.map(({ place, event, attempts, sentAt, givenUpAt, failure }) => ({
        ...{ place, event, attempts, sentAt: sentAt ?? null },
        ...{ givenUpAt: givenUpAt ?? null, failure: failure ?? null },
      })),
  },
  ...forPrograms<AlertRow>("hint", "startedAt", "announcedAt", "overAt", "silencedUntil"),
  ...forPrograms<AlertRow>("acknowledgedAt", "acknowledgedBy", "acknowledgedReason"),
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
    .map(({ place, sentAt, givenUpAt, failure }) => {
      if (sentAt) return place;
      const why = failure === undefined ? "" : ` (${failure})`;
      return givenUpAt ? `${place} given up${why}` : `${place} waits${why}`;
    })
    .join(", ");
}
