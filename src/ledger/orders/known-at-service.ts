import type pg from "pg";
import type { Phi } from "../../core/phi.ts";
import type { Surface } from "../../core/surface.ts";
import { run } from "../database.ts";
import { nameOrder } from "../ids.ts";

/** Other orders that hold these requests; $1 request ids, $2 order id. Index: orders_request. */
const CLAIMED_REQUESTS = `
select request_id as claimed, id, placer_order_number
  from orders
 where request_id = any ($1)
   and id <> $2`;

/** Other orders that hold these procedures of the external surface; $1 procedure ids, $2 order id. Index: orders_procedure. */
const CLAIMED_PROCEDURES = `
select procedure_id as claimed, id, placer_order_number
  from orders
 where procedure_id = any ($1)
   and request_id is null
   and id <> $2`;

/**
 * Which of these requests, or procedures on the external surface, belong to other orders already; with the name of the
 * order that has each, such as `order P-1001`.
 */
export async function findClaimed(
  pool: pg.Pool,
  surface: Surface,
  ids: readonly number[],
  orderId: number,
): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map();
  const query = surface === "request" ? CLAIMED_REQUESTS : CLAIMED_PROCEDURES;
  const rows = await run<{ claimed: number; id: number; placer_order_number: string | null }>(pool, query, [
    ids,
    orderId,
  ]);
  return new Map(rows.map((row) => [row.claimed, nameOrder(row.placer_order_number)]));
}

/** What is at the service of orders of a subject by now, or was; $1 facility id, $2 surface, $3 subject code. Indexes: orders_subject, calls_order. */
const LINKED = `
select k.service_id as id
  from orders o
  join calls k on k.order_id = o.id
 where o.subject_code = $3
   and o.facility_id = $1
   and k.kind = 'request'
   and k.surface = $2
   and k.service_id is not null
 union
select coalesce(o.request_id, o.procedure_id)
  from orders o
 where o.subject_code = $3
   and o.facility_id = $1
   and case when $2 = 'request' then o.request_id is not null else o.request_id is null and o.procedure_id is not null end`;

/** The requests, or procedures of the external surface, that the orders of a subject have or had. */
export async function findLinkedOf(
  pool: pg.Pool,
  order: { readonly facilityId: number; readonly subject: { readonly code: Phi } },
  surface: Surface,
): Promise<ReadonlySet<number>> {
  const values = [order.facilityId, surface, order.subject.code.reveal()];
  return new Set((await run<{ id: number }>(pool, LINKED, values)).map(({ id }) => id));
}

/** $1 marks. Indexes: orders_mark, calls_mark. */
const KNOWN_MARKS = `
select o.mark, o.id
  from orders o
 where o.mark = any ($1)
 union
select k.mark, k.order_id
  from calls k
 where k.mark = any ($1)`;

/** Those of the marks that an order of the ledger has, or had in a call, with the order. */
export async function findKnownMarks(
  pool: pg.Pool,
  marks: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (marks.length === 0) return new Map();
  const rows = await run<{ id: number; mark: string }>(pool, KNOWN_MARKS, [marks]);
  return new Map(rows.map(({ id, mark }) => [mark, id]));
}
