import type pg from "pg";
import { type AssigningAuthority, formatTwoAuthorities } from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import { list, run } from "../database.ts";
import { nameOrder } from "../ids.ts";
import { MAY_BE_AT_SERVICE } from "./calls.ts";
import { MAY_BE_FORGOTTEN } from "./forgotten-calls.ts";

/** A container of an order, and another order of the same facility and subject that names it too. */
export interface SameContainer {
  /** The container's position in the order that is asked about. */
  readonly position: number;
  readonly label: string;
  readonly otherId: number;
  /** Such as `order P-1001`. */
  readonly otherName: string;
  /** It has the number of the order that is asked about, whatever connector it came through. */
  readonly hasSameNumber: boolean;
  readonly operation: "STORE" | "RETRIEVAL";
  readonly state: OrderState;
  /** The service has it, or may have it. */
  readonly isAtService: boolean;
  /** What the other order calls it at the service. */
  readonly containerId: number | undefined;
}

/**
 * What a person can decide to go past: another order has its number, moves its containers, or has one of its labels under
 * another subject; or a request that a restored ledger has forgotten may be its own.
 */
export type Override = "number" | "containers" | "label" | "restored";

/** An order that had another one's number first. */
interface NumberHolder {
  /** The authorities that assigned the number to it and to the other one, where they are known to be two. */
  readonly authorities: readonly [its: string, own: string] | undefined;
}

/** What of the ledger decides whether an order would be done twice. */
export interface Matches {
  /** Whether the service confirmed a registration of the order's subject so recently that it may not list it yet. */
  readonly isSubjectJustRegistered: boolean;
  /** Whether a restored ledger may have forgotten a call for what the order asks for. */
  readonly mayBeForgotten: boolean;
  /** What a person decided to go past. */
  readonly overrides: ReadonlySet<Override>;
  /** An order that has, or may come to, its effect and had the order number first, with other content or of another authority. */
  readonly numberHolder: NumberHolder | undefined;
  /** Those whose orders ended without effect, or were refused for their number, are left out; completed ones in the order in which they ended, then open ones. */
  readonly sameContainers: readonly SameContainer[];
}

/**
 * $1 order ids, $2 ms within which a registration counts as recent.
 * Indexes: the primary keys, orders_number, order_containers_lane, orders_subject.
 */
export const FIND_MATCHES = `
select o.id,
       o.overrides,
       ${MAY_BE_FORGOTTEN} as "mayBeForgotten",
       holder.id as "holderId",
       holder.placer_authority as "holderAuthority",
       o.placer_order_number as number,
       o.placer_authority as authority,
       (select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                 'position', mine.position, 'label', mine.label, 'otherId', e.id, 'number', e.placer_order_number,
                 'operation', e.operation, 'state', e.state, 'containerId', c.container_id,
                 'isAtService', ${MAY_BE_AT_SERVICE}))
               order by e.state <> 'completed', case when e.state = 'completed' then e.changed_at end, e.id), '[]')
          from order_containers mine
          join order_containers c on c.lane = mine.lane and c.label = mine.label and c.order_id <> mine.order_id
          join orders e on e.id = c.order_id
         where mine.order_id = o.id
           and e.state not in ('rejected', 'cancelled', 'failed', 'discarded')
           -- Refused to the lab, which may send it again under a number of its own.
           and not (e.state = 'parked' and e.shares_number
                    and not exists (select 1 from calls k where k.order_id = e.id and k.kind = 'request'))) as same,
       exists (
         select 1
           from orders r
           join order_events e on e.order_id = r.id
          where r.subject_code = o.subject_code
            and r.facility_id = o.facility_id
            and e.kind = 'subject_registered'
            and e.at > now() - $2 * interval '1 millisecond') as "isSubjectJustRegistered"
  from orders o
  left join lateral (
       select h.id, h.placer_authority
         from orders h
        where o.numbered_by is null
          and h.placer_order_number = o.placer_order_number
          and h.numbered_by = o.connector
          and h.id <> o.id
          and h.state not in ('rejected', 'cancelled', 'failed', 'discarded')) holder on true
 where o.id = any ($1)`;

/** A subject that was registered this recently may be missing from the service's list. */
const REGISTERED_WITHIN_MS = 900_000;

interface MatchesRow extends Pick<Matches, "isSubjectJustRegistered" | "mayBeForgotten"> {
  readonly id: number;
  readonly overrides: readonly Override[];
  readonly holderId: number | undefined;
  readonly holderAuthority: AssigningAuthority | undefined;
  readonly number: string | undefined;
  readonly authority: AssigningAuthority | undefined;
  readonly same: readonly (Omit<SameContainer, "otherName" | "hasSameNumber"> & {
    readonly number?: string;
  })[];
}

/** Other orders that ask for the same as these, whatever connector they came through; by order id. */
export async function findMatches(
  pool: pg.Pool,
  orderIds: readonly number[],
): Promise<ReadonlyMap<number, Matches>> {
  const rows = await list<MatchesRow>(pool, FIND_MATCHES, [orderIds, REGISTERED_WITHIN_MS]);
  return new Map(rows.map((row) => [row.id, toMatches(row)]));
}

function toMatches(row: MatchesRow): Matches {
  const {
    isSubjectJustRegistered,
    mayBeForgotten,
    overrides,
    holderId,
    holderAuthority,
    number,
    authority,
    same,
  } = row;
  return {
    isSubjectJustRegistered,
    mayBeForgotten,
    overrides: new Set(overrides),
    numberHolder:
      holderId === undefined ? undefined : { authorities: formatTwoAuthorities(holderAuthority, authority) },
    sameContainers: same.map(({ number: otherNumber, ...other }) => ({
      ...other,
      otherName: nameOrder(otherNumber),
      hasSameNumber: otherNumber !== undefined && otherNumber === number,
    })),
  };
}

/** $1 order id, $2 fence. Index: the primary key. */
const SHARE_NUMBER = `
update orders
   set shares_number = true
 where id = $1
   and fence = $2
   and state = 'submitting'`;

/**
 * Notes that the order is the second one of its number, as one that was sent through two connectors is; not where the lab took it back from
 * the worker since: it may ask for something else now.
 */
export async function recordSharedNumber(
  pool: pg.Pool,
  { id, fence }: { readonly id: number; readonly fence: number | undefined },
): Promise<void> {
  await run(pool, SHARE_NUMBER, [id, fence ?? null]);
}

/** A container that was stored this recently may be missing from the service's list for a while. */
export const LIST_LAG_MS = 900_000;

/**
 * Whether an earlier STORE of the same lane names one of the labels and is still open, or has been completed for less
 * than $3 ms; $1 order id, $2 labels. Indexes: order_containers_label, orders_lane.
 */
const EARLIER_STORE = `
select exists (
  select 1
    from order_containers c
    join orders e on e.id = c.order_id
    join orders o on o.id = $1 and o.facility_id = e.facility_id and o.subject_code = e.subject_code and e.id < o.id
   where c.label = any ($2)
     and e.operation = 'STORE'
     and (e.state in ('received', 'submitting', 'submitted', 'accepted', 'in_progress')
          or (e.state = 'completed' and e.changed_at > now() - $3 * interval '1 millisecond'))) as is_there`;

/**
 * Whether an earlier order of the same lane is still storing one of these labels, or has ended doing so less than
 * `endedWithinMs` ago.
 */
export async function isEarlierStoreThere(
  pool: pg.Pool,
  orderId: number,
  labels: readonly string[],
  endedWithinMs: number,
): Promise<boolean> {
  const [row] = await run<{ is_there: boolean }>(pool, EARLIER_STORE, [orderId, labels, endedWithinMs]);
  return row?.is_there === true;
}

/** What an order whose turn has come is put off for. */
export interface Mover {
  /** Such as `o12`. */
  readonly orderId: string;
  readonly operation: "STORE" | "RETRIEVAL";
  /** Completed: the service may not list yet what was stored. */
  readonly state: OrderState;
  readonly label: string;
  readonly changedAt: Date;
}

/**
 * For each of some orders an earlier order of its lane that moves one of its containers the other way, or else one that has stored it less
 * than $2 ms ago; $1 bigint[] order ids. Indexes: order_containers_lane, the primary keys.
 */
export const MOVERS = `
select o.id as waiting, m.*
  from orders o
 cross join lateral (
       select 'o' || e.id as "orderId", e.operation, e.state, c.label, e.changed_at as "changedAt"
         from order_containers mine
         join order_containers c on c.lane = mine.lane and c.label = mine.label and c.order_id < mine.order_id
         join orders e on e.id = c.order_id
        where mine.order_id = o.id
          and e.operation <> o.operation
          and (e.state in ('received', 'submitting', 'submitted', 'accepted', 'in_progress')
               or (e.operation = 'STORE'
                   and e.state = 'completed'
                   and e.changed_at > now() - $2 * interval '1 millisecond'))
        order by e.state = 'completed', e.id
        limit 1) m
 where o.id = any ($1)`;

/** What orders that were put off wait for now, by the order that waits; one whose mover has ended is not there. */
export async function findMovers(
  pool: pg.Pool,
  orderIds: readonly number[],
): Promise<ReadonlyMap<number, Mover>> {
  if (orderIds.length === 0) return new Map();
  const rows = await list<Mover & { readonly waiting: number }>(pool, MOVERS, [orderIds, LIST_LAG_MS]);
  return new Map(rows.map(({ waiting, ...mover }) => [waiting, mover]));
}
