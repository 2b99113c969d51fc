import type pg from "pg";
import { type Phi, phi } from "../../core/phi.ts";
import type { Surface } from "../../core/surface.ts";
import { run } from "../database.ts";
import { formatId } from "../ids.ts";
import { findLinkedOf } from "../orders/known-at-service.ts";

/** When the ledger's newest call left. Index: the primary key of calls. */
const LAST_CALL = `
select coalesce((select k.at
                   from calls k
                  where k.kind = 'request'
                    and not k.is_presumed
                  order by k.id desc
                  limit 1),
                l.created_at) as at
  from ledger l`;

/** `Date` headers, by which the service's clock is known, have whole seconds. */
const DATE_STEP = "interval '2 seconds'";

/**
 * Marks at the service that no call which the ledger knows of has brought there: of this ledger and no order's, or of an order
 * for which it knows neither a call nor a request; $1 JSON array of {id, mark, made_at}. What was there when a restore was
 * noticed proves no other one. Indexes: orders_mark, calls_mark.
 */
const MARKS_WITHOUT_CALL = `
select x.id as made, x.mark
  from jsonb_to_recordset($1::jsonb) as x(id bigint, mark text, made_at timestamptz)
 cross join ledger l
  left join orders o on o.mark = x.mark
 where not exists (
         select 1
           from calls k
          where k.mark = x.mark
            and k.kind = 'request'
            and (not k.is_presumed or k.outcome = 'made'))
   and case
         when o.id is null then x.mark like l.mark_prefix || '-%'
         else o.request_id is null
              and o.procedure_id is null
              and (l.restored_at is null or x.made_at > l.restored_at + ${DATE_STEP})
       end
 limit 1`;

/**
 * Orders for which the ledger knows no call, though the service made something for their subject since they came, and no
 * other order's call could have made it; $1 facility id, $2 JSON array of {id, subject, operation, made_at}. What was there when
 * a restore was noticed proves no other one. Indexes: orders_lane, orders_subject, calls_order.
 */
const ORDERS_WITHOUT_CALL = `
select x.id as made, o.id as order_id, o.subject_code
  from jsonb_to_recordset($2::jsonb) as x(id bigint, subject text, operation text, made_at timestamptz)
 cross join ledger l
  join orders o on o.facility_id = $1 and o.subject_code = x.subject
 where o.state in ('received', 'submitting')
   and o.operation = x.operation
   and o.request_id is null
   and o.procedure_id is null
   and x.made_at > greatest(o.received_at, l.restored_at + ${DATE_STEP})
   and not exists (
     select 1
       from orders e
       join calls k on k.order_id = e.id
      where e.subject_code = o.subject_code
        and e.facility_id = o.facility_id
        and e.operation = o.operation
        and k.kind = 'request'
        and not k.is_presumed
        and (e.id = o.id or (e.request_id is null and e.procedure_id is null)))
 order by x.id, o.id`;

/** When the ledger's newest call left. */
export async function findLastCall(pool: pg.Pool): Promise<Date> {
  const [row] = await run<{ at: Date }>(pool, LAST_CALL);
  if (!row) throw new RangeError("the ledger has no identity; its migrations did not run");
  return row.at;
}

/** Something at the service. */
interface MadeThere {
  readonly id: number;
  readonly subjectCode: Phi | undefined;
  readonly type: "STORE" | "RETRIEVAL" | undefined;
  readonly madeAt: Date | undefined;
  readonly marks: readonly string[];
}

/** What the service has by a call that the ledger doesn't know of, and how that is seen, for people. */
interface WithoutCall {
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
