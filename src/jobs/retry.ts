import type { Failure } from "../core/failures.ts";
import { type Backoff, backoffMs } from "./backoff.ts";

/** What follows a failed step of an order. */
export type RetryDecision =
  /** Nothing happened: once more, later. */
  | { readonly kind: "again"; readonly nextInMs: number }
  /** A call may have had an effect: look for it. */
  | { readonly kind: "settle" }
  /** A person is needed. */
  | { readonly kind: "park" };

/** Steps that fail for a reason nobody classified are tried this often before a person is asked. */
const MOST_UNCLASSIFIED_ATTEMPTS = 10;

/**
 * Decides about a failure. An outage never parks an order, however long it lasts; neither do refused credentials,
 * which are the site's to mend and say nothing about the order.
 */
export function decideRetry(
  failure: Failure,
  step: { readonly attempts: number; readonly mayHaveLeft: boolean; readonly random: number },
  backoff: Backoff,
): RetryDecision {
  const again: RetryDecision = {
    kind: "again",
    nextInMs: backoffMs(step.attempts, backoff, step.random, failure.retryAfterMs),
  };
  if (failure.code === "SERVICE_CREDENTIALS_REFUSED") return again;
  switch (failure.class) {
    case "transient":
      return again;
    case "permanent":
      return { kind: "park" };
    case "ambiguous":
      if (
        step.mayHaveLeft &&
        (failure.code !== "UNCLASSIFIED" || step.attempts < MOST_UNCLASSIFIED_ATTEMPTS)
      ) {
        return { kind: "settle" };
      }
      return step.attempts < MOST_UNCLASSIFIED_ATTEMPTS ? again : { kind: "park" };
  }
}
