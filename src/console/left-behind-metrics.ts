import { Gauge, type Registry } from "prom-client";
import type { LeftBehind } from "../ledger/left-behind.ts";
import { needsPerson } from "./tell-left-behind.ts";

/** Adds the gauge about connectors that aren't configured any more; gives what sets it, undefined while the ledger is away. */
export function addLeftBehindMetrics(
  registers: Registry[],
): (left: readonly LeftBehind[] | undefined) => void {
  const waiting = new Gauge({
    name: "cryobridge_left_behind",
    help: "What waits of connectors that the configuration doesn't name: results, orders or messages, by connector. Absent where nothing does.",
    labelNames: ["connector", "kind"],
    registers,
  });
  return (left) => {
    waiting.reset();
    for (const each of (left ?? []).filter(needsPerson)) {
      const { connector } = each;
      for (const kind of ["results", "orders", "messages"] as const) {
        waiting.set({ connector, kind }, each[kind]);
      }
    }
  };
}
