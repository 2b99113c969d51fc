import { Counter, Gauge, type Registry } from "prom-client";
import type { ServiceView } from "../operator/service-columns.ts";

/** Adds what is known of the calls to the service and their limit; the returned function sets it, undefined where this daemon makes none. */
export function addCallMetrics(registers: Registry[]): (service: ServiceView | undefined) => void {
  const calls = new Counter({
    name: "cryobridge_service_calls_total",
    help: "Requests that left to the storage service, by purpose: tokens, reconciling, submitting, following, locating or other.",
    labelNames: ["purpose"],
    registers,
  });
  const refused = new Counter({
    name: "cryobridge_service_calls_refused_total",
    help: "Those of them that were refused with a 429.",
    registers,
  });
  const limit = new Gauge({
    name: "cryobridge_service_limit_calls_per_minute",
    help: "Calls that all daemons together may make in a minute, by the source of the limit in force: set, header or learned.",
    labelNames: ["source"],
    registers,
  });
  const backlog = new Gauge({
    name: "cryobridge_service_backlog_calls",
    help: "Calls that open orders still need, as estimated while some wait to be sent; 0 when none does.",
    registers,
  });
  const seconds = new Gauge({
    name: "cryobridge_service_backlog_seconds",
    help: "How long those calls take, as estimated.",
    registers,
  });
  return (service) => {
    for (const each of [calls, refused, limit, backlog, seconds]) each.reset();
    if (service === undefined) {
      // A gauge without labels would say 0, and so that nothing waits.
      for (const each of [backlog, seconds]) each.remove();
      return;
    }
    for (const [purpose, count] of Object.entries(service.callsByPurposeInAll)) calls.inc({ purpose }, count);
    refused.inc(service.refused);
    const { calls: most, seconds: inSeconds, source } = service.limit;
    limit.set({ source }, (most / inSeconds) * 60);
    backlog.set(service.backlog?.calls ?? 0);
    seconds.set(service.backlog?.seconds ?? 0);
  };
}
