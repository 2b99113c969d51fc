import type pg from "pg";
import type { Surface } from "../../core/surface.ts";
import { run } from "../database.ts";
import { fromOrderRow, type LedgerOrder, ORDER_COLUMNS, type OrderRow } from "../order-row.ts";

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
                l.created_at) as at,
       l.mark_prefix
  from ledger l`;

/** Orders that are to be compared with the service now, after the ledger was restored. */
export async function findDueComparisons(pool: pg.Pool, limit: number): Promise<LedgerOrder[]> {
  return (await run<OrderRow>(pool, DUE, [limit])).map(fromOrderRow);
}

/** Puts a comparison off. */
export async function postponeComparison(pool: pg.Pool, orderId: number, ms: number): Promise<void> {
  await run(pool, POSTPONE, [orderId, ms]);
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
  order: Pick<LedgerOrder, "facilityId" | "subject">,
  surface: Surface,
): Promise<ReadonlySet<number>> {
  const values = [order.facilityId, surface, order.subject.code.reveal()];
  const rows = await run<{ linked: number | null; former_ids: number[] }>(pool, LINKED, values);
  return new Set(
    rows.flatMap(({ linked, former_ids }) => [...(linked === null ? [] : [linked]), ...former_ids]),
  );
}

/** When the ledger's newest call left, and what its marks begin with. */
export async function findLastCall(
  pool: pg.Pool,
): Promise<{ readonly at: Date; readonly markPrefix: string }> {
  const [row] = await run<{ at: Date; mark_prefix: string }>(pool, LAST_CALL);
  if (!row) throw new RangeError("the ledger has no identity; its migrations did not run");
  return { at: row.at, markPrefix: row.mark_prefix };
}
