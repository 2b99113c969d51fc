import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Watches how much memory a process has. */
export interface MemoryWatch {
  /** The most it had so far, MB (10^6 bytes). */
  readonly peakMb: number;
  stop(): void;
}

const EVERY_MS = 200;

/** Samples the resident memory of a process until it is stopped or the process is gone. */
export function watchMemory(pid: number): MemoryWatch {
  let peakMb = 0;
  const sample = () => {
    peakMb = Math.max(peakMb, readResidentMb(pid) ?? 0);
  };
  const timer = setInterval(sample, EVERY_MS);
  return {
    get peakMb() {
      return peakMb;
    },
    stop: () => clearInterval(timer),
  };
}

/** What a process has in memory now, MB (10^6 bytes); undefined when it is gone. */
export function readResidentMb(pid: number): number | undefined {
  try {
    const kib =
      process.platform === "linux"
        ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
        : execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return kib === undefined ? undefined : (Number(kib) * 1024) / 1e6;
  } catch {
    return undefined;
  }
}
