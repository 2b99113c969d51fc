import type { AlertsConfig } from "../config/alerts-schema.ts";
import { isWithin } from "../core/weekly.ts";
import { localTime } from "./times.ts";

/** Until when maintenance was declared that is in force at a moment; undefined outside of any. */
export function maintenanceUntil(
  { maintenance }: Pick<AlertsConfig, "maintenance">,
  now: Date,
): Date | undefined {
  const ends = maintenance.flatMap((one) => {
    if ("start" in one) return now >= one.start && now < one.end ? [one.end] : [];
    if (!isWithin(one, now)) return [];
    const end = new Date(now);
    end.setHours(0, one.toMinute, 0, 0);
    return [end];
  });
  return ends.sort((a, b) => b.getTime() - a.getTime())[0];
}

/** That maintenance is in force, in a sentence. */
export function describeMaintenance(until: Date): string {
  return `Maintenance until ${localTime(until)}: nothing is announced; what still holds then is.`;
}
