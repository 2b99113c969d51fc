import type pg from "pg";
import { type AssigningAuthority, areOfTwoAuthorities } from "../core/assigning-authority.ts";
import type { OrderState } from "../core/order-state.ts";
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
select o.id, o.state, o.shares_number, o.facility_id, o.subject_code, o.request_id, o.procedure_id, o.placer_authority
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
  /** Another order had its number first. */
  readonly shares_number: boolean;
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
 * Which of the orders of a number are meant: the one that our own number names, else the one that had the number first. A
 * later one is never meant by that number, since its message was refused or its results carry our number alone.
 *
 * @returns more than one where nothing tells which is meant: then none of them is touched
 */
export function chooseOrders(wish: Wish, orders: readonly WishedOrder[]): readonly WishedOrder[] {
  const { fillerNumber } = wish;
  const named = orders.filter((order) => isNamedByUs(wish, order));
  if (fillerNumber !== undefined && named.length > 0) return named;
  const [first] = orders.filter((order) => !order.shares_number);
  if (first === undefined) return orders;
  const others = orders.filter((order) => order.shares_number && order.state !== "discarded");
  return others.some((other) => mayMean(wish, first, other)) ? [first, ...others] : [first];
}

/** Whether the message names the order by the number that we gave it. */
export function isNamedByUs({ fillerNumber }: Wish, order: WishedOrder): boolean {
  return fillerNumber !== undefined && numberOf(order, fillerNumber) === fillerNumber.id;
}

/**
 * Whether a wish may as well mean a second order of the number: one of another subject where the message names none, or of
 * the authority that the message names, or of another one where it names none.
 */
function mayMean({ subjectCode, placerAuthority }: Wish, first: WishedOrder, other: WishedOrder): boolean {
  if (subjectCode === undefined && first.subject_code !== other.subject_code) return true;
  if (subjectCode !== undefined && subjectCode.reveal() !== other.subject_code) return false;
  if (placerAuthority === undefined) return isOfAnother(other, first.placer_authority ?? undefined);
  const isTold = other.placer_authority !== null && !isOfAnother(other, placerAuthority);
  return isTold && first.placer_authority === null;
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
