import { setImmediate as nextTurn } from "node:timers/promises";
import { asFailure } from "../../core/failures.ts";
import type { Outcome } from "../../core/outcome.ts";
import type {
  ComposedDelivery,
  Composition,
  OpenOutcome,
  UncomposedOutcome,
} from "../../ledger/results/outcomes.ts";
import { composeHl7 } from "../../mapping/outbound/compose-hl7.ts";
import {
  type CsvResultRow,
  type CsvResultTarget,
  csvResultFile,
  csvResultRows,
  csvResultSeries,
} from "../../mapping/outbound/result-csv.ts";
import type { CsvProfile, Profile } from "../../mapping/profile/profile.ts";

/** Others have their turn after this time, ms. */
const TURN_MS = 20;

/** One HL7 message an outcome. An outcome that none can be made of holds up no other. */
export async function composeMessages(open: readonly OpenOutcome[], profile: Profile): Promise<Composition> {
  const deliveries: ComposedDelivery[] = [];
  const unreported: number[] = [];
  const uncomposed: UncomposedOutcome[] = [];
  let turnAt = performance.now();
  for (const { id, outcome } of open) {
    if (performance.now() - turnAt > TURN_MS) {
      await nextTurn();
      turnAt = performance.now();
    }
    try {
      const file = composeHl7(outcome, profile);
      if (file) deliveries.push({ ...file, outcomeIds: [id] });
      else unreported.push(id);
    } catch (error) {
      const { code, message } = asFailure(error);
      uncomposed.push({ outcomeId: id, code, text: message });
    }
  }
  return { deliveries, unreported, uncomposed };
}

/**
 * One CSV file for each input file that has news; several where an order has news of several inputs, so that the files,
 * one after the other, show of each order what happened in its sequence. An outcome that no rows can be made of holds up no
 * other.
 *
 * @param takeNumber the next number of result files of a series
 * @param noteUntaken see {@link csvResultRows}
 */
export async function composeTables(
  open: readonly OpenOutcome[],
  profile: CsvProfile,
  takeNumber: (series: string) => Promise<number>,
  noteUntaken?: (heading: string) => void,
): Promise<Composition> {
  const answered: OutcomeRows[] = [];
  const unreported: number[] = [];
  const uncomposed: UncomposedOutcome[] = [];
  for (const { id, outcome } of open) {
    const orderIds = orderIdsOf(outcome);
    const { kind } = outcome;
    try {
      const rows = csvResultRows(outcome, profile, noteUntaken);
      if (rows.length > 0) answered.push({ outcomeId: id, kind, orderIds, target: targetOf(outcome), rows });
      else unreported.push(id);
    } catch (error) {
      const { code, message } = asFailure(error);
      uncomposed.push({ outcomeId: id, code, text: message });
      answered.push({ outcomeId: id, kind, orderIds, target: undefined, rows: [] });
    }
  }
  const deliveries: ComposedDelivery[] = [];
  for (const round of inRounds(answered)) {
    for (const items of Map.groupBy(round, keyOf).values()) {
      const target = items[0]?.target;
      if (target === undefined) continue;
      const rows = rowsOf(items);
      const number = await takeNumber(csvResultSeries(target, profile.results));
      const file = csvResultFile(target, number, rows, profile.results);
      deliveries.push({ ...file, outcomeIds: items.map(({ outcomeId }) => outcomeId) });
    }
  }
  return { deliveries, unreported, uncomposed };
}

interface OutcomeRows {
  readonly outcomeId: number;
  readonly kind: Outcome["kind"];
  readonly orderIds: readonly string[];
  /** The file that is answered; undefined where no rows can be made, and a person has to see to it. */
  readonly target: CsvResultTarget | undefined;
  readonly rows: readonly CsvResultRow[];
}

/**
 * The rows of a file. That a request was granted is left out where a row about its order says all of it already, as with
 * neither the operation nor the line among the columns.
 */
function rowsOf(items: readonly OutcomeRows[]): CsvResultRow[] {
  const changed = items.flatMap(({ kind, orderIds: [id], rows }) =>
    kind === "changed" ? [{ id, rows }] : [],
  );
  const rowsByOrder = new Map(changed.map(({ id, rows }) => [id, rows]));
  return items.flatMap(({ kind, orderIds, rows }) => {
    if (kind !== "control") return rows;
    const ofOrders = orderIds.flatMap((id) => rowsByOrder.get(id) ?? []);
    return rows.filter((row) => !ofOrders.some((other) => saysAllOf(other, row)));
  });
}

function saysAllOf(other: CsvResultRow, row: CsvResultRow): boolean {
  return Object.entries(row).every(([name, cell]) => cell === "" || other[name] === cell);
}

function targetOf({ message, occurredAt }: Outcome): CsvResultTarget {
  const { connector, fileName, dialect } = message;
  return { inputName: fileName ?? connector, connector, dialect, at: occurredAt };
}

/** The same for what one file answers: the same name may come again, written otherwise. */
function keyOf({ target }: OutcomeRows): string {
  return target === undefined ? "" : JSON.stringify([target.inputName, target.dialect]);
}

/** Where an order goes on in another file than before, the files so far are closed and a new round of them begins. */
function inRounds(answered: readonly OutcomeRows[]): OutcomeRows[][] {
  const rounds: OutcomeRows[][] = [[]];
  const inputByOrder = new Map<string, string>();
  for (const each of answered) {
    const { orderIds } = each;
    const input = keyOf(each);
    if (orderIds.some((id) => inputByOrder.has(id) && inputByOrder.get(id) !== input)) {
      rounds.push([]);
      inputByOrder.clear();
    }
    for (const id of orderIds) inputByOrder.set(id, input);
    rounds.at(-1)?.push(each);
  }
  return rounds;
}

function orderIdsOf(outcome: Outcome): string[] {
  switch (outcome.kind) {
    case "changed":
      return [outcome.order.orderId];
    case "acknowledged":
      return outcome.orders.map(({ orderId }) => orderId);
    case "control":
      return outcome.answers.flatMap(({ order }) => order?.orderId ?? []);
    case "refused":
    case "waiting":
      return [];
  }
}
