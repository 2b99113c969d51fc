/** When to look for what a call without an answer did; all in ms since the latest call. */
export interface Settle {
  /** The early looks, which find most of what happened. */
  readonly looksMs: readonly number[];
  /** Longer than the service or a gateway can hold a request: only after it is "nothing" believed. */
  readonly afterMs: number;
  /** When an order that was sent again is looked for once more, since the first call may show late. */
  readonly recheckMs: number;
  /** What follows when a retrieval leaves no trace: a person looks, or it is sent again. */
  readonly retrievals: "park" | "retry";
}

/** "Nothing" is believed after this many empty looks at least, since a list may lag behind a write. */
const FEWEST_LOOKS = 3;

/**
 * What follows an empty look: another one after some ms, or the belief that the call had no effect. With looks at 5 s
 * and 30 s and a settle time of 15 min, an untouched order is looked for at 5 s, 30 s and 15 min.
 *
 * @param looksDone empty looks so far, this one included
 * @param ageMs time since the call
 */
export function planLook(
  looksDone: number,
  ageMs: number,
  settle: Settle,
): { readonly nextInMs: number } | "believed" {
  if (ageMs >= settle.afterMs) {
    if (looksDone >= FEWEST_LOOKS) return "believed";
    return { nextInMs: settle.looksMs[0] ?? settle.afterMs };
  }
  const next = [...settle.looksMs, settle.afterMs].sort((a, b) => a - b).find((atMs) => atMs > ageMs);
  return { nextInMs: (next ?? settle.afterMs) - ageMs };
}
