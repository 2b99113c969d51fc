import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { OPEN_STATES, TERMINAL_STATES, type TerminalState } from "../core/order-state.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import type { Orphaned } from "../ledger/results/orphaned.ts";
import type { LedgerCounts, ListenerRow, RefillOverview, UntakenRow } from "./facts.ts";
import {
  addMllpMetrics,
  addOrphanedMetrics,
  addRefillMetrics,
  addTaskMetrics,
  addUntakenMetrics,
  addWaitingMetrics,
} from "./work-metrics.ts";

const BREAKER_STATES = ["closed", "open", "half-open"] as const;
type BreakerState = (typeof BREAKER_STATES)[number];

/** One finished call to the service. */
export interface ServiceRequest {
  /** Method and path template: `GET /api/subjects/{id}`. Never a path with values in it. */
  readonly route: string;
  /** `ok` or a failure code: a small, fixed set of words. */
  readonly outcome: string;
  readonly seconds: number;
}

/** The program's metrics, in a registry of their own. Nothing in them identifies a patient or an order. */
export interface Metrics {
  recordServiceRequest(request: ServiceRequest): void;
  /** State of the circuit breaker in front of the service. */
  setBreaker(state: BreakerState): void;
  /** Messages that got a verdict (`accepted`, `duplicate`, `refused`, `ignored`, `waiting`). */
  recordMessages(connector: string, verdict: string, count?: number): void;
  /** An order came to its end by what this daemon recorded. */
  recordOrderEnded(state: TerminalState): void;
  /** The Prometheus text; `counts` is undefined while the ledger is out of reach. */
  render(now: {
    readonly isReady: boolean;
    readonly counts: LedgerCounts | undefined;
    /** Undefined when no refills are followed. */
    readonly refills?: RefillOverview | undefined;
    /** Undefined while the ledger is out of reach. */
    readonly waiting?: readonly WaitingCode[] | undefined;
    /** Undefined while the ledger is out of reach. */
    readonly orphaned?: readonly Orphaned[] | undefined;
    readonly untaken?: readonly UntakenRow[] | undefined;
    readonly listeners?: readonly ListenerRow[] | undefined;
    /** For ages, ms since the epoch. */
    readonly nowMs?: number | undefined;
  }): Promise<string>;
  readonly contentType: string;
}

/** Metrics that begin at zero. `version` becomes a label of `cryobridge_build_info`. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "cryobridge_build_info",
    help: "Always 1; the version is a label.",
    labelNames: ["version"],
    registers,
  }).set({ version }, 1);
  const ready = new Gauge({ name: "cryobridge_ready", help: "1 while orders can be taken.", registers });
  const ledgerUp = new Gauge({
    name: "cryobridge_ledger_up",
    help: "1 while the ledger answers; the gauges about orders and deliveries are absent otherwise.",
    registers,
  });
  const orders = new Gauge({
    name: "cryobridge_orders",
    help: "Orders that haven't ended, by state.",
    labelNames: ["state"],
    registers,
  });
  const ended = new Counter({
    name: "cryobridge_orders_ended_total",
    help: "Orders that ended, by state, as this daemon recorded it since its start; sum it over daemons.",
    labelNames: ["state"],
    registers,
  });
  const oldest = new Gauge({
    name: "cryobridge_order_oldest_age_seconds",
    help: "For how long the order that moved longest ago has been in a state, of those that haven't ended.",
    labelNames: ["state"],
    registers,
  });
  const deliveries = new Gauge({
    name: "cryobridge_deliveries",
    help: "Results that the lab doesn't have: pending (will be tried) or parked (wait for a person).",
    labelNames: ["state"],
    registers,
  });
  const requests = new Counter({
    name: "cryobridge_service_requests_total",
    help: "Calls to the storage service, by route and outcome.",
    labelNames: ["route", "outcome"],
    registers,
  });
  const requestSeconds = new Histogram({
    name: "cryobridge_service_request_seconds",
    help: "Duration of calls to the storage service, by route.",
    labelNames: ["route"],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const breaker = new Gauge({
    name: "cryobridge_service_breaker_state",
    help: "1 for the state of the circuit breaker in front of the service, 0 for the others.",
    labelNames: ["state"],
    registers,
  });
  const messages = new Counter({
    name: "cryobridge_messages_total",
    help: "Messages taken from the lab, by connector and verdict.",
    labelNames: ["connector", "verdict"],
    registers,
  });

  const setBreaker = (state: BreakerState) => {
    for (const each of BREAKER_STATES) breaker.set({ state: each }, each === state ? 1 : 0);
  };
  const setCounts = (counts: LedgerCounts | undefined) => {
    ledgerUp.set(counts === undefined ? 0 : 1);
    for (const gauge of [orders, oldest, deliveries]) gauge.reset();
    if (counts === undefined) return;
    for (const state of OPEN_STATES) {
      orders.set({ state }, counts.byState[state]);
      oldest.set({ state }, counts.oldestSecondsByState[state] ?? 0);
    }
    deliveries.set({ state: "pending" }, counts.deliveriesPending);
    deliveries.set({ state: "parked" }, counts.deliveriesParked);
  };
  const setTasks = addTaskMetrics(registers);
  const setRefills = addRefillMetrics(registers);
  const setWaiting = addWaitingMetrics(registers);
  const setOrphaned = addOrphanedMetrics(registers);
  const setUntaken = addUntakenMetrics(registers);
  const setListeners = addMllpMetrics(registers);
  setBreaker("closed");
  // The first that fails is a rise, too.
  for (const state of TERMINAL_STATES) ended.inc({ state }, 0);
  return {
    recordServiceRequest: ({ route, outcome, seconds }) => {
      const template = withoutValues(route);
      requests.inc({ route: template, outcome });
      requestSeconds.observe({ route: template }, seconds);
    },
    setBreaker,
    recordMessages: (connector, verdict, count = 1) => messages.inc({ connector, verdict }, count),
    recordOrderEnded: (state) => ended.inc({ state }),
    render: async ({ isReady, counts, nowMs = 0, ...now }) => {
      ready.set(isReady ? 1 : 0);
      setCounts(counts);
      setTasks(counts);
      setRefills(now.refills, nowMs);
      setWaiting(now.waiting, nowMs);
      setOrphaned(now.orphaned);
      setUntaken(now.untaken ?? [], nowMs);
      setListeners(now.listeners ?? []);
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

/** A second line of defence: numbers in a path become `{id}` and a query is cut off. */
function withoutValues(route: string): string {
  return route.replace(/\?.*$/, "").replace(/\/\d+(?=\/|$)/g, "/{id}");
}
