import type { Config } from "../../config/config.ts";
import type { FailureCode } from "../../core/failures.ts";
import type { ControlRefusal } from "../../core/order-control.ts";
import type { Surface } from "../../core/surface.ts";
import type { OrderCall } from "../../ledger/orders/calls.ts";
import type { OtherCalls } from "../../ledger/orders/looks.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import type { CancelLook } from "../../service/cancel.ts";
import { describeTraces, type Finds, nameIds, WORD, WORDS } from "./finds.ts";

/** When to look for what a call without a sure answer did; all in ms since it left. */
export type ReconcileTimes = Config["service"]["reconcile"];

/** What of a call, its order and the site decides what a find means. */
export interface Standing
  extends Pick<
    OrderCall,
    "kind" | "isPresumed" | "answer" | "failure" | "isApproved" | "checks" | "ageMs" | "goneMs"
  > {
  readonly surface: Surface;
  readonly operation: LedgerOrder["operation"];
  /** Calls of the order for the same before this one, in a row, that were believed to have done nothing. */
  readonly lostBefore: number;
  readonly times: ReconcileTimes;
}

/** The same of one to create a request. */
export interface LaneStanding extends Standing {
  /** Which other calls of the lane can have made what is found. */
  readonly others: OtherCalls;
}

/** What a look means for any open call. */
type Undone =
  /** It did nothing: all goes on as before it, and it is made again. */
  | { readonly kind: "nothing" }
  /** Nobody knows yet: the service is looked at again. */
  | { readonly kind: "again"; readonly nextInMs: number; readonly found: string };

/** What a look means for an open call to register or create. */
export type CallDecision =
  | Undone
  /** This is what it made. */
  | { readonly kind: "made"; readonly id: number }
  /** A person is needed; `ids` is what of the service may be the order's. */
  | {
      readonly kind: "park";
      readonly code: FailureCode;
      readonly text: string;
      readonly ids: readonly number[];
    };

/** What a look means for an open call to cancel. */
export type CancelDecision =
  | Undone
  /** It is cancelled; without a status where the service keeps nothing of what a call of ours took away. */
  | { readonly kind: "cancelled"; readonly status: string | undefined }
  /** The order goes on, and the lab and a person hear why. */
  | { readonly kind: "refused"; readonly refusal: ControlRefusal };

/**
 * Decides what a look at the service means for the open call of an order: the first row that fits.
 * `docs/decisions/0043-a-call-is-a-record.md` has the reasons, and the situations that are decided elsewhere, by the same numbers.
 *
 * | | call | found | then |
 * |---|---|---|---|
 * | 6 | any | only what another order has is certain | park, naming both |
 * | 18 | presumed | one certain, and nothing else that may be its own | made |
 * | 20 | presumed, younger than `giveUpAfter` | nothing but others | look again: a list may lag, and the call be on its way |
 * | 31 | presumed | others | look again once, then park, naming them |
 * | 20 | presumed | nothing | nothing |
 * | 19 | presumed | anything else | park, naming it |
 * | 4 | lost | one certain | made |
 * | 5 | lost | several certain | park, naming them |
 * | 7 | lost retrieval, request surface, alone in its lane, no restore since | one possible, which is new | made |
 * | 7 | lost retrieval, request surface, and another call of its lane was carried out since | one possible, which is new | look again, from `giveUpAfter` on: park, naming it, whatever a person has seen |
 * | 8 | lost, and no person has seen it | marked, possible, or traces | look again, from `giveUpAfter` on: park, naming it |
 * | 8 | lost, and a person has seen it | marked, possible, or traces | look again, from `giveUpAfter` on: as nothing found |
 * | 9 to 13 | lost | nothing | {@link decideEmpty} |
 * | 24 to 28 | to cancel | | {@link decideCancel} |
 */
export function decideFinds(call: LaneStanding, finds: Finds): CallDecision {
  const { surface } = call;
  const { certain, taken, marked, possible } = finds;
  const [only] = certain;
  if (taken.length > 0 && only === undefined) {
    const text = taken
      .map(({ id, holder }) => `${WORD[surface]} ${id} is this order's, but ${holder} has it`)
      .join("; ");
    return { kind: "park", code: "SUBMIT_UNCERTAIN", text, ids: [] };
  }
  if (call.isPresumed) {
    const all = [...certain, ...marked, ...possible];
    if (only !== undefined && all.length === 1) return { kind: "made", id: only };
    if (all.length > 0) return parkForgotten(surface, all, marked.length > 0);
    // One look is enough once no list can lag any more.
    const isYoung = call.ageMs < call.times.giveUpAfterMs;
    const next = isYoung ? planCheck(call.checks + 1, call.ageMs, call.times) : "believed";
    if (next !== "believed") return { kind: "again", ...next, found: "nothing" };
    if (finds.other.length === 0) return { kind: "nothing" };
    // It may be of another order that is looked for only now.
    if (call.checks === 0) return { kind: "again", nextInMs: call.times.checksMs[0] ?? 0, found: "nothing" };
    return parkOther(surface, finds.other);
  }
  if (only !== undefined && certain.length === 1) return { kind: "made", id: only };
  if (certain.length > 1) {
    const text = `${WORDS[surface]} ${certain.join(", ")} could all be this order's`;
    return { kind: "park", code: "SUBMIT_SEVERAL_MATCHES", text, ids: certain };
  }
  const candidates = [...marked, ...possible];
  const [candidate] = candidates;
  const isOnlyNew = candidates.length === 1 && candidate !== undefined && !finds.hidden.includes(candidate);
  const isLikely = surface === "request" && call.operation === "RETRIEVAL" && isOnlyNew;
  const { isUnknown, isDoubled } = call.others;
  if (isLikely && !isUnknown && !isDoubled) return { kind: "made", id: candidate };
  const evidence = describeTraces(surface, finds);
  if (evidence === undefined) return decideEmpty(call);
  const next = planCheck(call.checks + 1, call.ageMs, call.times);
  if (next !== "believed") return { kind: "again", nextInMs: next.nextInMs, found: evidence };
  // A person who had it go on may have done so before this was seen: sent again, it might be done twice.
  if (call.isApproved && !(isLikely && isDoubled)) return decideEmpty(call);
  const code = candidates.length > 1 ? "SUBMIT_SEVERAL_MATCHES" : "SUBMIT_UNCERTAIN";
  return { kind: "park", code, text: evidence, ids: candidates };
}

function parkForgotten(surface: Surface, ids: readonly number[], isMarked: boolean): CallDecision {
  const why = isMarked ? ", by the order's mark in it" : "";
  return {
    kind: "park",
    code: "SUBMIT_FORGOTTEN_REQUEST",
    text: `the ledger was restored from an older copy; no order of it has ${nameIds(surface, ids)} at the service, made since that copy, which may be this order's${why}`,
    ids,
  };
}

function parkOther(surface: Surface, ids: readonly number[]): CallDecision {
  const has = ids.length === 1 ? "is" : "are";
  return {
    kind: "park",
    code: "SUBMIT_FORGOTTEN_REQUEST",
    text: `the ledger was restored from an older copy; ${nameIds(surface, ids)} at the service ${has} for other containers of the subject, made since that copy, and no order's: if the order was changed since the copy, it may be this order's`,
    ids,
  };
}

/** Calls in a row that had no effect and no clear answer, after which a person looks into it. */
const MOST_LOST = 5;

/**
 * Decides about a lost call of which the service shows nothing: the first row that fits.
 *
 * | | call | then |
 * |---|---|---|
 * | 9 | answered "nothing was done" | nothing |
 * | 10 | too young, or looked for too seldom | look again |
 * | 11 | answered as done, and no person has seen it | park |
 * | 12 | the fifth in a row | park |
 * | 13 | a retrieval on the request surface, where those are not retried, and no person has seen it | park |
 * | 13 | any other | nothing |
 */
export function decideEmpty(call: Standing): CallDecision {
  if (call.answer === "refused") return { kind: "nothing" };
  const next = planCheck(call.checks + 1, call.ageMs, call.times);
  if (next !== "believed") return { kind: "again", nextInMs: next.nextInMs, found: "nothing" };
  const park = (text: string): CallDecision => ({ kind: "park", code: "SUBMIT_UNCERTAIN", text, ids: [] });
  // A service that takes an order and never shows it would be sent it again and again.
  if (!call.isApproved && call.answer === "taken") {
    return park(
      "the service answered the call as done, without saying what it made, and lists nothing of it",
    );
  }
  // Reads go well all the while, so this is no outage that time would end.
  if (call.lostBefore + 1 >= MOST_LOST) {
    return park(
      `${call.lostBefore + 1} calls in a row got no clear answer, and the service shows no trace of any; see its answers`,
    );
  }
  const leavesNoMark =
    call.kind === "request" && call.operation === "RETRIEVAL" && call.surface === "request";
  if (leavesNoMark && !call.isApproved && call.times.retrievals === "park") {
    return park("the service shows no trace of the call, and a retrieval leaves nothing that would prove it");
  }
  return { kind: "nothing" };
}

/** Calls to cancel without an answer and an effect are made this often before a person is asked. */
const MOST_CANCELS = 3;

/** How long a service has to say that it has no such request before a call that it refused is over. */
const REFUSED_FOR_MS = 60_000;

/**
 * Decides about a call to cancel: the first row that fits. One that has not left yet leaves then, and is not looked for.
 *
 * | | call | the service | then |
 * |---|---|---|---|
 * | 24 | any | shows it cancelled | cancelled |
 * | 28 | taken | has it no more | cancelled: a service may delete what is cancelled |
 * | 28 | refused, and so were all before it | has it no more, for a minute | refused: no call of ours took it away |
 * | 28 | any other, or refused after one without an answer | has it no more, for all of `giveUpAfter` | cancelled |
 * | 28 | any other | has it no more | look again: a gateway that has lost its way answers so for moments |
 * | 25 | refused | shows it as before | refused |
 * | 26, 27 | too young, or looked for too seldom | shows it as before | look again |
 * | 26 | without an answer, the first or second such | shows it as before | nothing, and it is made again: to cancel twice does no more than once |
 * | 26, 27 | taken, or the third without an answer | shows it as before | refused: without effect |
 */
export function decideCancel(call: Standing, found: CancelLook | "gone"): CancelDecision {
  if (found === "gone") return decideGone(call);
  const { isCancelled, status } = found;
  if (isCancelled) return { kind: "cancelled", status };
  const shows = `the service shows ${status}`;
  if (call.answer === "refused") {
    return refuse(
      "CANCEL_REFUSED",
      `the storage service refused to cancel the order, which goes on (${shows})${reason(call)}`,
    );
  }
  const next = planCheck(countSame(call, false), call.ageMs, call.times);
  if (next !== "believed") return { kind: "again", ...next, found: status };
  if (call.answer !== "taken" && call.lostBefore + 1 < MOST_CANCELS) return { kind: "nothing" };
  return refuse(
    "CANCEL_WITHOUT_EFFECT",
    `the call to cancel the order had no effect (${shows}); the order goes on`,
  );
}

function decideGone(call: Standing): CancelDecision {
  if (call.answer === "taken") return { kind: "cancelled", status: undefined };
  const { giveUpAfterMs } = call.times;
  const isRefused = call.answer === "refused" && call.lostBefore === 0;
  const times = {
    ...call.times,
    giveUpAfterMs: isRefused ? Math.min(REFUSED_FOR_MS, giveUpAfterMs) : giveUpAfterMs,
  };
  const next = planCheck(countSame(call, true), call.goneMs ?? 0, times);
  if (next !== "believed") return { kind: "again", ...next, found: "nothing" };
  if (!isRefused) return { kind: "cancelled", status: undefined };
  return refuse(
    "CANCEL_REFUSED",
    `the storage service refused to cancel the order, and shows no such request any more${reason(call)}`,
  );
}

/** Looks in a row for a call to cancel that were answered the same, with the one that was just made: one proves little. */
export function countSame({ checks, goneMs }: Pick<Standing, "checks" | "goneMs">, isGone: boolean): number {
  return isGone === (goneMs !== undefined) ? checks + 1 : 1;
}

const refuse = (code: FailureCode, text: string): CancelDecision => ({
  kind: "refused",
  refusal: { code, text },
});

function reason({ failure }: Standing): string {
  return failure === undefined ? "" : `: ${failure.text}`;
}

/** "Nothing" is believed after this many empty looks at least, since a list may lag behind a write. */
const FEWEST_CHECKS = 3;

/**
 * What follows an empty look: another one after some ms, or the belief that the call had no effect. With looks at 5 s
 * and 30 s and `giveUpAfter` of 15 min, an untouched call is looked for at 5 s, 30 s and 15 min.
 *
 * @param looksDone empty looks so far, this one included
 * @param ageMs time since the call
 */
export function planCheck(
  looksDone: number,
  ageMs: number,
  times: Pick<ReconcileTimes, "checksMs" | "giveUpAfterMs">,
): { readonly nextInMs: number } | "believed" {
  if (ageMs >= times.giveUpAfterMs) {
    if (looksDone >= FEWEST_CHECKS) return "believed";
    return { nextInMs: times.checksMs[0] ?? times.giveUpAfterMs };
  }
  const next = [...times.checksMs, times.giveUpAfterMs].sort((a, b) => a - b).find((atMs) => atMs > ageMs);
  return { nextInMs: (next ?? times.giveUpAfterMs) - ageMs };
}
