import type { Config } from "../../config/config.ts";
import type { FailureCode } from "../../core/failures.ts";
import type { Surface } from "../../core/surface.ts";
import type { OrderCall } from "../../ledger/orders/calls.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";

/** When to look for what a call without a sure answer did; all in ms since it left. */
export type ReconcileTimes = Config["service"]["reconcile"];

/** What the service has that may be of a call, as numbers of requests, or of procedures of the external surface. */
export interface Finds {
  /** Certainly the call's, and no other order's. */
  readonly certain: readonly number[];
  /** Certainly the call's, but another order has it: named as `order P-1001`. */
  readonly taken: readonly { readonly id: number; readonly holder: string }[];
  /** With the call's mark, though not with its labels alone as far as the service shows. */
  readonly marked: readonly number[];
  /** What may be the call's as well as somebody else's. */
  readonly possible: readonly number[];
  /** Those of the possible ones that may have been there before: no snapshot shows them. */
  readonly hidden: readonly number[];
  /** For other containers and no order's: a restored ledger can't tell whether the order asked for those before it was changed. */
  readonly other: readonly number[];
  /** Containers with the call's mark, though nothing else shows it. */
  readonly traces: readonly number[];
}

/** What of a call, its order and the site decides what a find means. */
export interface Standing
  extends Pick<OrderCall, "kind" | "isPresumed" | "answer" | "isApproved" | "checks" | "ageMs"> {
  readonly surface: Surface;
  readonly operation: LedgerOrder["operation"];
  /** No other call of the lane can have made what is found: none is open, and no restored ledger has forgotten one since. */
  readonly isAlone: boolean;
  /** Calls of the order before this one, in a row, that were believed to have made nothing. */
  readonly lostBefore: number;
  readonly times: ReconcileTimes;
}

/** What a look means for an open call. */
export type Decision =
  /** This is what it made. */
  | { readonly kind: "made"; readonly id: number }
  /** It made nothing: the order goes on as before it, and is sent again. */
  | { readonly kind: "nothing" }
  /** Nobody knows yet: the service is looked at again. */
  | { readonly kind: "again"; readonly nextInMs: number; readonly found: string }
  /** A person is needed; `ids` is what of the service may be the order's. */
  | {
      readonly kind: "park";
      readonly code: FailureCode;
      readonly text: string;
      readonly ids: readonly number[];
    };

/** What each surface makes of an order. */
export const WORD = { request: "request", external: "procedure" } as const satisfies Record<Surface, string>;
const WORDS = { request: "requests", external: "procedures" } as const satisfies Record<Surface, string>;

/** `request 17`, or `procedures 17, 18`. */
export function nameIds(surface: Surface, ids: readonly number[], and = ", "): string {
  return `${(ids.length === 1 ? WORD : WORDS)[surface]} ${ids.join(and)}`;
}

/**
 * Decides what a look at the service means for the open call of an order: the first row that fits. The numbers are those
 * of `docs/decisions/0043-a-call-is-a-record.md`.
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
 * | 8 | lost, and no person has seen it | marked, possible, or traces | look again, from `giveUpAfter` on: park, naming it |
 * | 8 | lost, and a person has seen it | marked, possible, or traces | look again, from `giveUpAfter` on: as nothing found |
 * | 9 to 13 | lost | nothing | {@link decideEmpty} |
 */
export function decideFinds(call: Standing, finds: Finds): Decision {
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
  if (surface === "request" && call.operation === "RETRIEVAL" && isOnlyNew && call.isAlone) {
    return { kind: "made", id: candidate };
  }
  const evidence = describe(surface, finds);
  if (evidence === undefined) return decideEmpty(call);
  const next = planCheck(call.checks + 1, call.ageMs, call.times);
  if (next !== "believed") return { kind: "again", nextInMs: next.nextInMs, found: evidence };
  if (call.isApproved) return decideEmpty(call);
  const code = candidates.length > 1 ? "SUBMIT_SEVERAL_MATCHES" : "SUBMIT_UNCERTAIN";
  return { kind: "park", code, text: evidence, ids: candidates };
}

function parkForgotten(surface: Surface, ids: readonly number[], isMarked: boolean): Decision {
  const why = isMarked ? ", by the order's mark in it" : "";
  return {
    kind: "park",
    code: "SUBMIT_FORGOTTEN_REQUEST",
    text: `the ledger was restored from an older copy; no order of it has ${nameIds(surface, ids)} at the service, made since that copy, which may be this order's${why}`,
    ids,
  };
}

function parkOther(surface: Surface, ids: readonly number[]): Decision {
  const has = ids.length === 1 ? "is" : "are";
  return {
    kind: "park",
    code: "SUBMIT_FORGOTTEN_REQUEST",
    text: `the ledger was restored from an older copy; ${nameIds(surface, ids)} at the service ${has} for other containers of the subject, made since that copy, and no order's: if the order was changed since the copy, it may be this order's`,
    ids,
  };
}

/** What speaks for an effect of the call without showing which; undefined when nothing does. */
function describe(surface: Surface, { marked, possible, traces }: Finds): string | undefined {
  if (marked.length > 0) {
    return `${nameIds(surface, marked)} at the service ${marked.length === 1 ? "carries" : "carry"} the order's mark, but the service doesn't show its labels with it`;
  }
  if (possible.length > 0) {
    return `${WORDS[surface]} ${possible.join(", ")} could be this order's, but nothing proves it`;
  }
  if (traces.length === 0) return undefined;
  return `containers ${traces.join(", ")} at the service carry the order's mark, but no procedure is listed`;
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
export function decideEmpty(call: Omit<Standing, "isAlone">): Decision {
  if (call.answer === "refused") return { kind: "nothing" };
  const next = planCheck(call.checks + 1, call.ageMs, call.times);
  if (next !== "believed") return { kind: "again", nextInMs: next.nextInMs, found: "nothing" };
  const park = (text: string): Decision => ({ kind: "park", code: "SUBMIT_UNCERTAIN", text, ids: [] });
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

/** What of the service may be an order's beside what it is followed by. */
export interface Remains {
  readonly certain: readonly number[];
  readonly perhaps: readonly number[];
}

/**
 * What a look for an ended call found beside what the order is followed by (row 15).
 *
 * @param isProved whether a mark proves what is the call's: then what merely has its labels is somebody else's as well as not
 */
export function remainsOf(
  { certain, taken, marked, possible }: Finds,
  own: number | undefined,
  isProved: boolean,
): Remains {
  const others = (ids: readonly number[]) => ids.filter((id) => id !== own);
  return {
    certain: others([...certain, ...taken.map(({ id }) => id)]),
    perhaps: others(isProved ? marked : [...marked, ...possible]),
  };
}

/** Whatever a look found that may be the call's, in words (rows 16 and 23); undefined for nothing. */
export function nameFinds(
  surface: Surface,
  { certain, taken, marked, possible, traces }: Finds,
): string | undefined {
  const ids = [...new Set([...certain, ...taken.map(({ id }) => id), ...marked, ...possible])];
  if (ids.length > 0) return nameIds(surface, ids);
  return traces.length > 0 ? `containers ${traces.join(", ")}` : undefined;
}
