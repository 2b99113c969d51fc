import type pg from "pg";
import type { AlertNews } from "../core/alert.ts";
import { type Backoff, longestBackoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import {
  type AlertMessage,
  beginAlertMessage,
  giveUpOtherPlaces,
  recordAlertFailed,
  recordAlertSent,
} from "../ledger/alerts/messages.ts";
import { formatId } from "../ledger/ids.ts";
import { type AlertPlace, PLACE_TIMEOUT_MS } from "./places/place.ts";

export interface SendDeps {
  readonly pool: pg.Pool;
  readonly places: readonly AlertPlace[];
  /** Who sends, as the news say it. */
  readonly sender: Pick<AlertNews, "host" | "version">;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Logger;
}

/** Until a message is tried again that a place did not take. */
const RETRY: Backoff = { firstMs: 10_000, maxMs: 900_000 };
const PAUSES_MS = Array.from({ length: 8 }, (_, n) => longestBackoffMs(n + 1, RETRY));
/** What a place did not take for this long is old news. */
const GIVE_UP_AFTER_MS = 86_400_000;

/**
 * Sends each place what is due for it, in order about each thing. At least once: a daemon that ends between the sending and its
 * record sends it again, with the same id.
 */
export async function sendDueAlerts(deps: SendDeps, signal: AbortSignal): Promise<void> {
  const { pool, places } = deps;
  await giveUpOtherPlaces(
    pool,
    places.map(({ name }) => name),
  );
  await Promise.all(places.map((place) => sendTo(place, deps, signal)));
}

/** What a slow place has not taken after a while waits for the next time, since nothing is judged meanwhile. */
async function sendTo(place: AlertPlace, deps: SendDeps, signal: AbortSignal): Promise<void> {
  const endsAtMs = deps.clock.monotonic() + PLACE_TIMEOUT_MS;
  while (!signal.aborted && deps.clock.monotonic() < endsAtMs) {
    const message = await beginAlertMessage(deps.pool, place.name, PAUSES_MS);
    if (message === undefined || !(await sendOne(place, message, deps, signal))) return;
  }
}

async function sendOne(
  place: AlertPlace,
  message: AlertMessage,
  deps: SendDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { pool, sender, logger } = deps;
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(PLACE_TIMEOUT_MS)]);
    await place.send(newsOf(message, sender), within);
  } catch (error) {
    const why = error instanceof Error ? error.message : "it failed";
    const isGivenUp = await recordAlertFailed(pool, message.id, why, GIVE_UP_AFTER_MS);
    const fields = { place: place.name, alert: formatId("a", message.alertId), event: message.event, why };
    logger.warn(fields, `an alert could not be sent; ${isGivenUp ? "it is given up" : "it is tried again"}`);
    return isGivenUp;
  }
  await recordAlertSent(pool, message.id);
  return true;
}

function newsOf(message: AlertMessage, sender: SendDeps["sender"]): AlertNews {
  const { alertId, event, kind, about, level, text, hint, since, overAt, instanceCode } = message;
  const id = formatId("a", alertId);
  return {
    ...{ id: `${instanceCode}-${id}-${event}`, event, ...sender },
    alert: {
      ...{ id, kind, about, level, text, hint: hint ?? null, since: since.toISOString() },
      overAt: event === "over" ? (overAt?.toISOString() ?? null) : null,
    },
  };
}

/** Sends every place a test message. */
export async function sendTest(
  places: readonly AlertPlace[],
  sender: SendDeps["sender"],
  clock: Pick<Clock, "now">,
): Promise<{ readonly place: string; readonly failure: string | undefined }[]> {
  const now = new Date(clock.now()).toISOString();
  const text = "This is a test of alerts: nothing is wrong.";
  const news: AlertNews = {
    ...{ id: `test-${clock.now()}`, event: "test", ...sender },
    alert: {
      ...{ id: "test", kind: "daemonTrouble", about: "test", level: "look", text },
      ...{ hint: null, since: now, overAt: null },
    },
  };
  return Promise.all(
    places.map(async (place) => {
      const failure = await place.send(news, AbortSignal.timeout(PLACE_TIMEOUT_MS)).then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error.message : "it failed"),
      );
      return { place: place.name, failure };
    }),
  );
}
