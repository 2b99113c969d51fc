import type { OrderState } from "../../core/order-state.ts";
import type { LedgerOrder } from "../../ledger/order-row.ts";
import { clean } from "../clean.ts";
import type { Paint, Session } from "../session.ts";
import { describeEvent } from "../timeline.ts";
import { nameOf } from "../why-waiting.ts";
import type { Move } from "./ledger-view.ts";
import type { Refusal } from "./refusals.ts";

const PAINT_BY_STATE: Readonly<Partial<Record<OrderState, Paint | readonly Paint[]>>> = {
  completed: "green",
  rejected: "red",
  cancelled: "red",
  failed: "red",
  parked: "yellow",
};

/** Colours words in the way of a session. */
export type Painter = Session["paint"];

/** What an order's line begins with. */
export function nameOfOrder(order: LedgerOrder): string {
  return order.placerOrderNumber ?? nameOf(order);
}

/** One step of an order in words, without anything of the patient. */
export function describeMove(order: LedgerOrder, move: Move, paint: Painter): string {
  if (move.kind === "received") return `came in: ${describeOrder(order)}`;
  const words = clean(describeEvent(move)).replace(/ \([A-Z]+(?:_[A-Z]+)+\)/g, "");
  // A registration is done once the service knows the subject.
  if (move.kind === "registered") return `${paint("green", "completed")}: ${words}`;
  const style = move.toState && PAINT_BY_STATE[move.toState];
  return style === undefined ? words : paint(style, words);
}

function describeOrder({ operation, containers, facilityCode }: LedgerOrder): string {
  const what = {
    STORE: "store",
    RETRIEVAL: "retrieve",
    REGISTER: "register the subject",
    UPDATE: "update the subject",
    MERGE: "merge the subject",
  }[operation];
  const count = containers.length;
  const which = count === 0 ? "" : ` ${count} ${count === 1 ? "container" : "containers"}`;
  return `${what}${which} at ${facilityCode}`;
}

/** What was wrong with a file. */
export function describeRefusal({ result, problems }: Refusal, paint: Painter): string {
  if (result === "duplicate") return paint("yellow", "came before, to the byte; nothing was done again");
  const heading = result === "refused" ? "refused" : "taken in part, the rest refused";
  const [first] = problems;
  const others = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return `${paint("yellow", heading)}: ${clean(`${first?.place}: ${first?.message}`)}${others}`;
}
