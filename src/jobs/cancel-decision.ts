import type { Failure, FailureCode } from "../core/failures.ts";
import type { CancelCallState } from "../ledger/cancellations.ts";
import { type Backoff, backoffMs } from "./backoff.ts";
import { planLook, type Settle } from "./reconcile/reconcile.ts";

/** Calls whose answer never came and whose effect nobody could find are made this often before a person is asked. */
const MOST_CALLS_WITHOUT_EFFECT = 3;

/** What a cancel call that failed means. */
export type AfterCall =
  /** Nothing was done: once more, later. */
  | { readonly kind: "again"; readonly nextInMs: number }
  /** It may have been done, or was refused for good: look how the order stands. */
  | { readonly kind: "look"; readonly call: Exclude<CancelCallState, "due"> };

/**
 * Decides about a cancel call that failed.
 *
 * @param attempt the attempt that just failed, from 1
 */
export function decideAfterCall(
  failure: Failure,
  { attempt, random }: { readonly attempt: number; readonly random: number },
  backoff: Backoff,
): AfterCall {
  // Refused credentials are the site's to fix and say nothing about the order.
  if (failure.class === "transient" || failure.code === "SERVICE_CREDENTIALS_REFUSED") {
    return { kind: "again", nextInMs: backoffMs(attempt, backoff, random, failure.retryAfterMs) };
  }
  return { kind: "look", call: failure.class === "permanent" ? "refused" : "sent" };
}

/** What a look found that did not find the order cancelled. */
export type Found =
  /** The service's word for how the order stands. */
  | { readonly kind: "shown"; readonly status: string }
  /** The service itself says that there is no such request: for how long every look has been answered so, ms. */
  | { readonly kind: "gone"; readonly forMs: number };

/** How a cancellation stands after a look that did not find the order cancelled. */
export interface UncancelledLook {
  readonly call: Exclude<CancelCallState, "due">;
  /** Calls before the last one whose answer never came; not those that the service was too busy to take. */
  readonly unanswered: number;
  /** Looks in a row since the last call that found the same, this one included. */
  readonly looks: number;
  /** How long ago the last call was made, ms. */
  readonly calledAgeMs: number;
  /** Why the last call is not known to have worked; undefined when the service took it. */
  readonly failure: { readonly code: FailureCode; readonly text: string } | undefined;
  readonly found: Found;
}

/** What follows a look that did not find the order cancelled. */
export type AfterLook =
  | { readonly kind: "lookAgain"; readonly nextInMs: number }
  | { readonly kind: "callAgain" }
  /** A call of ours took the request away: it is cancelled as much as one that the service shows so. */
  | { readonly kind: "cancelled" }
  | { readonly kind: "unable"; readonly refusal: { readonly code: FailureCode; readonly text: string } };

/**
 * Decides what follows. A refusal stands once a look has shown that nothing was cancelled all the same. A call whose
 * answer never came is believed to have had no effect only after the settle time, and is then made again: to cancel twice
 * does no more than to cancel once. A call that the service took and that changed nothing is not repeated.
 */
export function decideAfterLook(look: UncancelledLook, settle: Settle): AfterLook {
  const { found } = look;
  if (found.kind === "gone") return decideGone(look, found.forMs, settle);
  const shows = `the service shows ${found.status}`;
  if (look.call === "refused") {
    const text = `the storage service refused to cancel the order, which goes on (${shows})${reason(look)}`;
    return { kind: "unable", refusal: { code: "CANCEL_REFUSED", text } };
  }
  const next = planLook(look.looks, look.calledAgeMs, settle);
  if (next !== "believed") return { kind: "lookAgain", nextInMs: next.nextInMs };
  const lost = look.unanswered + 1;
  if (look.failure !== undefined && lost < MOST_CALLS_WITHOUT_EFFECT) return { kind: "callAgain" };
  const text = `the call to cancel the order had no effect (${shows}); the order goes on`;
  return { kind: "unable", refusal: { code: "CANCEL_WITHOUT_EFFECT", text } };
}

/**
 * A service that deletes what is cancelled has nothing to show of it. Its word that the request is gone is believed at
 * once after a call that it took; after one whose answer never came, also where a later call was refused, only when it
 * has been the answer for the whole settle time. Where every call was refused, nothing of ours took the request away.
 */
function decideGone(look: UncancelledLook, goneForMs: number, settle: Settle): AfterLook {
  if (look.call === "sent" && look.failure === undefined) return { kind: "cancelled" };
  const next = planLook(look.looks, goneForMs, settle);
  if (next !== "believed") return { kind: "lookAgain", nextInMs: next.nextInMs };
  if (look.call === "sent" || look.unanswered > 0) return { kind: "cancelled" };
  const text = `the storage service refused to cancel the order, and shows no such request any more${reason(look)}`;
  return { kind: "unable", refusal: { code: "CANCEL_REFUSED", text } };
}

function reason({ failure }: UncancelledLook): string {
  return failure === undefined ? "" : `: ${failure.text}`;
}
