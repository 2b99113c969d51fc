import { FAILURES, type FailureCode } from "../../src/core/failures.ts";
import type { Word } from "./lab.ts";
import { type Judged, ordersOf } from "./oracles.ts";
import { nameOf, type Request } from "./service.ts";

/** What came of an order in the ledger: the kinds of all events, and why it was parked each time. */
export interface Life {
  readonly number: string;
  readonly kinds: readonly string[];
  readonly parked: readonly string[];
}

/** What the order of things is judged by. All times are the world's, ms. */
interface Timed extends Judged {
  /** When each call to create was made, by its number. */
  readonly callsAt: ReadonlyMap<number, number>;
  /** When a person had an order go on that the lab had put on hold. */
  readonly released: readonly { readonly number: string; readonly at: number }[];
  /** In the order in which the orders came. */
  readonly lives: readonly Life[];
}

/** An order of which one of these is told may go before or after its neighbours. */
const OUT_OF_TURN = new Set(["parked", "held", "released", "changed", "corrected", "retried", "discarded"]);
/** ORC-1 of the last word of an order, and of a report of progress. */
const ENDED = new Set(["OC", "OD", "RE", "CR"]);
const ON_ITS_WAY = new Set(["SC", "OK", "OH"]);

/**
 * What is judged by time: nothing is asked for while it is on hold, out of its turn, or once it ended or was changed; no report of progress
 * comes after the last word; nobody is asked about what passes by itself.
 */
export function judgeTimes(timed: Timed): string[] {
  return [
    ...timed.orders.flatMap((order) => judgeOrder(timed, order)),
    ...judgeTurns(timed),
    ...judgeParked(timed),
  ];
}

/** What the program has asked for of an order, in no order. */
const askedFor = (timed: Timed, number: string) =>
  timed.service.requests.filter(
    (each) =>
      !each.isCopy && !each.isOthers && ordersOf(timed, each).some((order) => order.number === number),
  );

function sentAt(timed: Timed, request: Request): number {
  const at = timed.callsAt.get(request.call);
  if (at === undefined) throw new TypeError(`${nameOf(request)} was made by no call`);
  return at;
}

function judgeOrder(timed: Timed, { number, label }: Judged["orders"][number]): string[] {
  const own = askedFor(timed, number);
  const words = timed.lab.words.filter((each) => each.number === number);
  const after = ({ at }: Word) => own.filter((each) => sentAt(timed, each) > at);
  const onHold = words.find(({ control }) => control === "HR");
  const troubles: string[] = [];
  if (onHold) {
    const asked = timed.lab.asked.filter((each) => each.number === number);
    const heldAt = asked.find(({ what }) => what === "hold")?.at ?? 0;
    // What was asked for before may come to the program later.
    const released = [
      ...asked.filter(({ what, acknowledgedAt }) => what === "release" && acknowledgedAt >= heldAt),
      ...timed.released.filter((each) => each.number === number && each.at >= heldAt),
    ];
    const goesOnAt = Math.min(...released.map(({ at }) => at));
    for (const each of after(onHold).filter((each) => sentAt(timed, each) < goesOnAt))
      troubles.push(`${number} is on hold, and ${nameOf(each)} is asked for`);
  }
  // A person had it done again, so later requests are allowed.
  if (timed.doneAgain.has(number)) return troubles;
  const changed = words.find(({ control }) => control === "XR");
  if (changed)
    for (const each of after(changed).filter(({ containers }) => containers[0]?.label === label))
      troubles.push(`${number} was changed, and ${nameOf(each)} is asked for`);
  const last = words.find(({ control }) => ENDED.has(control));
  if (last) {
    for (const each of after(last)) troubles.push(`${number} has ended, and ${nameOf(each)} is asked for`);
    const later = words.slice(words.indexOf(last) + 1).find(({ control }) => ON_ITS_WAY.has(control));
    if (later) troubles.push(`${number} has ended, and the lab hears ORC-5 ${later.status} of it`);
  }
  return troubles;
}

/** Of two orders of a subject that nothing took out of turn, the first one is asked for first. */
function judgeTurns(timed: Timed): string[] {
  const subjectOf = new Map(timed.orders.map(({ number, subject }) => [number, subject]));
  const firstOf = (number: string) => Math.min(...askedFor(timed, number).map((each) => sentAt(timed, each)));
  const inTurn = timed.lives.filter(({ kinds }) => !kinds.some((kind) => OUT_OF_TURN.has(kind)));
  return inTurn.flatMap(({ number: earlier }, index) =>
    inTurn
      .slice(index + 1)
      .filter(({ number }) => subjectOf.get(number) === subjectOf.get(earlier))
      .filter(({ number }) => firstOf(number) < firstOf(earlier) && Number.isFinite(firstOf(earlier)))
      .map(({ number }) => `${number} overtakes ${earlier}, of the same subject`),
  );
}

/** What passes by itself parks no order. */
function judgeParked({ lives }: Timed): string[] {
  return lives.flatMap(({ number, parked }) =>
    parked
      .filter((code) => FAILURES[code as FailureCode]?.class === "transient")
      .map((code) => `a person is asked about ${number}, though ${code} passes by itself`),
  );
}
