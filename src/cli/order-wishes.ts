import { DONE } from "../core/wish.ts";
import type { WishView } from "../ledger/cancellations.ts";
import { clean } from "./clean.ts";
import { localTime } from "./times.ts";

const STATES = {
  asked: "asked for, not decided yet",
  under_way: "the service was asked; not decided yet",
  done: "done",
  unable: "not possible",
} as const satisfies Record<WishView["state"], string>;

const WANTED = { ...DONE, status: "told how it stands" } as const;

/** A wish about an order with stable keys. */
export function wishJson(wish: WishView) {
  return {
    control: wish.control,
    actor: wish.actor,
    reason: wish.reason ?? null,
    state: wish.state,
    attempts: wish.attempts,
    failure: wish.failure ?? null,
    askedAt: wish.askedAt.toISOString(),
    decidedAt: wish.decidedAt?.toISOString() ?? null,
  };
}

/** A wish about an order in words. */
export function wishLine({ control, actor, reason, state, attempts, failure, askedAt }: WishView): string {
  const why = reason === undefined ? "" : ` (${reason})`;
  const calls = attempts === 0 ? "" : `; ${attempts} ${attempts === 1 ? "call" : "calls"} to the service`;
  const words = failure === undefined || state === "done" ? "" : `: ${failure.text} (${failure.code})`;
  return clean(
    `${localTime(askedAt)}  ${WANTED[control]} by ${actor}${why}: ${STATES[state]}${words}${calls}`,
  );
}
