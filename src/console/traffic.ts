import type { Clock } from "../core/clock.ts";
import { type Activity, findLastMessages, readActivity } from "../ledger/operator/activity.ts";
import type { ConnectorView } from "../operator/connector-columns.ts";
import { connectorNames, type Place, type SiteSettings } from "../operator/place.ts";
import { ask, once } from "../standing/ask.ts";
import type { Status } from "../standing/status-document.ts";
import type { ConsoleDeps } from "./deps.ts";

/** What came and went lately; undefined for what the ledger does not answer. */
export interface Traffic {
  readonly hour: Activity | undefined;
  readonly day: Activity | undefined;
  readonly lastMessages: ReadonlyMap<string, Date> | undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A day of a busy site is some hundred thousand rows, which no page has to count anew. */
const LASTS_MS = 15_000;

/** Gives what reads the traffic; what came and went within the last hour and day is counted anew every 15 s. */
export function watchTraffic(
  deps: Pick<ConsoleDeps, "logger" | "clock">,
  { pool, config }: Pick<Place, "pool"> & { readonly config: Pick<SiteSettings, "connectors"> },
): () => Promise<Traffic> {
  const { clock } = deps;
  const WARNING = "what came and went could not be read";
  // A question goes on after its deadline, and must not be asked again beside itself.
  const readHour = once(() => readActivity(pool, spanOf(clock, 60, MINUTE_MS)));
  const readDay = once(() => readActivity(pool, spanOf(clock, 24, HOUR_MS)));
  const readLastMessages = once(() => findLastMessages(pool, connectorNames(config)));
  const readBoth = () => Promise.all([ask(deps, readHour, WARNING), ask(deps, readDay, WARNING)]);
  let kept: { readonly readAt: number; readonly both: ReturnType<typeof readBoth> } | undefined;
  return async () => {
    if (kept === undefined || clock.monotonic() - kept.readAt >= LASTS_MS)
      kept = { readAt: clock.monotonic(), both: readBoth() };
    const [[hour, day], lastMessages] = await Promise.all([kept.both, ask(deps, readLastMessages, WARNING)]);
    if (!hour || !day) kept = undefined;
    return { hour, day, lastMessages };
  };
}

/** Whole spans, so that a bar only grows; the last one is under way. */
function spanOf(clock: Clock, slots: number, slotMs: number) {
  const end = (Math.floor(clock.now() / slotMs) + 1) * slotMs;
  return { from: new Date(end - slots * slotMs), slots, slotMs };
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
