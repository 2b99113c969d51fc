import { isTerminal, type OrderState } from "../../src/core/order-state.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import type { Creation } from "../../src/simulator/tally.ts";
import type { PlannedOrder } from "./lab-load.ts";

/** What three witnesses say: the lab's plan, the ledger, and the service's own journal; and what was sent to the lab. */
export interface Evidence {
  readonly planned: readonly PlannedOrder[];
  readonly ledger: readonly LedgerOrder[];
  readonly simulator: Simulator;
  /** Result files of the HL7 and of the CSV connector, by name. */
  readonly hl7Results: ReadonlyMap<string, string>;
  readonly csvResults: ReadonlyMap<string, string>;
}

/** What is wrong, by kind; each list names orders or requests. All empty: the promise was kept. */
export interface Account {
  /** Planned, and not exactly once in the ledger, or without an end, or ended without a request. */
  readonly lost: readonly string[];
  /** More than one request at the service for one order. */
  readonly doubled: readonly string[];
  /** A request that no order asked for. */
  readonly invented: readonly string[];
  /** An order linked to a request for other containers. */
  readonly mistaken: readonly string[];
  /** The lab has no result with the order's last state. */
  readonly unreported: readonly string[];
  /** The lab has several results with the order's last state. */
  readonly repeated: readonly string[];
}

/** Table 0038, as the built-in profile fills ORC-5. */
const ORDER_STATUS: Readonly<Partial<Record<OrderState, string>>> = {
  completed: "CM",
  rejected: "CA",
  cancelled: "CA",
  failed: "DC",
  parked: "HD",
};

/**
 * Compares the witnesses the way an auditor would. Parked is an end only for a retrieval that nothing proves
 * (`SUBMIT_UNCERTAIN`), which then may have one request or none.
 */
export function account(evidence: Evidence): Account {
  const { planned, ledger, simulator } = evidence;
  const { doubled, journal } = simulator.tally();
  const labelById = new Map(simulator.control.containers().map((row) => [row.id, row.name]));
  const labelsOf = (made: Creation) => keyOf(made.type, made.subjectCode, labelsIn(made, labelById));
  const made = Map.groupBy(journal, labelsOf);
  const kept = Map.groupBy(ledger, (order) => order.placerOrderNumber ?? "");
  const rowsByNumber = reportedRows(evidence.csvResults);
  const plannedKeys = new Set(planned.map((order) => keyOf(order.operation, order.subject, order.labels)));

  const lost: string[] = [];
  const mistaken: string[] = [];
  const unreported: string[] = [];
  const repeated: string[] = [];
  const several: string[] = doubled.map((order) => order.key);
  for (const plan of planned) {
    const orders = kept.get(plan.number) ?? [];
    const [order] = orders;
    const requests = made.get(keyOf(plan.operation, plan.subject, plan.labels)) ?? [];
    if (!order || orders.length !== 1) {
      lost.push(`${plan.number}: ${orders.length} times in the ledger`);
      continue;
    }
    if (requests.length > 1) several.push(`${plan.number}: ${requests.length} requests`);
    const isUncertain = isUncertainRetrieval(order);
    if (!isTerminal(order.state) && !isUncertain)
      lost.push(`${plan.number}: ${order.state} ${order.failure?.code ?? ""}`);
    if (requests.length === 0 && !isUncertain) lost.push(`${plan.number}: ${order.state} without a request`);
    if (!isLinked(order, requests[0]) && !isUncertain) {
      mistaken.push(`${plan.number}: request ${order.requestId}, procedure ${order.procedureId}`);
    }
    const results =
      plan.connector === "hl7"
        ? countHl7Results(plan.number, order.state, evidence.hl7Results)
        : Math.ceil(countRows(rowsByNumber.get(plan.number), order.state) / plan.labels.length);
    if (results === 0) unreported.push(`${plan.number}: ${order.state}`);
    if (results > 1) repeated.push(`${plan.number}: ${order.state} ${results} times`);
  }
  const invented = [...made.keys()].filter((key) => !plannedKeys.has(key));
  return { lost, doubled: several, invented, mistaken, unreported, repeated };
}

/** The account of a run in which all went well. */
export const ALL_WELL: Account = {
  ...{ lost: [], doubled: [], invented: [], mistaken: [] },
  ...{ unreported: [], repeated: [] },
};

/** Whether an order is at its end, or where only a person can take it on: a retrieval that left no proof. */
export function isAtItsEnd(order: LedgerOrder): boolean {
  return isTerminal(order.state) || isUncertainRetrieval(order);
}

/** Whether the order knows what the service made of it: a request, or on the external surface a procedure. */
function isLinked(order: LedgerOrder, made: Creation | undefined): boolean {
  if (made?.surface !== "external") return order.requestId === made?.requestId;
  return order.requestId === undefined && order.procedureId === made.procedureId;
}

function isUncertainRetrieval(order: LedgerOrder): boolean {
  return (
    order.state === "parked" && order.operation === "RETRIEVAL" && order.failure?.code === "SUBMIT_UNCERTAIN"
  );
}

function keyOf(type: string, subject: string, labels: readonly string[]): string {
  return `${type} ${subject} ${[...labels].sort().join(",")}`;
}

function labelsIn(made: Creation, labelById: ReadonlyMap<number, string>): string[] {
  return made.type === "STORE"
    ? made.sampleContainers.map((container) => container.name)
    : made.sampleContainerIds.map((id) => labelById.get(id) ?? `container ${id}`);
}

function countHl7Results(number: string, state: OrderState, results: ReadonlyMap<string, string>): number {
  const files = [...results].filter(([name]) => name.startsWith(`${number}_`));
  return files.filter(([, text]) =>
    text.split("\r").some((segment) => {
      const fields = segment.split("|");
      return fields[0] === "ORC" && fields[2]?.split("^")[0] === number && fields[5] === ORDER_STATUS[state];
    }),
  ).length;
}

/** The rows of the CSV results, by order number; a result has one for each label. */
function reportedRows(results: ReadonlyMap<string, string>): Map<string, string[][]> {
  const rows = [...results.values()].flatMap((text) => text.split("\r\n").slice(1));
  return Map.groupBy(
    rows.map((row) => row.split(",")),
    ([number = ""]) => number,
  );
}

function countRows(rows: readonly (readonly string[])[] = [], state: OrderState): number {
  return rows.filter(([, , , , status]) => status === state).length;
}
