import type { BehaviourChange } from "./behaviour.ts";
import type { Spread } from "./random.ts";

/**
 * One scripted fault: which calls it meets, how often, and what goes wrong. The first matching rule that names an
 * effect decides it; effects of several matching rules add up. `/simulator/*` and the page are never touched.
 *
 * The steps of a call, in order: wait `executeAfterMs`; `before` (nothing done) or `status` (nothing done, unless
 * `executed`); the call is executed; wait `answerAfterMs`; then the answer, spoiled by `after`, `status`
 * with `executed`, `cutAfterBytes` or `body`.
 */
export interface FaultRule {
  /** Name under which the tally counts it; its place in the list when absent. */
  readonly name?: string | undefined;
  /** `GET`, `POST`, …; any when absent. */
  readonly method?: string | undefined;
  /** A path with `*` for one segment and `**` for any rest (`/api/procedure-requests/*`); any when absent. */
  readonly path?: string | undefined;
  /** So many matching calls are let through first. */
  readonly skip?: number | undefined;
  /** How many calls it meets, then it is spent; without limit when absent. */
  readonly times?: number | undefined;
  /** Share of matching calls that it meets, 0 to 1; all when absent. */
  readonly probability?: number | undefined;
  /** Only calls from this simulated time on, counted from the simulator's start. */
  readonly fromMs?: number | undefined;
  /** Only calls before this simulated time. */
  readonly untilMs?: number | undefined;

  /** Executed only after so long, even when the caller has gone. Clock time, not simulated time. */
  readonly executeAfterMs?: Spread | undefined;
  /** Executed at once, answered only after so long. */
  readonly answerAfterMs?: Spread | undefined;
  /**
   * Nothing is done, and no answer comes: the connection is reset (`drop`), ended in good order (`close`), or stays
   * open and silent (`hang`).
   */
  readonly before?: "drop" | "close" | "hang" | undefined;
  /** The same after the call was executed. */
  readonly after?: "drop" | "close" | "hang" | undefined;
  /** Answered with this status and an error body. */
  readonly status?: number | undefined;
  /** The call was executed although an error `status` is answered. */
  readonly executed?: boolean | undefined;
  /** `Retry-After`: seconds as a number or any text as it stands; `{ dateInMs }` gives an HTTP date that far ahead. */
  readonly retryAfter?: number | string | { readonly dateInMs: number } | undefined;
  /** Further headers of the answer. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * The answer's body: none; a gateway's page with the same status; half of it, well framed; `not-json`, a line of
   * text under a JSON content type; or JSON without the ids.
   */
  readonly body?: "empty" | "html" | "truncated" | "not-json" | "without-ids" | undefined;
  /** The connection ends after so many bytes of the answer, head included. */
  readonly cutAfterBytes?: number | undefined;
  /** The token that the call carries is revoked just before it is looked at. */
  readonly revokeToken?: boolean | undefined;
  /** All access tokens that are out are revoked just before the call is looked at. */
  readonly revokeAllTokens?: boolean | undefined;
  /** Another behaviour for this call. */
  readonly behave?: BehaviourChange | undefined;
}
