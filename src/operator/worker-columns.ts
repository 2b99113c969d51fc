import type { WorkerView } from "../ledger/workers/roster.ts";
import { type Column, forPrograms } from "./column.ts";
import { relativeTime } from "./times.ts";

/** A daemon that works with the ledger, or did. */
export const WORKER_COLUMNS: readonly Column<WorkerView>[] = [
  { key: "id", title: "id", value: ({ id }) => `w${id}` },
  { key: "name", title: "name", isFlexible: true },
  { key: "host", title: "machine", isFlexible: true },
  { key: "pid", title: "process", isRight: true },
  { key: "version", title: "version" },
  { key: "roles", title: "roles", isFlexible: true },
  { key: "connectors", title: "connectors", isFlexible: true },
  {
    title: "state",
    show: stateOf,
    paint: ({ isAlive, endedAs }) => (endedAs === "stopped" ? "dim" : isAlive ? "green" : "red"),
  },
  { key: "inHand", title: "orders in hand", isRight: true },
  { key: "startedAt", title: "since" },
  { key: "heartbeatAt" },
  {
    title: "last seen",
    only: "list",
    isRight: true,
    show: ({ heartbeatAt }, { clock }) => relativeTime(heartbeatAt, clock.now()),
  },
  ...forPrograms<WorkerView>("silentMs", "isAlive", "isLeader", "drainAt", "endedAt", "endedAs"),
];

function stateOf({ isAlive, isLeader, drainAt, endedAs }: WorkerView): string {
  if (endedAs === "lost") return "lost, its work was taken over";
  if (endedAs === "stopped") return "stopped";
  if (!isAlive) return "gone";
  if (drainAt) return "stopping";
  return isLeader ? "hands out the work" : "works";
}
