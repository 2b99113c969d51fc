import type pg from "pg";
import { type AssigningAuthority, areOfTwoAuthorities } from "../core/assigning-authority.ts";
import { isTerminal, type OrderState } from "../core/order-state.ts";
import type { Wish } from "../core/wish.ts";

/**
 * The orders that wishes name: by the sender's number, else by the number that we gave them; only those that came
 * through the same connector, with the same message or before. A sender's number may be that of several orders, first one
 * first. Procedures are numbered by each surface in its own way, and the number that we gave is one of the external surface.
 * $1 connector, $2 JSON array of {n, number, kind, service_id, message_id}.
 * Indexes: orders_placer, orders_request, orders_procedure.
 */
const FIND_WISHED = `
select x.n, o.id
  from jsonb_to_recordset($2::jsonb) as x(n integer, number text, kind text, service_id bigint, message_id bigint)
  join lateral (
       select o.id
         from orders o
        where o.placer_order_number = x.number
          and o.connector = $1
          and o.message_id <= x.message_id
        union all
       select o.id
         from orders o
        where x.number is null
          and x.kind = 'request'
          and o.surface = 'request'
          and o.request_id = x.service_id
          and o.connector = $1
          and o.message_id <= x.message_id
        union all
       (select o.id
          from orders o
         where x.number is null
           and x.kind = 'procedure'
           and o.procedure_id = x.service_id
           and o.connector = $1
           and o.message_id <= x.message_id
         order by o.surface is distinct from 'external'
         limit 1)) o on true
 order by x.n, o.id`;

/**
 * In ascending order, so that two who lock the same orders wait for each other and no more. `no key`, for whoever writes
 * that orders were told only refers to them, in the order of what was told: he need not wait, or the two could wait for
 * each other. $1 bigint[].
 */
const LOCK_ORDERS = `
select o.id, o.state, o.failure_code, o.facility_id, o.subject_code, o.request_id, o.procedure_id, o.placer_authority
  from orders o
 where o.id = any ($1)
 order by o.id
   for no key update`;

/** A wish with its place in the ledger. */
export interface PlacedWish {
  readonly wish: Wish;
  readonly messageId: number;
  readonly position: number;
}

/** What of an order tells whether a wish is about it. */
export interface WishedOrder {
  readonly id: number;
  readonly state: OrderState;
  readonly failure_code: string | null;
  readonly facility_id: number;
  readonly subject_code: string;
  readonly request_id: number | null;
  readonly procedure_id: number | null;
  readonly placer_authority: AssigningAuthority | null;
}

/** The orders that wishes may be about, by the wish's index, locked until the transaction ends. */
export async function findOrders(
  client: pg.PoolClient,
  connector: string,
  wishes: readonly PlacedWish[],
): Promise<Map<number, WishedOrder[]>> {
  const named = wishes.map(({ wish, messageId }, n) => ({
    n,
    message_id: messageId,
    number: wish.placerOrderNumber,
    kind: wish.fillerNumber?.kind,
    service_id: wish.fillerNumber?.id,
  }));
  const found = await client.query<{ n: number; id: number }>(FIND_WISHED, [
    connector,
    JSON.stringify(named),
  ]);
  const locked = await client.query<WishedOrder>(LOCK_ORDERS, [found.rows.map((row) => row.id)]);
  const byId = new Map(locked.rows.map((row) => [row.id, row]));
  const byWish = new Map<number, WishedOrder[]>();
  for (const { n, id } of found.rows) {
    const order = byId.get(id);
    if (order) byWish.set(n, [...(byWish.get(n) ?? []), order]);
  }
  return byWish;
}

/**
 * Which of the orders of a number are meant: those that the wish's other particulars fit, and of these the open ones. Only
 * the first of them has the number for itself; a later one with other content was sent under it all the same. Where
 * nothing of the wish tells between subjects, or between authorities that assigned the number, an order is not taken for
 * the one that is meant because another has ended. Who assigned the number comes before all that: orders of which that is
 * known go before other subjects' that don't tell it.
 *
 * @returns more than one where nothing tells them apart, or nobody has yet; the first of those that have ended where none is
 * open; orders of another authority alone where there are no others
 */
export function chooseOrders(wish: Wish, orders: readonly WishedOrder[]): readonly WishedOrder[] {
  const { fillerNumber, subjectCode } = wish;
  const own = ofAuthority(wish, orders);
  const numbered = own.filter((order) => fillerNumber && numberOf(order, fillerNumber) === fillerNumber.id);
  const fitting = numbered.length > 0 ? numbered : own;
  const theirs = fitting.filter((order) => subjectCode?.reveal() === order.subject_code);
  const meant = theirs.length > 0 ? theirs : fitting;
  const open = meant.filter(({ state }) => !isTerminal(state));
  // The open ones first: a person's task is about the first that is named.
  const isUntold =
    new Set(meant.map((order) => order.subject_code)).size > 1 || areNumberedByTwo(wish, meant);
  if (isUntold) return [...new Set([...open, ...meant])];
  const chosen = open.length > 0 ? open : meant.slice(0, 1);
  return wish.control === "status" ? chosen : [...chosen, ...findTwins(chosen, orders)];
}

/**
 * The open orders that those which wait for their number's sake may be the same as: a system that was renamed sends its orders
 * anew, and means the first when it cancels one. Nobody knows before a person has said so.
 */
function findTwins(chosen: readonly WishedOrder[], orders: readonly WishedOrder[]): WishedOrder[] {
  const waiting = chosen.filter(
    ({ state, failure_code }) => state === "parked" && failure_code === "ORDER_NUMBER_OTHER_AUTHORITY",
  );
  return orders.filter(
    (order) =>
      !chosen.includes(order) &&
      !isTerminal(order.state) &&
      waiting.some(
        (each) =>
          each.subject_code === order.subject_code && isOfAnother(order, each.placer_authority ?? undefined),
      ),
  );
}

/**
 * Those whose number is of the wish's authority, else those that don't tell, else all. One that doesn't tell may be of that
 * authority, too, as one is that came before this was kept: where it is of the same subject, it may well be the one that is
 * meant, and the lab must not hear that it was cancelled while it goes on.
 */
function ofAuthority({ placerAuthority }: Wish, orders: readonly WishedOrder[]): readonly WishedOrder[] {
  if (placerAuthority === undefined) return orders;
  const mayBe = orders.filter((order) => !isOfAnother(order, placerAuthority));
  const known = mayBe.filter((order) => order.placer_authority !== null);
  if (known.length === 0) return mayBe.length > 0 ? mayBe : orders;
  const subjects = new Set(known.map((order) => order.subject_code));
  return mayBe.filter((order) => order.placer_authority !== null || subjects.has(order.subject_code));
}

/** Whether a wish that doesn't tell who assigned the number may mean one of two; what a person discarded is none of them. */
function areNumberedByTwo({ placerAuthority }: Wish, orders: readonly WishedOrder[]): boolean {
  if (placerAuthority !== undefined) return false;
  const kept = orders.filter(({ state }) => state !== "discarded");
  const known = kept.find((order) => order.placer_authority !== null)?.placer_authority ?? undefined;
  return kept.some((order) => isOfAnother(order, known));
}

/** Whether the number is known to be of another authority than this one. */
function isOfAnother({ placer_authority }: WishedOrder, authority: AssigningAuthority | undefined): boolean {
  return areOfTwoAuthorities(placer_authority ?? undefined, authority);
}

/** The last message that put an order on hold; $1 bigint[] order ids. Index: wishes_order. */
const LAST_HOLDS = `
select w.order_id, max(w.message_id) as message_id
  from wishes w
 where w.order_id = any ($1)
   and w.control = 'hold'
   and w.state <> 'unable'
   and w.message_id is not null
 group by w.order_id`;

/** The last message that put each of these orders on hold, by order id. */
export async function findLastHolds(
  client: pg.PoolClient,
  orderIds: readonly number[],
): Promise<Map<number, number>> {
  if (orderIds.length === 0) return new Map();
  const { rows } = await client.query<{ order_id: number; message_id: number }>(LAST_HOLDS, [orderIds]);
  return new Map(rows.map((row) => [row.order_id, row.message_id]));
}

/** The number of a kind that we gave the order. */
export function numberOf(order: WishedOrder, { kind }: NonNullable<Wish["fillerNumber"]>): number | null {
  return kind === "request" ? order.request_id : order.procedure_id;
}
