import type pg from "pg";
import { type AssigningAuthority, areOfTwoAuthorities } from "../core/assigning-authority.ts";
import type { Order } from "../core/order.ts";

/**
 * Orders that were parked for having the number of another one, whatever became of them, and say the same as those that
 * come now: a number that a sender gives to everything may have any number of others. $1 connector, $2 and $3 order numbers
 * and digests, both arrays of one value an order. Index: orders (placer_order_number).
 */
const FIND_CONFLICTS = `
select o.id, o.placer_order_number, o.content_digest, o.placer_authority
  from (select distinct number, digest from unnest($2::text[], $3::text[]) as x(number, digest)) x
  join orders o on o.placer_order_number = x.number
               and o.content_digest = decode(x.digest, 'hex')
               and o.connector = $1
               and o.business_key is null
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
    const { rows } = await client.query<{
      id: number;
      placer_order_number: string;
      content_digest: Buffer;
      placer_authority: AssigningAuthority | null;
    }>(FIND_CONFLICTS, [
      connector,
      contradicting.map(({ number }) => number),
      contradicting.map(({ digest }) => digest),
    ]);
    for (const row of rows) {
      const content = contentKey(row.placer_order_number, row.content_digest.toString("hex"));
      const authority = row.placer_authority ?? undefined;
      const same = conflicts.#conflictsByContent.get(content);
      if (same === undefined) conflicts.#conflictsByContent.set(content, [{ orderId: row.id, authority }]);
      else same.push({ orderId: row.id, authority });
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
