import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** A running process, told apart from every other one that may share a drop folder with it. */
export interface ProcessIdentity {
  /** The machine's boot and process namespace: within one place a process number has one meaning. */
  readonly place: string;
  readonly pid: number;
  /** Start time of the process as the kernel tells it, so that a reused number is not mistaken; empty where unknown. */
  readonly startedAt: string;
}

/** Who this process is. */
export function currentIdentity(): ProcessIdentity {
  return { place: currentPlace(), pid: process.pid, startedAt: startOf(process.pid) };
}

/**
 * Whether a process is certainly gone, seen from `viewer`. False when it runs, and also when it can't be known
 * because it belongs to another machine or container.
 */
export function isCertainlyGone(owner: ProcessIdentity, viewer: ProcessIdentity): boolean {
  if (owner.place !== viewer.place) return false;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  const startedAt = startOf(owner.pid);
  return startedAt !== "" && owner.startedAt !== "" && startedAt !== owner.startedAt;
}

function currentPlace(): string {
  const boot = attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim());
  const namespace = attempt(() => readlinkSync("/proc/self/ns/pid"));
  return `${hostname()} ${boot} ${namespace}`.trim();
}

/** Field 22 of /proc/PID/stat; the process name before it may hold spaces and brackets. */
function startOf(pid: number): string {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
