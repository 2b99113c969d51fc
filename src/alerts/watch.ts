import { ALERT_LEVELS, alertKey } from "../core/alert.ts";
import type { AlertCondition } from "../core/condition.ts";
import type { AlertKind } from "../core/condition-kinds.ts";
import { type Alert, type AlertChanges, changeAlerts, forgetAlerts } from "../ledger/alerts/alerts.ts";
import type { AlertPlace } from "./places/place.ts";
import { type SendDeps, sendDueAlerts } from "./send.ts";

export interface AlertDeps extends Omit<SendDeps, "places"> {
  /** Asked anew each round, since a reload changes them; as are the places. */
  readonly rules: () => AlertRules;
  readonly places: () => readonly AlertPlace[];
  /** What holds right now; undefined when that could not be found out whole. */
  readonly conditions: () => Promise<readonly AlertCondition[] | undefined>;
  readonly isMaintenance: (now: Date) => boolean;
  /** How long what is over is kept, ms. */
  readonly keptMs: number;
}

/**
 * Prepares rounds, which judge what holds and send what is due; one daemon at a time makes them. What was gone before the first one has
 * to be seen gone anew.
 *
 * @throws Failure LEDGER_…, by the rounds
 */
export function alertRounds(deps: AlertDeps): (signal: AbortSignal) => Promise<void> {
  let isFirstLook = true;
  return async (signal) => {
    const { pool, isMaintenance } = deps;
    const [places, rules] = [deps.places(), deps.rules()];
    const conditions = await deps.conditions();
    if (conditions !== undefined) {
      const names = places.map(({ name }) => name);
      const momentAt = (now: Date): AlertMoment => ({ now, isMaintenance: isMaintenance(now), isFirstLook });
      const judge = () =>
        changeAlerts(pool, names, (open, now) => decideAlerts(open, conditions, rules, momentAt(now)));
      const { begun } = await judge();
      isFirstLook = false;
      // What asks for no delay starts at once.
      if (begun.length > 0) await judge();
      await forgetAlerts(pool, deps.keptMs);
    }
    await sendDueAlerts({ ...deps, places }, signal);
  };
}

/** What decides when an alert starts and ends. */
export interface AlertRules {
  /** For how long a condition of each kind has to hold, ms. The ledger may have kinds of another release, which are off. */
  readonly rules: Readonly<Partial<Record<AlertKind, { readonly on: boolean; readonly afterMs: number }>>>;
  /** For how long a condition has to be gone before its alert is over, ms. */
  readonly overAfterMs: number;
}

/** The present moment, as far as alerts are concerned. */
export interface AlertMoment {
  readonly now: Date;
  /** Whether maintenance was declared for now. */
  readonly isMaintenance: boolean;
  /** Whether another daemon, or none, looked before: what was gone before may have been back meanwhile. */
  readonly isFirstLook: boolean;
}

/**
 * What becomes of alerts. A condition starts an alert once it has held for as long as its kind asks, and the alert is over once
 * the condition has been gone for a while, so that one that comes and goes is reported once. Nothing is announced that a person
 * silenced or that starts during maintenance; what still holds afterwards is announced then. Where a kind was turned off, nobody
 * knows whether its conditions hold, so its alerts end unannounced.
 */
export function decideAlerts(
  open: readonly Alert[],
  conditions: readonly AlertCondition[],
  { rules, overAfterMs }: AlertRules,
  { now, isMaintenance, isFirstLook }: AlertMoment,
): AlertChanges {
  const rankOf = ({ level }: AlertCondition) => ALERT_LEVELS.indexOf(level);
  const holding = new Map<string, AlertCondition>();
  for (const each of conditions) {
    // One alert is for several conditions, such as of the results for one lab: it says the most urgent one.
    const former = holding.get(alertKey(each));
    const isMore = former === undefined || rankOf(each) < rankOf(former);
    if (rules[each.kind]?.on && isMore) holding.set(alertKey(each), each);
  }
  const known = new Set(open.map(alertKey));
  const changes = {
    begun: [...holding].flatMap(([key, condition]) => (known.has(key) ? [] : [condition])),
    ...{ started: [] as number[], announced: [] as number[], back: [] as number[] },
    ...{ gone: [] as number[], over: [] as number[], dropped: [] as number[], forgotten: [] as number[] },
    restated: [] as AlertChanges["restated"][number][],
  };
  const hasLasted = (since: Date | undefined, ms: number) =>
    since !== undefined && now.getTime() - since.getTime() >= ms;
  for (const alert of open) {
    const { id, goneSince } = alert;
    const condition = holding.get(alertKey(alert));
    if (condition !== undefined) {
      const { level, text, hint } = condition;
      if (level !== alert.level || text !== alert.text || hint !== (alert.hint ?? null))
        changes.restated.push({ id, level, text, hint });
      if (goneSince) changes.back.push(id);
      const isStarting = !alert.startedAt && hasLasted(alert.since, rules[alert.kind]?.afterMs ?? 0);
      if (isStarting) changes.started.push(id);
      const isQuiet = isMaintenance || alert.silencedUntil !== undefined;
      if ((alert.startedAt || isStarting) && !alert.announcedAt && !isQuiet) changes.announced.push(id);
    } else if (!rules[alert.kind]?.on) (alert.startedAt ? changes.dropped : changes.forgotten).push(id);
    else if (!goneSince || isFirstLook) changes.gone.push(id);
    else if (hasLasted(goneSince, overAfterMs)) (alert.startedAt ? changes.over : changes.forgotten).push(id);
  }
  return changes;
}
