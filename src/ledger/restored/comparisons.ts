import type pg from "pg";
import { type Phi, phi } from "../../core/phi.ts";
import type { Surface } from "../../core/surface.ts";
import { inTransaction, run } from "../database.ts";
import { formatId } from "../ids.ts";
import { changeOrdersWithin, type OrderChange } from "../orders/change.ts";
import { type LedgerOrder, listOrderRows, ORDER_COLUMNS } from "../orders/row.ts";

/** Open orders whose comparison with the service is due; $1 how many. Index: orders_compare. */
const DUE = `
select ${ORDER_COLUMNS}
  from orders o
 where o.compare_at <= now()
 order by o.compare_at, o.id
 limit $1`;

/** $1 order id, $2 ms. Index: the primary key. */
const POSTPONE = `
update orders
   set compare_at = now() + $2 * interval '1 millisecond'
 where id = $1
   and compare_at is not null`;

/** $1 how a comparison ended. */
const COUNT_END = `
update ledger
   set restored_adopted = restored_adopted + ($1::text = 'adopt')::integer,
       restored_parked = restored_parked + ($1 = 'park')::integer,
       restored_free = restored_free + ($1 = 'free')::integer`;

/** $1 marks. Indexes: orders_mark, orders_former_marks. */
const KNOWN_MARKS = `
select o.id, o.mark, o.former_marks
  from orders o
 where o.mark = any ($1)
 union all
select o.id, o.mark, o.former_marks
  from orders o
 where o.former_marks <> '{}'
   and o.former_marks && $1::text[]`;

/** $1 facility id, $2 surface, $3 subject code. Index: orders_subject. */
const LINKED = `
select case when surface = 'external' then procedure_id else request_id end as linked, former_ids
  from orders
 where subject_code = $3
   and facility_id = $1
   and surface = $2`;

/** When the ledger's newest calls left; the latest orders are called last, or nearly so. Index: the primary key. */
const LAST_CALL = `
select coalesce((select max(o.called_at)
                   from (select called_at from orders order by id desc limit 10000) o),
                l.created_at) as at
  from ledger l`;

/**
 * Marks at the service that no call which the ledger knows of has brought there: of this ledger and no order's, or of an order
 * for which it knows neither a call nor a request; $1 JSON array of {id, mark, made_at}. What was there when a restore was
 * noticed proves no other one. Indexes: orders_mark, orders_former_marks.
 */
const MARKS_WITHOUT_CALL = `
select x.id as made, x.mark
  from jsonb_to_recordset($1::jsonb) as x(id bigint, mark text, made_at timestamptz)
 cross join ledger l
  left join orders o on o.mark = x.mark
 where case
         when o.id is null
         then x.mark like l.mark_prefix || '-%'
              and not exists (
                select 1
                  from orders f
                 where f.former_marks <> '{}'
                   and f.former_marks @> array[x.mark])
         else o.called_at is null
              and o.request_id is null
              and o.procedure_id is null
              and coalesce(l.restored_at < x.made_at, l.restored_at is null)
       end
 limit 1`;

/**
 * Orders for which the ledger knows no call, though the service made something for their subject since they came, and no
 * other order's call could have made it; $1 facility id, $2 JSON array of {id, subject, operation, made_at}. What was there when
 * a restore was noticed proves no other one. Indexes: orders_lane, orders_subject.
 */
const ORDERS_WITHOUT_CALL = `
select x.id as made, o.id as order_id, o.subject_code
  from jsonb_to_recordset($2::jsonb) as x(id bigint, subject text, operation text, made_at timestamptz)
 cross join ledger l
  join orders o on o.lane = $1::text || '/' || x.subject
 where o.state in ('received', 'queued', 'submitting')
   and o.operation = x.operation
   and o.called_at is null
   and o.request_id is null
   and o.procedure_id is null
   and greatest(o.received_at, l.restored_at) < x.made_at
   and not exists (
     select 1
       from orders e
      where e.subject_code = o.subject_code
        and e.facility_id = o.facility_id
        and e.operation = o.operation
        and e.called_at is not null
        and e.request_id is null
        and e.procedure_id is null)
 order by x.id, o.id`;

/** Orders that are to be compared with the service now, after the ledger was restored. */
export function findDueComparisons(pool: pg.Pool, limit: number): Promise<LedgerOrder[]> {
  return listOrderRows(pool, DUE, [limit]);
}

/** Puts a comparison off. */
export async function postponeComparison(pool: pg.Pool, orderId: number, ms: number): Promise<void> {
  await run(pool, POSTPONE, [orderId, ms]);
}

/**
 * Records what became of an order by its comparison with the service, and counts that.
 *
 * @returns false when the order has moved on meanwhile, and nothing was recorded
 * @throws Failure REQUEST_CLAIMED as {@link changeOrdersWithin} does
 */
export function recordComparison(
  pool: pg.Pool,
  change: Omit<OrderChange, "isCompared">,
  end: "adopt" | "park" | "free",
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const changed = await changeOrdersWithin(client, [{ ...change, isCompared: true }]);
    if (changed.size > 0) await client.query(COUNT_END, [end]);
    return changed.size > 0;
  });
}

/** Those of the marks that an order of the ledger has or had, with the order. */
export async function findKnownMarks(
  pool: pg.Pool,
  marks: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (marks.length === 0) return new Map();
  const rows = await run<{ id: number; mark: string; former_marks: string[] }>(pool, KNOWN_MARKS, [marks]);
  return new Map(rows.flatMap(({ id, mark, former_marks }) => [mark, ...former_marks].map((m) => [m, id])));
}

/** The requests, or procedures of the external surface, that the orders of a subject have or had. */
export async function findLinkedOf(
  pool: pg.Pool,
  order: { readonly facilityId: number; readonly subject: Pick<LedgerOrder["subject"], "code"> },
  surface: Surface,
): Promise<ReadonlySet<number>> {
  const values = [order.facilityId, surface, order.subject.code.reveal()];
  const rows = await run<{ linked: number | null; former_ids: number[] }>(pool, LINKED, values);
  return new Set(
    rows.flatMap(({ linked, former_ids }) => [...(linked === null ? [] : [linked]), ...former_ids]),
  );
}

/** When the ledger's newest call left. */
export async function findLastCall(pool: pg.Pool): Promise<Date> {
  const [row] = await run<{ at: Date }>(pool, LAST_CALL);
  if (!row) throw new RangeError("the ledger has no identity; its migrations did not run");
  return row.at;
}

/** Something at the service. */
export interface MadeThere {
  readonly id: number;
  readonly subjectCode: Phi | undefined;
  readonly type: "STORE" | "RETRIEVAL" | undefined;
  readonly madeAt: Date | undefined;
  readonly marks: readonly string[];
}

/** What the service has by a call that the ledger doesn't know of, and how that is seen, for people. */
export interface WithoutCall {
  readonly id: number;
  readonly why: string;
}

/**
 * What of the service's newest was made by a call that the ledger must have forgotten. A mark proves it. What carries none, as
 * every retrieval, is known by its subject and time.
 */
export async function findWithoutCall(
  pool: pg.Pool,
  where: { readonly facilityId: number; readonly surface: Surface; readonly hasMarks: boolean },
  newest: readonly MadeThere[],
): Promise<WithoutCall | undefined> {
  const { facilityId, surface, hasMarks } = where;
  const marked = newest.flatMap(({ id, marks, madeAt }) =>
    marks.map((mark) => ({ id, mark, made_at: madeAt })),
  );
  const [byMark] = await run<{ made: number; mark: string }>(pool, MARKS_WITHOUT_CALL, [
    JSON.stringify(marked),
  ]);
  if (byMark) return { id: byMark.made, why: `with the mark [ref ${byMark.mark}]` };
  const unmarked = newest.flatMap(({ id, subjectCode, type, madeAt }) =>
    subjectCode === undefined || madeAt === undefined || (type === "STORE" && hasMarks)
      ? []
      : [{ id, subject: subjectCode.reveal(), operation: type, made_at: madeAt }],
  );
  const rows = await run<{ made: number; order_id: number; subject_code: string }>(
    pool,
    ORDERS_WITHOUT_CALL,
    [facilityId, JSON.stringify(unmarked)],
  );
  for (const { made, order_id, subject_code } of rows) {
    const linked = await findLinkedOf(pool, { facilityId, subject: { code: phi(subject_code) } }, surface);
    if (linked.has(made)) continue;
    return { id: made, why: `made for the subject of ${formatId("o", order_id)} since that order came` };
  }
  return undefined;
}
