import { Gauge, type Registry } from "prom-client";
import { TASK_KINDS } from "../ledger/operator/tasks.ts";
import type { LedgerCounts } from "./deps.ts";

/** Adds the gauges about tasks; the returned function sets them, undefined while the ledger is out of reach. */
export function addTaskMetrics(registers: Registry[]): (counts: LedgerCounts | undefined) => void {
  const open = new Gauge({
    name: "cryobridge_tasks_open",
    help: "Tasks that wait for a person, by kind; `cryobridge tasks` lists them.",
    labelNames: ["kind"],
    registers,
  });
  const oldest = new Gauge({
    name: "cryobridge_task_oldest_age_seconds",
    help: "For how long the oldest open task has waited, by kind; 0 when there is none.",
    labelNames: ["kind"],
    registers,
  });
  return (counts) => {
    for (const gauge of [open, oldest]) gauge.reset();
    if (counts === undefined) return;
    for (const kind of TASK_KINDS) {
      const found = counts.tasks.find((each) => each.kind === kind);
      open.set({ kind }, found?.count ?? 0);
      oldest.set({ kind }, found?.oldestSeconds ?? 0);
    }
  };
}
