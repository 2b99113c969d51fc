import { isTerminal } from "../../core/order-state.ts";
import { nameOf, whyWaiting } from "../why-waiting.ts";
import type { LedgerView } from "./ledger-view.ts";
import type { Sample } from "./senders.ts";

/** Something that is not as it should be at the end. */
export interface Unfinished {
  readonly words: string;
  /** Nothing but a person changes it, so there is no use in waiting. */
  readonly isFinal: boolean;
}

/**
 * What is still missing until the samples are done: each file taken, or refused where it is broken; each order at its
 * end; each result in the lab's folder. Empty when all is well.
 */
export function listUnfinished(
  dropped: readonly Sample[],
  view: LedgerView,
  nowMs: number,
): readonly Unfinished[] {
  return [
    ...dropped.flatMap((sample) => unfinishedFile(sample, view)),
    ...unfinishedOrders(view, nowMs),
    ...unfinishedResults(view),
  ];
}

function unfinishedFile({ sender, fileName, kind }: Sample, { files }: LedgerView): Unfinished[] {
  const file = files.find((each) => each.connector === sender && each.fileName === fileName);
  if (!file || file.status === "reading") {
    return [{ words: `${fileName} has not been taken from ${sender}/in yet`, isFinal: false }];
  }
  const isRefused = file.status === "refused" || file.problems.length > 0;
  const isBroken = kind === "broken";
  if (isRefused === isBroken) return [];
  const [problem] = file.problems;
  const words = isBroken
    ? `${fileName} was taken although it is broken`
    : `${fileName} was refused although nothing is wrong with it: ${problem?.place}: ${problem?.message}`;
  return [{ words, isFinal: true }];
}

function unfinishedOrders({ orders }: LedgerView, nowMs: number): Unfinished[] {
  const around = { nowMs, isDaemonThere: true, pausedQueues: new Set<string>() };
  return orders
    .filter(({ state }) => !isTerminal(state))
    .map((order) => ({
      words: `order ${nameOf(order)} is ${order.state.replace("_", " ")}. ${whyWaiting(order, around) ?? ""}`,
      isFinal: order.state === "parked",
    }));
}

function unfinishedResults({ openOutcomes, results }: LedgerView): Unfinished[] {
  const waiting = results
    .filter(({ state }) => state !== "delivered")
    .map(({ connector, fileName, state }) => ({
      words: `the result ${fileName} is not in ${connector}/out (${state})`,
      isFinal: state !== "pending",
    }));
  if (openOutcomes === 0) return waiting;
  return [...waiting, { words: `${openOutcomes} facts are in no result file yet`, isFinal: false }];
}
