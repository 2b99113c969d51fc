import type { Made } from "../service/made.ts";

/** An order whose request a restored ledger may have forgotten. */
export interface Forgetful {
  readonly id: number;
  readonly operation: "STORE" | "RETRIEVAL";
  readonly mark: string;
  readonly labels: readonly string[];
  /** Of a retrieval, as far as they are known; undefined where one of them isn't. */
  readonly containerIds: readonly number[] | undefined;
  /** It was in the copy that the ledger was restored from; else it came since, and can have no request by itself. */
  readonly wasInCopy: boolean;
  /** Whether descriptions carry marks at this site. */
  readonly hasMarks: boolean;
}

export type ForgottenDecision =
  | { readonly kind: "adopt"; readonly id: number }
  | { readonly kind: "park"; readonly ids: readonly number[]; readonly isMarked: boolean }
  /** The service has nothing that could be the order's. */
  | { readonly kind: "free" };

/**
 * Decides whose a request may be that no order of a restored ledger has. Certain is a storage by the order's mark with
 * exactly its labels. For an order that was in the copy so is a retrieval of exactly its containers, and where no marks are
 * used a storage of exactly its labels. What shares a label or a
 * container with the order, or doesn't show its own, may be the order's; what carries the mark of another order is that one's.
 *
 * @param ownerByMark the orders of the ledger by the marks that they have or had
 */
export function decideForgotten(
  order: Forgetful,
  made: readonly Made[],
  ownerByMark: ReadonlyMap<string, number>,
): ForgottenDecision {
  const likes = made.map((each) => ({
    id: each.id,
    isMarked: each.marks.includes(order.mark),
    like: order.operation === "STORE" ? likeStore(order, each, ownerByMark) : likeRetrieval(order, each),
  }));
  const certain = likes.filter(({ like }) => like === "certain");
  const possible = likes.filter(({ like }) => like !== "none");
  const [only] = certain;
  if (only && possible.length === 1) return { kind: "adopt", id: only.id };
  if (possible.length === 0) return { kind: "free" };
  return {
    kind: "park",
    ids: possible.map(({ id }) => id),
    isMarked: possible.some(({ isMarked }) => isMarked),
  };
}

type Like = "certain" | "possible" | "none";

function likeStore(order: Forgetful, made: Made, ownerByMark: ReadonlyMap<string, number>): Like {
  const { labels, marks } = made;
  if (marks.includes(order.mark)) return labels && isSameSet(labels, order.labels) ? "certain" : "possible";
  if (marks.some((mark) => (ownerByMark.get(mark) ?? order.id) !== order.id)) return "none";
  if (labels === undefined) return "possible";
  if (!order.hasMarks && order.wasInCopy && isSameSet(labels, order.labels)) return "certain";
  return labels.some((label) => order.labels.includes(label)) ? "possible" : "none";
}

function likeRetrieval(order: Forgetful, { containerIds }: Made): Like {
  const wanted = order.containerIds;
  if (containerIds === undefined || wanted === undefined) return "possible";
  if (!containerIds.some((id) => wanted.includes(id))) return "none";
  return order.wasInCopy && isSameSet(containerIds, wanted) ? "certain" : "possible";
}

function isSameSet<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((each) => b.includes(each));
}
