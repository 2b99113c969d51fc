import type pg from "pg";
import type { Phi } from "../../core/phi.ts";
import { list } from "../database.ts";

/**
 * The identifiers that were merged into these, also by way of others; $1 text[] subject codes. One that a person
 * discarded was none. Index: orders_subject.
 */
const FORMER_CODES = `
with recursive former (code, facility_id, prior) as (
       select o.subject_code, o.facility_id, o.prior_subject_code
         from orders o
        where o.subject_code = any ($1)
          and o.operation = 'MERGE'
          and o.state <> 'discarded'
        union
       select f.code, f.facility_id, o.prior_subject_code
         from former f
         join orders o on o.subject_code = f.prior
                      and o.facility_id = f.facility_id
        where o.operation = 'MERGE'
          and o.state <> 'discarded')
select f.code, f.facility_id, f.prior
  from former f`;

/** Whose identifiers the lab has merged. */
export interface SubjectMerges {
  /**
   * Whether the lab has reported that the subject of an order goes by this code at its facility from now on. What the service
   * made of the merge doesn't matter: the lab knows the subject under no other code.
   */
  hasMerged(order: { readonly facility_id: number; readonly subject_code: string }, into: string): boolean;
}

/** The merges into these subject codes; asks nothing when there are none. */
export async function findMerges(client: pg.PoolClient, codes: readonly string[]): Promise<SubjectMerges> {
  if (codes.length === 0) return { hasMerged: () => false };
  const { rows } = await client.query<{ code: string; facility_id: number; prior: string }>(FORMER_CODES, [
    [...new Set(codes)],
  ]);
  return {
    hasMerged: ({ facility_id, subject_code }, into) =>
      rows.some((row) => row.code === into && row.prior === subject_code && row.facility_id === facility_id),
  };
}

/** An order that moves, moved or may move containers of a subject, or registers it. */
export interface SubjectOrder {
  readonly orderId: number;
  readonly placerOrderNumber: string | undefined;
  /** The service doesn't have it yet, as far as is known. */
  readonly isUnsent: boolean;
}

/** Orders of a subject that had, or may come to, an effect; $1 facility id, $2 subject code. Index: orders_subject. */
const SUBJECT_ORDERS = `
select o.id as "orderId", o.placer_order_number as "placerOrderNumber",
       o.state in ('received', 'submitting', 'parked')
         and o.request_id is null
         and o.procedure_id is null as "isUnsent"
  from orders o
 where o.facility_id = $1
   and o.subject_code = $2
   and o.operation in ('STORE', 'RETRIEVAL', 'REGISTER')
   and o.state not in ('rejected', 'cancelled', 'failed', 'discarded')
 order by o.id`;

/** The orders of a subject at a facility, other than those that ended without effect, oldest first. */
export function findSubjectOrders(
  pool: pg.Pool,
  facilityId: number,
  subjectCode: Phi,
): Promise<SubjectOrder[]> {
  return list<SubjectOrder>(pool, SUBJECT_ORDERS, [facilityId, subjectCode.reveal()]);
}
