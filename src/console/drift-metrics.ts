import { Counter, type Registry } from "prom-client";
import type { ServiceChange } from "./deps.ts";

/** Adds the counter of what the service changed; gives what sets it. It outlives restarts, as the ledger does. */
export function addDriftMetrics(
  registers: Registry[],
): (changes: readonly ServiceChange[] | undefined) => void {
  const drifts = new Counter({
    name: "cryobridge_service_drift_total",
    help: "Changes seen in how the storage service behaves, by what changed.",
    labelNames: ["finding"],
    registers,
  });
  return (changes) => {
    drifts.reset();
    for (const { finding, count } of changes ?? []) drifts.inc({ finding }, count);
  };
}
