import type pg from "pg";
import { formatTwoAuthorities } from "../core/assigning-authority.ts";
import { decideWish, isCancelling, refuseWish, type Wish, type WishRefusal } from "../core/wish.ts";
import { formatId } from "./ids.ts";
import { findMerges, type SubjectMerges } from "./subject-merges.ts";
import {
  chooseOrders,
  findLastHolds,
  findOrders,
  isNamedByUs,
  numberOf,
  type PlacedWish,
  type WishedOrder,
} from "./wished-orders.ts";

/** A wish with the order that it is about. */
export interface ChosenWish extends PlacedWish {
  /** Undefined where there is none; the first one where nothing tells which is meant. */
  readonly orderId: number | undefined;
  /** Why it is refused for what it says, whatever the state of the order. */
  readonly refusal: WishRefusal | undefined;
}

/** Finds the orders that wishes are about, locked until the transaction ends, and refuses what isn't about one of them. */
export async function chooseForWishes(
  client: pg.PoolClient,
  connector: string,
  wishes: readonly PlacedWish[],
): Promise<ChosenWish[]> {
  const orders = await findOrders(client, connector, wishes);
  const chosen = wishes.map((placed, index) => ({
    placed,
    named: chooseOrders(placed.wish, orders.get(index) ?? []),
  }));
  const merges = await findMerges(
    client,
    chosen.flatMap(({ placed: { wish }, named: [order] }) => otherCode(wish, order) ?? []),
  );
  const releases = chosen.filter(({ placed }) => placed.wish.control === "release");
  const lastHolds = await findLastHolds(
    client,
    releases.flatMap(({ named: [order] }) => order?.id ?? []),
  );
  return chosen.map(({ placed, named }) => ({
    ...placed,
    orderId: named[0]?.id,
    refusal: refusalOf(placed.wish, named, merges) ?? refuseLate(placed, named, lastHolds),
  }));
}

/** The subject code of a wish where it is not that of the order. */
function otherCode({ subjectCode }: Wish, order: WishedOrder | undefined): string | undefined {
  const code = subjectCode?.reveal();
  return order === undefined || code === order.subject_code ? undefined : code;
}

function refusalOf(
  wish: Wish,
  named: readonly WishedOrder[],
  merges: SubjectMerges,
): WishRefusal | undefined {
  const { control, fillerNumber, placerOrderNumber, placerAuthority, content } = wish;
  const [order] = named;
  if (order === undefined) {
    const decision = decideWish(control, undefined, false);
    return decision.kind === "unable" ? decision.refusal : undefined;
  }
  const nothing = isCancelling(control) ? "nothing was cancelled" : "nothing was changed";
  const differs = (text: string) => refuseWish(control, "ORDER_DIFFERS", `${text}; ${nothing}`);
  const authorities = formatTwoAuthorities(order.placer_authority ?? undefined, placerAuthority);
  if (authorities) {
    const [standing, asked] = authorities;
    return differs(`the order of this number is of assigning authority ${standing}, and this names ${asked}`);
  }
  if (named.length > 1 || (order.shares_number && !isNamedByUs(wish, order))) {
    const ids = named.map(({ id }) => formatId("o", id)).join(", ");
    const text = `more than one order has this number (${ids}), and nothing tells which is meant; ${nothing}`;
    return refuseWish(control, "ORDER_AMBIGUOUS", text);
  }
  const code = otherCode(wish, order);
  // What an order asks for stays with its subject, so a change names it as the order does.
  if (code !== undefined && (content !== undefined || !merges.hasMerged(order, code))) {
    return differs("the order of this number is another subject's");
  }
  if (fillerNumber === undefined || placerOrderNumber === undefined) return undefined;
  if (numberOf(order, fillerNumber) === fillerNumber.id) return undefined;
  return differs("the placer and the filler order number name different orders");
}

/** A release may have waited for a code table, as a hold doesn't: then it doesn't undo one that was asked for after it. */
function refuseLate(
  { wish, messageId }: PlacedWish,
  [order]: readonly WishedOrder[],
  lastHolds: ReadonlyMap<number, number>,
): WishRefusal | undefined {
  const heldBy = order && lastHolds.get(order.id);
  if (wish.control !== "release" || heldBy === undefined || heldBy <= messageId) return undefined;
  const text = `message ${formatId("m", heldBy)}, which came later, put the order on hold; nothing was changed`;
  return refuseWish(wish.control, "TOO_LATE", text);
}
