import { Gauge, type Registry } from "prom-client";
import type { UntakenRow } from "./deps.ts";

/** Adds the gauges about dropped files that aren't taken; gives what sets them. Reasons without any are absent. */
export function addUntakenMetrics(
  registers: Registry[],
): (rows: readonly UntakenRow[], nowMs: number) => void {
  const files = new Gauge({
    name: "cryobridge_dropped_files_untaken",
    help: "Files that lie in a drop folder for longer than alertAfter and are not taken, by connector and reason: name, marker, lone_marker or changing.",
    labelNames: ["connector", "reason"],
    registers,
  });
  const oldest = new Gauge({
    name: "cryobridge_dropped_file_untaken_age_seconds",
    help: "For how long the oldest of them has been there, by connector and reason.",
    labelNames: ["connector", "reason"],
    registers,
  });
  return (rows, nowMs) => {
    for (const gauge of [files, oldest]) gauge.reset();
    for (const { connector, reason, count, since } of rows) {
      files.set({ connector, reason }, count);
      oldest.set({ connector, reason }, Math.max(0, (nowMs - since.getTime()) / 1_000));
    }
  };
}
