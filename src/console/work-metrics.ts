import { Counter, Gauge, type Registry } from "prom-client";
import type { AlertSubject } from "../core/alert.ts";
import { ALERT_KINDS } from "../core/condition-kinds.ts";
import { type TankAge, tankName } from "../jobs/refills/tanks.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import { TASK_KINDS } from "../ledger/operator/tasks.ts";
import type { Orphaned } from "../ledger/results/orphaned.ts";
import type { LedgerCounts, ListenerRow, RefillOverview, UntakenRow } from "../standing/facts.ts";

/**
 * Adds the gauge of what alerts are about, known whether it is reported or not; the returned function sets it, undefined while it
 * is not known.
 */
export function addConditionMetrics(
  registers: Registry[],
): (conditions: readonly Pick<AlertSubject, "kind">[] | undefined) => void {
  const holding = new Gauge({
    name: "cryobridge_alert_conditions",
    help: "Conditions of alerts that hold right now, by kind of alert; absent while the ledger is out of reach.",
    labelNames: ["kind"],
    registers,
  });
  return (conditions) => {
    holding.reset();
    if (conditions === undefined) return;
    for (const kind of ALERT_KINDS) holding.set({ kind }, 0);
    for (const { kind } of conditions) holding.inc({ kind });
  };
}

/** How a pool's connections are used. */
export interface LedgerConnections {
  readonly totalCount: number;
  readonly idleCount: number;
  /** Callers who wait for a connection. */
  readonly waitingCount: number;
}

/** Adds the gauge of a daemon's connections to its ledger; the returned function sets it. */
export function addConnectionMetrics(
  registers: Registry[],
): (connections: LedgerConnections | undefined) => void {
  const connections = new Gauge({
    name: "cryobridge_ledger_connections",
    help: "Connections of this daemon to its ledger, by state: busy or idle; waiting: callers without one.",
    labelNames: ["state"],
    registers,
  });
  return (now) => {
    connections.reset();
    if (now === undefined) return;
    connections.set({ state: "busy" }, now.totalCount - now.idleCount);
    connections.set({ state: "idle" }, now.idleCount);
    connections.set({ state: "waiting" }, now.waitingCount);
  };
}

/** Adds the gauges about tasks; the returned function sets them, undefined while the ledger is out of reach. */
export function addTaskMetrics(registers: Registry[]): (counts: LedgerCounts | undefined) => void {
  const open = new Gauge({
    name: "cryobridge_tasks_open",
    help: "Tasks that wait for a person, by kind; `cryobridge tasks` lists them.",
    labelNames: ["kind"],
    registers,
  });
  const oldest = new Gauge({
    name: "cryobridge_task_oldest_age_seconds",
    help: "For how long the oldest open task has waited, by kind; 0 when there is none.",
    labelNames: ["kind"],
    registers,
  });
  return (counts) => {
    for (const gauge of [open, oldest]) gauge.reset();
    if (counts === undefined) return;
    for (const kind of TASK_KINDS) {
      const found = counts.tasks.find((each) => each.kind === kind);
      open.set({ kind }, found?.count ?? 0);
      oldest.set({ kind }, found?.oldestSeconds ?? 0);
    }
  };
}

const KINDS = ["facility", "operation", "earlier"] as const satisfies WaitingCode["kind"][];

/**
 * Gauges about messages that wait for a code; the function that is given back sets them. The codes themselves are no
 * labels: a lab could send any number of them, and in a table whose columns slipped they may be anything.
 */
export function addWaitingMetrics(
  registers: Registry[],
): (waiting: readonly WaitingCode[] | undefined, nowMs: number) => void {
  const messages = new Gauge({
    name: "cryobridge_messages_waiting",
    help: "Messages that wait for a facility or operation code that no table knows, or for an earlier one of the subject.",
    labelNames: ["kind"],
    registers,
  });
  const oldest = new Gauge({
    name: "cryobridge_message_waiting_oldest_age_seconds",
    help: "For how long the message that came first has been waiting for a code; 0 when none waits.",
    registers,
  });
  return (waiting, nowMs) => {
    messages.reset();
    oldest.reset();
    if (waiting === undefined) {
      oldest.remove();
      return;
    }
    for (const kind of KINDS) {
      const own = waiting.filter((each) => each.kind === kind);
      messages.set(
        { kind },
        own.reduce((sum, each) => sum + each.messages, 0),
      );
    }
    const first = Math.min(...waiting.map(({ since }) => since.getTime()));
    oldest.set(waiting.length === 0 ? 0 : Math.max(0, (nowMs - first) / 1_000));
  };
}

/** Adds the gauges about dropped files that aren't taken; gives what sets them. Reasons without any are absent. */
export function addUntakenMetrics(
  registers: Registry[],
): (rows: readonly UntakenRow[], nowMs: number) => void {
  const files = new Gauge({
    name: "cryobridge_dropped_files_untaken",
    help: "Files that lie in a drop folder for longer than alertAfter and are not taken, by connector and reason: name, marker, lone_marker, changing or folder.",
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

/** Tanks with a series of their own; the others share one, so that a service can't grow the metrics without end. */
const MAX_TANKS = 200;
const LONGEST_NAME = 80;

/** The metrics about refills, in a registry; the returned function sets them before each scrape. */
export function addRefillMetrics(
  registers: Registry[],
): (overview: RefillOverview | undefined, nowMs: number) => void {
  const total = new Counter({
    name: "cryobridge_refills_total",
    help: "Times that a liquid-nitrogen refill reached a status, since refills are followed.",
    labelNames: ["facility", "status"],
    registers,
  });
  const seconds = new Gauge({
    name: "cryobridge_tank_seconds_since_refill",
    help: "Since the last completed refill of a tank, or since it was first seen. Beyond 200 tanks: (others), the longest.",
    labelNames: ["facility", "storage"],
    registers,
  });
  const overdue = new Gauge({
    name: "cryobridge_tanks_overdue",
    help: "Tanks that were not refilled for longer than refills.alertAfter; absent when no refills are followed.",
    registers,
  });
  // A gauge without labels begins at 0, which would say that all is well where nobody looks.
  overdue.remove();
  return (overview, nowMs) => {
    total.reset();
    seconds.reset();
    overdue.remove();
    if (!overview) return;
    for (const { facilityCode, status, count } of overview.counts)
      total.inc({ facility: facilityCode, status }, count);
    overdue.set(overview.tanks.filter(({ isOverdue }) => isOverdue).length);
    for (const { facility, storage, value } of longestBySeries(overview.tanks, nowMs))
      seconds.set({ facility, storage }, value);
  };
}

interface Series {
  readonly facility: string;
  readonly storage: string;
  readonly value: number;
}

/** One value a series. Tanks come longest first, so the first that has a name is the one that counts. */
function longestBySeries(tanks: readonly TankAge[], nowMs: number): Series[] {
  const series = new Map<string, Series>();
  for (const [index, tank] of tanks.entries()) {
    const facility = tank.facilityCode;
    const storage = index < MAX_TANKS ? tankName(tank).slice(0, LONGEST_NAME) : "(others)";
    const key = JSON.stringify([facility, storage]);
    const value = Math.max(0, (nowMs - tank.since.getTime()) / 1_000);
    if (!series.has(key)) series.set(key, { facility, storage, value });
  }
  return [...series.values()];
}

/** Adds what MLLP listeners count; gives what sets it. Counts begin at zero with the daemon, as counters may. */
export function addMllpMetrics(registers: Registry[]): (listeners: readonly ListenerRow[]) => void {
  const connections = new Gauge({
    name: "cryobridge_mllp_connections",
    help: "Senders that are connected by MLLP, by connector.",
    labelNames: ["connector"],
    registers,
  });
  const frames = new Counter({
    name: "cryobridge_mllp_frames_total",
    help: "MLLP frames, by connector and what became of them: taken, taken_without_cr (the end block had none), unended or too_large.",
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
      frames.inc({ connector, kind: "taken" }, each.frames - each.looseEnds);
      frames.inc({ connector, kind: "taken_without_cr" }, each.looseEnds);
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
