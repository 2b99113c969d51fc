import { Counter, Gauge, type Registry } from "prom-client";
import type { ListenerRow } from "./deps.ts";

/** Adds what MLLP listeners count; gives what sets it. Counts begin anew with the daemon, as counters may. */
export function addMllpMetrics(registers: Registry[]): (listeners: readonly ListenerRow[]) => void {
  const connections = new Gauge({
    name: "cryobridge_mllp_connections",
    help: "Senders that are connected by MLLP, by connector.",
    labelNames: ["connector"],
    registers,
  });
  const frames = new Counter({
    name: "cryobridge_mllp_frames_total",
    help: "MLLP frames, by connector and what became of them: taken, unended or too_large.",
    labelNames: ["connector", "kind"],
    registers,
  });
  const junk = new Counter({
    name: "cryobridge_mllp_junk_bytes_total",
    help: "Bytes outside of MLLP frames, which were skipped, by connector.",
    labelNames: ["connector"],
    registers,
  });
  const closed = new Counter({
    name: "cryobridge_mllp_connections_closed_total",
    help: "MLLP connections that were closed from here, by connector and reason: timed_out, turned_away, gave_way, handshake_failed or certificate_refused.",
    labelNames: ["connector", "reason"],
    registers,
  });
  return (listeners) => {
    connections.reset();
    for (const counter of [frames, junk, closed]) counter.reset();
    for (const each of listeners) {
      const { connector } = each;
      connections.set({ connector }, each.connections);
      frames.inc({ connector, kind: "taken" }, each.frames);
      frames.inc({ connector, kind: "unended" }, each.unended);
      frames.inc({ connector, kind: "too_large" }, each.tooLarge);
      junk.inc({ connector }, each.junkBytes);
      closed.inc({ connector, reason: "timed_out" }, each.timedOut);
      closed.inc({ connector, reason: "turned_away" }, each.turnedAway);
      closed.inc({ connector, reason: "gave_way" }, each.gaveWay);
      closed.inc({ connector, reason: "handshake_failed" }, each.failedHandshakes);
      closed.inc({ connector, reason: "certificate_refused" }, each.refusedCertificates);
    }
  };
}
