import type pg from "pg";
import {
  type AssigningAuthority,
  areOfTwoAuthorities,
  formatTwoAuthorities,
} from "../../core/assigning-authority.ts";
import { isSubjectNews, type Operation, type Order } from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import { list, prepared, type WithNulls, withoutNulls } from "../database.ts";
import { digestOrder } from "../orders/row.ts";
import type { MessageRecord, NumberConflict } from "./record.ts";

/** Whether order `o` waits for a person and no call to create anything for it was ever about to leave. */
const IS_PARKED_UNSENT = `(o.state = 'parked'
        and o.surface is null
        and o.procedure_id is null
        and not o.shares_number
        and not exists (
          select 1
            from calls k
           where k.order_id = o.id
             and (k.outcome is null or (k.kind = 'request' and not k.is_presumed))))`;

/**
 * The orders that have these numbers of a connector, each looked up by itself; $1 connector, $2 text[] numbers. Index:
 * orders_number.
 */
export const FIND_BY_NUMBER = `
select x.number, o.id as "orderId", encode(o.content_digest, 'hex') as digest, o.state,
       o.placer_authority as authority, o.operation, o.facility_id as "facilityId", o.subject_code as "subjectCode",
       o."isParkedUnsent"
  from unnest($2::text[]) as x(number)
 cross join lateral (
       select o.id, o.content_digest, o.state, o.placer_authority, o.operation, o.facility_id,
              o.subject_code, ${IS_PARKED_UNSENT} as "isParkedUnsent"
         from orders o
        where o.placer_order_number = x.number
          and o.numbered_by = $1
        limit 1) o`;

/** An order that the ledger has by its number. */
export interface KnownOrder {
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

/** The orders of a connector that have the numbers of what these messages bring or ask about, by these. */
export async function findKnownOrders(
  client: pg.PoolClient,
  connector: string,
  records: readonly MessageRecord[],
): Promise<Map<string, KnownOrder>> {
  const numbers = new Set(
    records.flatMap(({ orders, controlRequests = [], echoedNumbers = [], placerOrderNumber }) => [
      ...[...orders, ...controlRequests].map((each) => each.placerOrderNumber),
      ...echoedNumbers,
      placerOrderNumber,
    ]),
  );
  numbers.delete(undefined);
  if (numbers.size === 0) return new Map();
  const { rows } = await prepared<WithNulls<KnownOrder> & { readonly number: string }>(
    client,
    "orders_by_number",
    FIND_BY_NUMBER,
    [connector, [...numbers]],
  );
  return new Map(rows.map(({ number, ...row }) => [number, withoutNulls(row)]));
}

/**
 * Whether an order is what the lab corrects a parked one with, which it sends again under the same number: of the same
 * operation for the same subject, and nothing of the first was sent. The code of a subject is its own within a facility only.
 */
export function corrects(first: KnownOrder, order: Order, digest: string): boolean {
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
 * In ascending order; whoever writes down that something was sent about orders need not wait. $1 bigint[]. Index: the primary
 * key.
 */
const LOCK_ORDERS = "select 1 from orders o where o.id = any ($1) order by o.id for no key update";

/**
 * The orders of {@link findKnownOrders}, of which those that seem to be corrected stand still until the transaction ends: else
 * a person could have one sent as it was at this moment.
 */
export async function findKnownOrdersLocked(
  client: pg.PoolClient,
  connector: string,
  records: readonly MessageRecord[],
  known: Map<string, KnownOrder>,
): Promise<Map<string, KnownOrder>> {
  const corrected = records.flatMap(({ verdict, orders }) =>
    orders.flatMap((order) => {
      const first = known.get(order.placerOrderNumber ?? "");
      return verdict === "accepted" && first && corrects(first, order, digestOrder(order))
        ? [first.orderId]
        : [];
    }),
  );
  if (corrected.length === 0) return known;
  await client.query(LOCK_ORDERS, [corrected]);
  return findKnownOrders(client, connector, records);
}

/**
 * Why an order is no repeat of the one that has its number; undefined when it is one. A number of another authority is
 * another number, even where all else is the same; but a site may have renamed its system, so it is for a person to say.
 */
export function conflictWith(first: KnownOrder, order: Order, digest: string): NumberConflict | undefined {
  const authorities = formatTwoAuthorities(first.authority, order.placerAuthority);
  if (authorities) {
    const [its, own] = authorities;
    const text = `${NUMBER_TAKEN}, of assigning authority ${its}, and this one is of ${own}`;
    return { code: "ORDER_NUMBER_OTHER_AUTHORITY", text };
  }
  if (first.digest === digest) return undefined;
  return { code: "ORDER_NUMBER_REUSED", text: `${NUMBER_TAKEN} and asks for something else` };
}

/** That a number is another order's, in words for the lab. */
export const NUMBER_TAKEN = "another order with this number exists";

/** The orders that say something else than those which have their numbers already. */
export function listContradicting(
  records: readonly MessageRecord[],
  known: ReadonlyMap<string, KnownOrder>,
): { readonly number: string; readonly digest: string }[] {
  if (known.size === 0) return [];
  const orders = records.flatMap((record) => (record.verdict === "accepted" ? record.orders : []));
  return orders.flatMap((order) => {
    const { placerOrderNumber: number } = order;
    const first = number === undefined ? undefined : known.get(number);
    if (first === undefined || number === undefined) return [];
    const digest = digestOrder(order);
    return conflictWith(first, order, digest) ? [{ number, digest }] : [];
  });
}

/**
 * Orders that were parked for having the number of another one, whatever became of them, and say the same as those that
 * come now: a number that a sender gives to everything may have any number of others. $1 connector, $2 and $3 order numbers
 * and digests, both arrays of one value an order. Index: orders_number.
 */
const FIND_CONFLICTS = `
select o.id as "orderId", o.placer_order_number as number, encode(o.content_digest, 'hex') as digest,
       o.placer_authority as authority
  from (select distinct number, digest from unnest($2::text[], $3::text[]) as x(number, digest)) x
  join orders o on o.placer_order_number = x.number
               and o.content_digest = decode(x.digest, 'hex')
               and o.connector = $1
               and o.numbered_by is null
 order by o.id desc`;

interface Conflict {
  readonly orderId: number;
  readonly authority: AssigningAuthority | undefined;
}

/**
 * The orders that share their number with an earlier one of other content. A list that comes again each night with the same
 * contradiction in it repeats them, and is no new contradiction each time.
 */
export class EarlierConflicts {
  /** The latest first. */
  readonly #conflictsByContent = new Map<string, Conflict[]>();

  /** Those that have the number and content of one of these orders; nothing is asked for when there are none. */
  static async find(
    client: pg.PoolClient,
    connector: string,
    contradicting: readonly { readonly number: string; readonly digest: string }[],
  ): Promise<EarlierConflicts> {
    const conflicts = new EarlierConflicts();
    if (contradicting.length === 0) return conflicts;
    const values = [
      connector,
      contradicting.map(({ number }) => number),
      contradicting.map(({ digest }) => digest),
    ];
    type Row = Conflict & { readonly number: string; readonly digest: string };
    for (const { number, digest, ...conflict } of await list<Row>(client, FIND_CONFLICTS, values)) {
      const content = contentKey(number, digest);
      const same = conflicts.#conflictsByContent.get(content);
      if (same === undefined) conflicts.#conflictsByContent.set(content, [conflict]);
      else same.push(conflict);
    }
    return conflicts;
  }

  /** The latest order with this one's number and content that isn't known to be of another authority. */
  get(order: Order, digest: string): Conflict | undefined {
    const same = this.#conflictsByContent.get(contentKey(order.placerOrderNumber ?? "", digest)) ?? [];
    return same.find(({ authority }) => !areOfTwoAuthorities(authority, order.placerAuthority));
  }

  /** Takes note of one that comes now. */
  add(order: Order, digest: string, orderId: number): void {
    const content = contentKey(order.placerOrderNumber ?? "", digest);
    const same = this.#conflictsByContent.get(content) ?? [];
    this.#conflictsByContent.set(content, [{ orderId, authority: order.placerAuthority }, ...same]);
  }
}

function contentKey(number: string, digest: string): string {
  return `${digest} ${number}`;
}
