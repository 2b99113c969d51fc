import type pg from "pg";
import type { Phi } from "../core/phi.ts";
import { run } from "./database.ts";

/** An order that moves, moved or may move containers of a subject, or registers it. */
export interface SubjectOrder {
  readonly orderId: number;
  readonly placerOrderNumber: string | undefined;
  /** The service doesn't have it yet, as far as is known. */
  readonly isUnsent: boolean;
}

/** Orders of a subject that had, or may come to, an effect; $1 facility id, $2 subject code. Index: orders_subject. */
const SUBJECT_ORDERS = `
select o.id, o.placer_order_number,
       o.state in ('received', 'queued', 'submitting', 'parked')
         and o.request_id is null
         and (o.surface is distinct from 'external' or o.procedure_id is null) as is_unsent
  from orders o
 where o.facility_id = $1
   and o.subject_code = $2
   and o.operation in ('STORE', 'RETRIEVAL', 'REGISTER')
   and o.state not in ('rejected', 'cancelled', 'failed', 'discarded')
 order by o.id`;

/** The orders of a subject at a facility, other than those that ended without effect, oldest first. */
export async function findSubjectOrders(
  pool: pg.Pool,
  facilityId: number,
  subjectCode: Phi,
): Promise<SubjectOrder[]> {
  const rows = await run<{ id: number; placer_order_number: string | null; is_unsent: boolean }>(
    pool,
    SUBJECT_ORDERS,
    [facilityId, subjectCode.reveal()],
  );
  return rows.map((row) => ({
    orderId: row.id,
    placerOrderNumber: row.placer_order_number ?? undefined,
    isUnsent: row.is_unsent,
  }));
}
