import type pg from "pg";
import {
  type AssigningAuthority,
  areOfTwoAuthorities,
  formatTwoAuthorities,
  isSubjectNews,
  type Operation,
  type Order,
} from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import { type WithNulls, withoutNulls } from "../database.ts";
import { digestOrder, LOCK_ORDERS } from "../orders/row.ts";
import type { MessageRecord, NumberConflict } from "./record.ts";

/** Whether order `o` waits for a person and no call to create anything for it was ever about to leave. */
const IS_PARKED_UNSENT = `(o.state = 'parked'
        and o.request_id is null
        and o.procedure_id is null
        and not o.shares_number
        and not exists (
          select 1
            from calls k
           where k.order_id = o.id
             and (k.outcome is null or (k.kind = 'request' and (not k.is_presumed or k.outcome = 'made')))))`;

/**
 * The orders that have these numbers, each looked up by itself; and beside one of other content, the orders that were parked for having
 * its number, whatever became of them, and ask for just what is asked for now: a number that a sender gives to everything may
 * have any number of others. $1 connector, $2 numbers, $3 hex digests, null where nothing is asked for.
 * Index: orders_number.
 */
export const FIND_BY_NUMBER = `
select x.number, x.digest as asked, first.*, alike.orders as alike
  from unnest($2::text[], $3::text[]) as x(number, digest)
 cross join lateral (
       select o.id as "orderId", encode(o.content_digest, 'hex') as digest, o.state, o.placer_authority as authority,
              o.operation, o.facility_id as "facilityId", o.subject_code as "subjectCode",
              ${IS_PARKED_UNSENT} as "isParkedUnsent"
         from orders o
        where o.placer_order_number = x.number
          and o.numbered_by = $1
        limit 1) first
  left join lateral (
       select jsonb_agg(jsonb_build_object('orderId', o.id, 'authority', o.placer_authority) order by o.id desc) as orders
         from orders o
        where x.digest is not null
          and o.placer_order_number = x.number
          and o.content_digest = decode(x.digest, 'hex')
          and o.connector = $1
          and o.numbered_by is null) alike on true`;

interface KnownOrder {
  readonly orderId: number;
  readonly digest: string;
  readonly state: OrderState;
  readonly authority: AssigningAuthority | undefined;
  readonly operation: Operation;
  readonly facilityId: number;
  readonly subjectCode: string;
  /** It waits for a person, and no call to create anything for it was ever about to leave. */
  readonly isParkedUnsent: boolean;
}

/** An order that was parked for having the number of another one. */
interface Alike {
  readonly orderId: number;
  readonly authority?: AssigningAuthority | null | undefined;
}

type Numbered = Pick<Order, "placerOrderNumber">;

/** The orders that have the numbers of what some messages bring or ask about, as a batch goes along. */
export class KnownOrders {
  readonly #firstByNumber = new Map<string, KnownOrder>();
  /** By number and content, the latest first. */
  readonly #alike = new Map<string, readonly Alike[]>();

  private constructor() {}

  /**
   * What these messages are compared with. Orders that seem to be corrected stand still until the transaction ends: else a person could
   * have one sent as it was at this moment. Where a later time of locking makes two wait for each other, the messages are tried again.
   */
  static async find(
    client: pg.PoolClient,
    connector: string,
    records: readonly MessageRecord[],
  ): Promise<KnownOrders> {
    const locked = new Set<number>();
    for (;;) {
      const found = await KnownOrders.#read(client, connector, records);
      // Others may have been parked while these were waited for.
      const corrected = found.#correctedBy(records).filter((id) => !locked.has(id));
      if (corrected.length === 0) return found;
      await client.query(LOCK_ORDERS, [corrected]);
      for (const id of corrected) locked.add(id);
    }
  }

  #correctedBy(records: readonly MessageRecord[]): number[] {
    return records.flatMap(({ verdict, orders }) =>
      orders.flatMap((order) => {
        const first = this.first(order);
        return verdict === "accepted" && first && corrects(first, order, digestOrder(order))
          ? [first.orderId]
          : [];
      }),
    );
  }

  static async #read(
    client: pg.PoolClient,
    connector: string,
    records: readonly MessageRecord[],
  ): Promise<KnownOrders> {
    const known = new KnownOrders();
    const asked = new Map<string, readonly [number: string, digest: string | null]>();
    const ask = (number: string | undefined, digest: string | null) => {
      if (number !== undefined) asked.set(contentKey(number, digest ?? ""), [number, digest]);
    };
    for (const { orders, controlRequests = [], echoedNumbers = [], placerOrderNumber } of records) {
      for (const order of orders) ask(order.placerOrderNumber, digestOrder(order));
      for (const request of controlRequests) ask(request.placerOrderNumber, null);
      for (const number of [...echoedNumbers, placerOrderNumber]) ask(number, null);
    }
    if (asked.size === 0) return known;
    type Row = WithNulls<KnownOrder> & { number: string; asked: string | null; alike: Alike[] | null };
    const values = [connector, [...asked.values()].map(([number]) => number)];
    const digests = [...asked.values()].map(([, digest]) => digest);
    const { rows } = await client.query<Row>(FIND_BY_NUMBER, [...values, digests]);
    for (const { number, asked: digest, alike, ...first } of rows) {
      known.#firstByNumber.set(number, withoutNulls(first));
      if (alike !== null) known.#alike.set(contentKey(number, digest ?? ""), alike);
    }
    return known;
  }

  /** The order that had the number first. */
  first({ placerOrderNumber }: Numbered): KnownOrder | undefined {
    return placerOrderNumber === undefined ? undefined : this.#firstByNumber.get(placerOrderNumber);
  }

  /**
   * The latest order that was parked for having this number and says the same, and isn't known to be of another authority. A list that
   * comes again each night with the same contradiction in it repeats that one, and is no new contradiction each time.
   */
  alike({ placerOrderNumber = "", placerAuthority }: Order, digest: string): number | undefined {
    return this.#alike
      .get(contentKey(placerOrderNumber, digest))
      ?.find(({ authority }) => !areOfTwoAuthorities(authority ?? undefined, placerAuthority))?.orderId;
  }

  /** Takes note of an order that is made, or that an order comes to be by a correction. */
  add(order: Order, digest: string, orderId: number): void {
    const { operation, facilityId, subject, placerOrderNumber } = order;
    if (placerOrderNumber === undefined) return;
    const subjectCode = subject.code.reveal();
    const authority = this.first(order)?.authority ?? order.placerAuthority;
    const common = { orderId, digest, authority, operation, facilityId, subjectCode };
    this.#firstByNumber.set(placerOrderNumber, { ...common, state: "received", isParkedUnsent: false });
  }

  /** Takes note of an order that is parked for its number. */
  addAlike({ placerOrderNumber = "", placerAuthority }: Order, digest: string, orderId: number): void {
    const content = contentKey(placerOrderNumber, digest);
    const others = this.#alike.get(content) ?? [];
    this.#alike.set(content, [{ orderId, authority: placerAuthority }, ...others]);
  }
}

function contentKey(number: string, digest: string): string {
  return `${digest} ${number}`;
}

/** What becomes of an order that a message brings. */
export type OrderDecision =
  | { readonly kind: "new" }
  /** It is there; `refusal` where it was parked for the number. */
  | { readonly kind: "repeat"; readonly orderId: number; readonly refusal?: NumberConflict | undefined }
  | { readonly kind: "correction"; readonly first: KnownOrder }
  | { readonly kind: "conflict"; readonly refusal: NumberConflict };

/**
 * Decides what becomes of an order: the first row that fits.
 *
 * | the order that has its number | then |
 * |---|---|
 * | none | new |
 * | of no other authority, says the same | repeat |
 * | any other, and an order that was parked for this says the same | repeat of the parked one, and refused as that one |
 * | is parked, and nothing of it was sent ({@link corrects}) | correction, unless more is said of it |
 * | any other | conflict |
 *
 * @param isAlone no other order of the message corrects that one, and no request of the batch up to here is about it
 */
export function decideOrder(
  order: Order,
  digest: string,
  known: KnownOrders,
  isAlone: boolean,
): OrderDecision {
  const first = known.first(order);
  if (first === undefined) return { kind: "new" };
  const refusal = conflictWith(first, order, digest);
  if (refusal === undefined) return { kind: "repeat", orderId: first.orderId };
  const alike = known.alike(order, digest);
  if (alike !== undefined) return { kind: "repeat", orderId: alike, refusal };
  return isAlone && corrects(first, order, digest)
    ? { kind: "correction", first }
    : { kind: "conflict", refusal };
}

/**
 * Whether an order is what the lab corrects a parked one with, which it sends again under the same number: of the same
 * operation for the same subject, and nothing of the first was sent. The code of a subject is its own within a facility only.
 */
function corrects(first: KnownOrder, order: Order, digest: string): boolean {
  return (
    first.isParkedUnsent &&
    first.digest !== digest &&
    first.operation === order.operation &&
    !isSubjectNews(order.operation) &&
    first.facilityId === order.facilityId &&
    first.subjectCode === order.subject.code.reveal() &&
    !areOfTwoAuthorities(first.authority, order.placerAuthority)
  );
}

/**
 * Why an order is no repeat of the one that has its number; undefined when it is one. A number of another authority is
 * another number, even where all else is the same; but a site may have renamed its system, so it is for a person to say.
 */
function conflictWith(first: KnownOrder, order: Order, digest: string): NumberConflict | undefined {
  const authorities = formatTwoAuthorities(first.authority, order.placerAuthority);
  if (authorities === undefined && first.digest === digest) return undefined;
  return numberConflict(authorities);
}

/** That a number is another order's, in words for the lab. */
export const NUMBER_TAKEN = "another order with this number exists";

/** What is said of an order whose number another one has. @param authorities theirs, where they are known to be two */
export function numberConflict(authorities: readonly [its: string, own: string] | undefined): NumberConflict {
  if (authorities === undefined)
    return { code: "ORDER_NUMBER_REUSED", text: `${NUMBER_TAKEN} and asks for something else` };
  const [its, own] = authorities;
  const text = `${NUMBER_TAKEN}, of assigning authority ${its}, and this one is of ${own}`;
  return { code: "ORDER_NUMBER_OTHER_AUTHORITY", text };
}
