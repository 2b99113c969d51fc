import { Gauge, type Registry } from "prom-client";
import type { Orphaned } from "../ledger/results/orphaned.ts";

/** What waits of a connector, in words: `3 results and 1 order in work`. */
export function countOrphaned({ results, orders, messages }: Orphaned): string {
  const parts = [
    ...(results > 0 ? [`${results} ${results === 1 ? "result" : "results"}`] : []),
    ...(orders > 0 ? [`${orders} ${orders === 1 ? "order" : "orders"} in work`] : []),
    ...(messages > 0 ? [`${messages} ${messages === 1 ? "message" : "messages"}`] : []),
  ];
  const last = parts.pop() ?? "nothing";
  return parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

/** What is the matter: one sentence without its end. */
export function describeOrphaned(left: Orphaned): string {
  return `the configuration names no connector ${left.connector}, and there are ${countOrphaned(left)} of it, of which the lab is sent nothing`;
}

/** How to go on with it. */
export function hintForOrphaned({ connector, results, orders, messages }: Orphaned): string {
  const again = `Name ${connector} in the configuration again`;
  if (results + orders === 0) return `${again}.`;
  const rest = messages > 0 ? " Its messages need the connector itself." : "";
  return `${again}, or give its orders and results to another one: \`cryobridge queue move --from ${connector} --to NAME\`.${rest}`;
}

/** Adds the gauge about connectors that aren't configured any more; gives what sets it, undefined while the ledger is away. */
export function addOrphanedMetrics(registers: Registry[]): (left: readonly Orphaned[] | undefined) => void {
  const waiting = new Gauge({
    name: "cryobridge_orphaned",
    help: "What waits of connectors that the configuration doesn't name: results, orders or messages, by connector. Absent where nothing does.",
    labelNames: ["connector", "kind"],
    registers,
  });
  return (left) => {
    waiting.reset();
    for (const each of left ?? []) {
      const { connector } = each;
      for (const kind of ["results", "orders", "messages"] as const) {
        waiting.set({ connector, kind }, each[kind]);
      }
    }
  };
}
