import type { WishView } from "../ledger/cancellations.ts";
import { clean } from "./clean.ts";
import { localTime } from "./times.ts";

const STATES = {
  asked: "asked for, not decided yet",
  under_way: "the service was asked; not decided yet",
  done: "done",
  unable: "not possible",
} as const satisfies Record<WishView["state"], string>;

/** A wish to cancel with stable keys. */
export function wishJson(wish: WishView) {
  return {
    actor: wish.actor,
    reason: wish.reason ?? null,
    state: wish.state,
    attempts: wish.attempts,
    failure: wish.failure ?? null,
    askedAt: wish.askedAt.toISOString(),
    decidedAt: wish.decidedAt?.toISOString() ?? null,
  };
}

/** A wish to cancel in words. */
export function wishLine({ actor, reason, state, attempts, failure, askedAt }: WishView): string {
  const why = reason === undefined ? "" : ` (${reason})`;
  const calls = attempts === 0 ? "" : `; ${attempts} ${attempts === 1 ? "call" : "calls"} to the service`;
  const words = failure === undefined || state === "done" ? "" : `: ${failure.text} (${failure.code})`;
  return clean(`${localTime(askedAt)}  by ${actor}${why}: ${STATES[state]}${words}${calls}`);
}
