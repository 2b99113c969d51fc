import type { FailureCode } from "../core/failures.ts";
import type { Operation } from "../core/order.ts";
import type { SameContainer } from "../ledger/same-containers.ts";

/** Whether an order would be done although the same was asked for before. */
export type DoubledDecision =
  | { readonly kind: "go" }
  /** An earlier order still moves one of its containers the other way. */
  | { readonly kind: "wait" }
  | { readonly kind: "park"; readonly code: FailureCode; readonly text: string };

/**
 * Decides by the ledger whether an order doubles another one in meaning: the later of two open orders of the same kind
 * for one container, a STORE of what is stored already, a RETRIEVAL of what was retrieved already.
 *
 * Later is who has the higher id, unless the other one was faster: what the service has, or may have, comes first. So
 * of two that came at the same moment exactly one goes on, whichever is looked at first.
 *
 * @param same completed ones in the order in which they ended, then open ones
 */
export function decideDoubled(
  order: { readonly id: number; readonly operation: Operation },
  same: readonly SameContainer[],
): DoubledDecision {
  const { operation } = order;
  const isOpen = ({ state }: SameContainer) => state !== "completed";
  const isFirst = ({ otherId, isAtService }: SameContainer) => otherId < order.id || isAtService;
  const double = same.find((each) => each.operation === operation && isOpen(each) && isFirst(each));
  if (double) {
    const words = `${nameContainer(double)} is in ${double.otherName} of the same kind too, which is ${inWords(double)}`;
    return { kind: "park", code: "ORDER_CONTAINER_IN_OPEN_ORDER", text: words };
  }
  const ended = [
    ...Map.groupBy(
      same.filter((each) => !isOpen(each)),
      ({ position }) => position,
    ).values(),
  ];
  const repeated = ended
    .flatMap((moves) => moves.at(-1) ?? [])
    .filter((last) => last.operation === operation);
  const opposite = same.filter(
    (each) =>
      each.operation !== operation && isOpen(each) && each.state !== "parked" && each.otherId < order.id,
  );
  const isUndone = ({ position }: SameContainer) => opposite.some((each) => each.position === position);
  const last = repeated.find((each) => !isUndone(each));
  if (last) {
    return operation === "STORE"
      ? {
          kind: "park",
          code: "ORDER_CONTAINER_STORED_ALREADY",
          text: `${nameContainer(last)} was stored by ${last.otherName} and has not been retrieved since`,
        }
      : {
          kind: "park",
          code: "ORDER_CONTAINER_RETRIEVED_ALREADY",
          text: `${nameContainer(last)} was retrieved by ${last.otherName} and has not been stored since`,
        };
  }
  return opposite.length > 0 ? { kind: "wait" } : { kind: "go" };
}

/** A container of an order in texts for people. */
export function nameContainer({ position }: Pick<SameContainer, "position">): string {
  return `container ${position}`;
}

/** How another order stands, in texts for people. */
export function inWords({ state }: Pick<SameContainer, "state">): string {
  return state === "parked" ? "parked" : state === "received" ? "waiting" : state.replace("_", " ");
}
