import type { Clock } from "../core/clock.ts";
import { type Activity, findLastMessages, joinActivity, readActivity } from "../ledger/operator/activity.ts";
import type { ConnectorView } from "../operator/connector-columns.ts";
import { connectorNames, type Place, type SiteSettings } from "../operator/place.ts";
import { ask, once } from "./ask.ts";
import type { ConsoleDeps } from "./deps.ts";
import type { Status } from "./status-document.ts";

/** What came and went lately; undefined for what the ledger does not answer. */
export interface Traffic {
  readonly hour: Activity | undefined;
  readonly day: Activity | undefined;
  readonly lastMessages: ReadonlyMap<string, Date> | undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A day of a busy site is some hundred thousand rows, which no page has to count anew. */
const DAY_LASTS_MS = MINUTE_MS;

/** Gives what reads the traffic: the last hour and the hour of the clock each time, those of the day before it once a minute. */
export function watchTraffic(
  deps: Pick<ConsoleDeps, "logger" | "clock">,
  { pool, config }: Pick<Place, "pool"> & { readonly config: Pick<SiteSettings, "connectors"> },
): () => Promise<Traffic> {
  const { clock } = deps;
  const WARNING = "what came and went could not be read";
  // A question goes on after its deadline, and must not be asked again beside itself.
  const readHour = once(() => readActivity(pool, spanOf(clock, 60, MINUTE_MS)));
  const readPast = once(() => readActivity(pool, spanBefore(clock, 23, HOUR_MS)));
  const readPresent = once(() => readActivity(pool, spanOf(clock, 1, HOUR_MS)));
  const readLastMessages = once(() => findLastMessages(pool, connectorNames(config)));
  let past:
    | {
        readonly readAt: number;
        readonly hour: number;
        readonly activity: Promise<Activity | undefined>;
      }
    | undefined;
  return async () => {
    const ofClock = Math.floor(clock.now() / HOUR_MS);
    if (past?.hour !== ofClock || clock.monotonic() - past.readAt >= DAY_LASTS_MS)
      past = { readAt: clock.monotonic(), hour: ofClock, activity: ask(deps, readPast, WARNING) };
    const [hour, before, present, lastMessages] = await Promise.all([
      ask(deps, readHour, WARNING),
      past.activity,
      ask(deps, readPresent, WARNING),
      ask(deps, readLastMessages, WARNING),
    ]);
    if (before === undefined) past = undefined;
    return { hour, day: before && present && joinActivity(before, present), lastMessages };
  };
}

/** Whole spans, so that a bar only grows; the last one is under way. */
function spanOf(clock: Clock, slots: number, slotMs: number) {
  const end = (Math.floor(clock.now() / slotMs) + 1) * slotMs;
  return { from: new Date(end - slots * slotMs), slots, slotMs };
}

/** The whole spans before the one that is under way. */
function spanBefore(clock: Clock, slots: number, slotMs: number) {
  const until = Math.floor(clock.now() / slotMs) * slotMs;
  return { from: new Date(until - slots * slotMs), until: new Date(until), slots, slotMs };
}

const NOTHING = { received: 0, refused: 0, sent: 0 };

/** The connectors of the daemon that gave the status, and what went through each. */
export function listConnectors(
  { connectors, untakenFiles }: Pick<Status, "connectors" | "untakenFiles">,
  { hour, day, lastMessages }: Traffic,
): ConnectorView[] {
  return (connectors ?? []).map((row) => {
    const ofDay = day && { ...NOTHING, ...day.byConnector.get(row.connector) };
    const ofHour = hour && { ...NOTHING, ...hour.byConnector.get(row.connector) };
    const untaken = untakenFiles?.filter(({ connector }) => connector === row.connector);
    return {
      ...row,
      received: ofDay?.received,
      refused: ofDay?.refused,
      sent: ofDay?.sent,
      lastMessageAt: lastMessages && (lastMessages.get(row.connector) ?? null),
      receivedLastHour: ofHour?.received,
      untakenFiles: untaken?.reduce((all, { count }) => all + count, 0),
    };
  });
}
