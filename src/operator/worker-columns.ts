import { formatId } from "../ledger/ids.ts";
import type { WorkerView } from "../ledger/workers/roster.ts";
import { type Column, forPrograms, type Paint } from "./column.ts";
import { relativeTime } from "./times.ts";

/** How a daemon stands, in words. `gone` is one that is not heard of, whose work nobody has taken over yet. */
export const WORKER_STATES = {
  works: { words: "works", paint: "green" },
  leads: { words: "hands out the work", paint: "green" },
  stopping: { words: "stopping", paint: "yellow" },
  gone: { words: "silent", paint: "red" },
  lost: { words: "lost, its work was taken over", paint: "red" },
  stopped: { words: "stopped", paint: "dim" },
} as const satisfies Record<string, { readonly words: string; readonly paint: Paint }>;

/** How a daemon stands. */
export function standingOf({
  isAlive,
  isLeader,
  drainAt,
  endedAs,
}: Pick<WorkerView, "isAlive" | "isLeader" | "drainAt" | "endedAs">): keyof typeof WORKER_STATES {
  if (endedAs) return endedAs;
  if (!isAlive) return "gone";
  if (drainAt) return "stopping";
  return isLeader ? "leads" : "works";
}

/** A daemon that works with the ledger, or did. */
export const WORKER_COLUMNS: readonly Column<WorkerView>[] = [
  { key: "id", title: "id", value: ({ id }) => formatId("w", id) },
  { key: "name", title: "name", isFlexible: true },
  { key: "host", title: "machine", isFlexible: true },
  { key: "pid", title: "process", isRight: true, isLesser: true },
  { key: "version", title: "version", isLesser: true },
  { key: "roles", title: "roles", isFlexible: true },
  { key: "connectors", title: "connectors", isFlexible: true },
  {
    title: "state",
    show: (worker) => WORKER_STATES[standingOf(worker)].words,
    paint: (worker) => WORKER_STATES[standingOf(worker)].paint,
  },
  { key: "inHand", title: "orders in hand", isRight: true },
  { key: "startedAt", title: "since", isLesser: true },
  { key: "heartbeatAt" },
  {
    title: "last seen",
    only: "list",
    isRight: true,
    show: ({ heartbeatAt }, { clock }) => relativeTime(heartbeatAt, clock.now()),
  },
  ...forPrograms<WorkerView>("silentMs", "isAlive", "isLeader", "drainAt", "endedAt", "endedAs"),
];
