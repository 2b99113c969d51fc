import { Counter, Gauge, type Registry } from "prom-client";
import { type TankAge, tankName } from "../jobs/refills/tanks.ts";
import type { RefillOverview } from "./deps.ts";

/** Tanks with a series of their own; the others share one, so that a service can't grow the metrics without end. */
const MAX_TANKS = 200;
const LONGEST_NAME = 80;

/** The metrics about refills, in a registry; the returned function sets them before each scrape. */
export function addRefillMetrics(
  registers: Registry[],
): (overview: RefillOverview | undefined, nowMs: number) => void {
  const total = new Counter({
    name: "cryobridge_refills_total",
    help: "Times that a liquid-nitrogen refill reached a status, since refills are followed.",
    labelNames: ["facility", "status"],
    registers,
  });
  const seconds = new Gauge({
    name: "cryobridge_tank_seconds_since_refill",
    help: "Since the last completed refill of a tank, or since it was first seen. Beyond 200 tanks: (others), the longest.",
    labelNames: ["facility", "storage"],
    registers,
  });
  const overdue = new Gauge({
    name: "cryobridge_tanks_overdue",
    help: "Tanks that were not refilled for longer than refills.alertAfter; absent when no refills are followed.",
    registers,
  });
  // A gauge without labels begins at 0, which would say that all is well where nobody looks.
  overdue.remove();
  return (overview, nowMs) => {
    total.reset();
    seconds.reset();
    overdue.remove();
    if (!overview) return;
    for (const { facilityCode, status, count } of overview.counts)
      total.inc({ facility: facilityCode, status }, count);
    overdue.set(overview.tanks.filter(({ isOverdue }) => isOverdue).length);
    for (const { facility, storage, value } of longestBySeries(overview.tanks, nowMs))
      seconds.set({ facility, storage }, value);
  };
}

interface Series {
  readonly facility: string;
  readonly storage: string;
  readonly value: number;
}

/** One value a series. Tanks come longest first, so the first that has a name is the one that counts. */
function longestBySeries(tanks: readonly TankAge[], nowMs: number): Series[] {
  const series = new Map<string, Series>();
  for (const [index, tank] of tanks.entries()) {
    const facility = tank.facilityCode;
    const storage = index < MAX_TANKS ? tankName(tank).slice(0, LONGEST_NAME) : "(others)";
    const key = JSON.stringify([facility, storage]);
    const value = Math.max(0, (nowMs - tank.since.getTime()) / 1_000);
    if (!series.has(key)) series.set(key, { facility, storage, value });
  }
  return [...series.values()];
}
