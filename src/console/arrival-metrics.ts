import { Gauge, type Registry } from "prom-client";
import type { ArrivalCount } from "../ledger/arrivals.ts";

/** Adds the gauges about arrived messages; the returned function sets them, undefined while the ledger is out of reach. */
export function addArrivalMetrics(
  registers: Registry[],
): (arrivals: readonly ArrivalCount[] | undefined) => void {
  const count = new Gauge({
    name: "cryobridge_messages_without_orders",
    help: "Messages that were acknowledged and whose orders are still to be made.",
    registers,
  });
  const oldest = new Gauge({
    name: "cryobridge_message_without_orders_oldest_age_seconds",
    help: "For how long the oldest of them has been there; 0 when there is none.",
    registers,
  });
  return (arrivals) => {
    for (const gauge of [count, oldest]) gauge.reset();
    if (arrivals === undefined) return;
    count.set(arrivals.reduce((sum, each) => sum + each.count, 0));
    oldest.set(Math.max(0, ...arrivals.map(({ oldestSeconds }) => oldestSeconds)));
  };
}
