import type { AlertCondition } from "../core/condition.ts";
import { changeAlerts, forgetAlerts } from "../ledger/alerts/alerts.ts";
import { type AlertMoment, type AlertRules, decideAlerts } from "./decide.ts";
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
