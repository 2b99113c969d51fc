import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { AlertSubject } from "../core/alert.ts";
import { isTerminal, OPEN_STATES, TERMINAL_STATES } from "../core/order-state.ts";
import type { OrderStep } from "../core/order-step.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import type { Orphaned } from "../ledger/results/orphaned.ts";
import type { ServiceView } from "../operator/service-columns.ts";
import type { LedgerCounts, ListenerRow, RefillOverview, UntakenRow } from "../standing/facts.ts";
import { addCallMetrics } from "./call-metrics.ts";
import { addTimeMetrics, type ServiceRequest, type TimeMetrics } from "./time-metrics.ts";
import {
  addConditionMetrics,
  addConnectionMetrics,
  addMllpMetrics,
  addOrphanedMetrics,
  addRefillMetrics,
  addTaskMetrics,
  addUntakenMetrics,
  addWaitingMetrics,
  type LedgerConnections,
} from "./work-metrics.ts";

const BREAKER_STATES = ["closed", "open", "half-open"] as const;
type BreakerState = (typeof BREAKER_STATES)[number];

/** What prom-client collects under names that Prometheus has for counters only; it has the same by type under better names. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** A metric as the program has it, whether anything was counted or not. */
interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly labels: readonly string[];
}

/** The program's metrics, in a registry of their own. Nothing in them identifies a patient or an order. */
export interface Metrics extends Pick<TimeMetrics, "recordStage" | "recordIntake" | "recordJob"> {
  recordServiceRequest(request: ServiceRequest): void;
  /** State of the circuit breaker in front of the service. */
  setBreaker(state: BreakerState): void;
  /** Messages that got a verdict (`accepted`, `duplicate`, `refused`, `ignored`, `waiting`). */
  recordMessages(connector: string, verdict: string, count?: number): void;
  /** What this daemon recorded of an order: the stage that ended, and its end. */
  recordStep(step: Pick<OrderStep, "connector" | "stage" | "to">): void;
  /** All metrics that there are. */
  readonly definitions: readonly MetricDefinition[];
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
    /** The conditions of alerts that hold; undefined while that is not known. */
    readonly conditions?: readonly Pick<AlertSubject, "kind">[] | undefined;
    /** The daemon's connections to its ledger. */
    readonly connections?: LedgerConnections | undefined;
    /** Undefined where this daemon doesn't call the service. */
    readonly service?: ServiceView | undefined;
    /** For ages, ms since the epoch. */
    readonly nowMs?: number | undefined;
  }): Promise<string>;
  readonly contentType: string;
}

/**
 * Metrics that begin at zero.
 *
 * @param version becomes a label of `cryobridge_build_info`
 * @param dropped how many lines of the log, and spans of traces, could not be written or sent since the start
 */
export function createMetrics(
  version: string,
  dropped: { readonly logLines: () => number; readonly spans: () => number } = {
    logLines: () => 0,
    spans: () => 0,
  },
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  new Gauge({
    name: "cryobridge_build_info",
    help: "Always 1; the version is a label.",
    labelNames: ["version"],
    registers,
  }).set({ version }, 1);
  const addDropped = (name: string, help: string, count: () => number) =>
    new Counter({
      ...{ name, help, registers },
      collect() {
        this.reset();
        this.inc(count());
      },
    });
  addDropped(
    "cryobridge_log_lines_dropped_total",
    "Lines of the log that could not be written.",
    dropped.logLines,
  );
  addDropped("cryobridge_spans_dropped_total", "Spans of traces that no collector took.", dropped.spans);
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
  const setConditions = addConditionMetrics(registers);
  const setConnections = addConnectionMetrics(registers);
  const setTasks = addTaskMetrics(registers);
  const setRefills = addRefillMetrics(registers);
  const setWaiting = addWaitingMetrics(registers);
  const setOrphaned = addOrphanedMetrics(registers);
  const setUntaken = addUntakenMetrics(registers);
  const setListeners = addMllpMetrics(registers);
  const setCalls = addCallMetrics(registers);
  const times = addTimeMetrics(registers);
  setBreaker("closed");
  // The first that fails is a rise, too.
  for (const state of TERMINAL_STATES) ended.inc({ state }, 0);
  return {
    recordServiceRequest: ({ route, outcome, seconds }) => {
      const template = withoutValues(route);
      requests.inc({ route: template, outcome });
      times.recordRequestTime({ route: template, outcome, seconds });
    },
    setBreaker,
    recordMessages: (connector, verdict, count = 1) => messages.inc({ connector, verdict }, count),
    recordStep: (step) => {
      times.recordStep(step);
      if (step.to !== undefined && isTerminal(step.to)) ended.inc({ state: step.to });
    },
    recordStage: times.recordStage,
    recordIntake: times.recordIntake,
    recordJob: times.recordJob,
    definitions: definitionsOf(registry),
    render: async ({ isReady, counts, nowMs = 0, ...now }) => {
      ready.set(isReady ? 1 : 0);
      setCounts(counts);
      setConditions(now.conditions);
      setConnections(now.connections);
      setTasks(counts);
      setRefills(now.refills, nowMs);
      setWaiting(now.waiting, nowMs);
      setOrphaned(now.orphaned);
      setUntaken(now.untaken ?? [], nowMs);
      setListeners(now.listeners ?? []);
      setCalls(now.service);
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

function definitionsOf(registry: Registry): MetricDefinition[] {
  return registry
    .getMetricsAsArray()
    .map((metric) => {
      // Its types leave the labels out.
      const { name, help, labelNames = [] } = metric as typeof metric & { labelNames?: readonly string[] };
      return { name, help, type: typeOf(metric), labels: labelNames };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function typeOf(metric: object): MetricDefinition["type"] {
  if (metric instanceof Counter) return "counter";
  if (metric instanceof Gauge) return "gauge";
  return metric instanceof Histogram ? "histogram" : "summary";
}

/** A second line of defence: numbers in a path become `{id}` and a query is cut off. */
function withoutValues(route: string): string {
  return route.replace(/\?.*$/, "").replace(/\/\d+(?=\/|$)/g, "/{id}");
}
