import type pg from "pg";
import { encodeCrockfordNumber } from "../core/crockford.ts";
import { Failure } from "../core/failures.ts";
import { isRefillStatus, type Refill, type RefillFile, type ToldRefill } from "../core/refill.ts";
import { serviceTimeMs } from "../core/service-time.ts";
import { inTransaction } from "./database.ts";
import type { LedgerRefill } from "./refill-row.ts";
import type { RefillFacility } from "./refill-subscriptions.ts";

/** What happened to a refill. */
export interface RefillStep {
  readonly kind: "status" | "backward" | "unknown_status" | "missing" | "found" | "id_reused";
  readonly status?: string | undefined;
  /** Over before it was followed. */
  readonly isHistory: boolean;
  readonly isTold: boolean;
}

/** A refill as it is to be kept, and what happened to it. */
export interface RefillChange {
  /** As the ledger had it when the change was decided; undefined for a new one. */
  readonly known: LedgerRefill | undefined;
  /** The service gave the id of the known one to this other refill, which takes its place. */
  readonly isAnother?: boolean | undefined;
  readonly refill: Refill;
  readonly reached: number;
  readonly remoteStatus: string;
  readonly isMissing: boolean;
  readonly steps: readonly RefillStep[];
}

/** How the lab is told. */
export interface RefillTelling {
  readonly connector: string;
  /** Puts steps into files; `number` is the number of the next CSV file. Pure. */
  readonly compose: (told: readonly ToldRefill[], number: number) => readonly RefillFile[];
}

/** Parts of a refill that both statements below set, from a row x of the parameter. */
const RECORD = `jsonb_to_recordset($1::jsonb) as x(
         id bigint, known_status text, known_remote_status text, procedure_id bigint, code text, storage_id bigint,
         storage_name text, status text, reached smallint, remote_status text, created_at text, started_at text,
         completed_at text, created_time timestamptz, completed_time timestamptz, error text, is_missing boolean,
         has_news boolean, is_another boolean)`;

/**
 * What became of known refills; $1 JSON array, $2 facility, $3 its name. A row that another process has changed meanwhile
 * is left out. Index: the primary key.
 */
const UPDATE_REFILLS = `
update refills r
   set facility_id = case when x.is_another then $2 else r.facility_id end,
       facility_code = case when x.is_another then $3 else r.facility_code end,
       code = case when x.is_another then x.code else coalesce(x.code, r.code) end,
       storage_id = case when x.is_another then x.storage_id else coalesce(x.storage_id, r.storage_id) end,
       storage_name = case when x.is_another then x.storage_name else coalesce(x.storage_name, r.storage_name) end,
       status = x.status,
       reached = x.reached,
       remote_status = x.remote_status,
       created_at = coalesce(x.created_at, r.created_at),
       started_at = case when x.is_another then x.started_at else coalesce(x.started_at, r.started_at) end,
       completed_at = case when x.is_another then x.completed_at else coalesce(x.completed_at, r.completed_at) end,
       created_time = coalesce(x.created_time, r.created_time),
       completed_time = case when x.is_another then x.completed_time else coalesce(x.completed_time, r.completed_time) end,
       error = case when x.is_another then x.error else coalesce(x.error, r.error) end,
       first_seen_at = case when x.is_another then now() else r.first_seen_at end,
       changed_at = case when x.has_news then now() else r.changed_at end,
       looked_at = now(),
       missing_since = case when x.is_missing then coalesce(r.missing_since, now()) end
  from ${RECORD}
 where r.id = x.id
   and r.status = x.known_status
   and r.remote_status = x.known_remote_status
returning r.id, r.procedure_id`;

/** New refills; $1 JSON array, $2 facility, $3 its name, $4 surface. */
const INSERT_REFILLS = `
insert into refills (facility_id, facility_code, surface, procedure_id, code, storage_id, storage_name, status, reached,
                     remote_status, created_at, started_at, completed_at, created_time, completed_time, error)
select $2, $3, $4, x.procedure_id, x.code, x.storage_id, x.storage_name, x.status, x.reached,
       x.remote_status, x.created_at, x.started_at, x.completed_at, x.created_time, x.completed_time, x.error
  from ${RECORD}
on conflict (surface, procedure_id) do nothing
returning id, procedure_id`;

/** Numbers for steps, from the table's own series; $1 how many. */
const NEXT_NUMBERS = `
select nextval(pg_get_serial_sequence('refill_events', 'id')) as number
  from generate_series(1, $1::integer)`;

/** $1 JSON array of {id, refill_id, kind, status, is_history, delivery_id}. */
const INSERT_STEPS = `
insert into refill_events (id, refill_id, kind, status, is_history, delivery_id)
select x.id, x.refill_id, x.kind, x.status, x.is_history, x.delivery_id
  from jsonb_to_recordset($1::jsonb) as x(id bigint, refill_id bigint, kind text, status text, is_history boolean,
                                          delivery_id bigint)
 order by x.id`;

/** $1 facility, $2 text[] of statuses, one for each time that one was reached. */
const COUNT_STEPS = `
insert into refill_counts as c (facility_id, status, count)
select $1, x.status, count(*)
  from unnest($2::text[]) as x(status)
 group by x.status
on conflict (facility_id, status) do update set count = c.count + excluded.count`;

/**
 * The number of the next CSV file of refills; $1 connector. No dropped file can have the name that it is counted under. A
 * connector that tells for the first time counts on from the others: it may be one of them under a new name, whose lab has
 * had those numbers. Another facility may have its first time at this moment. Index: the primary key, but for such a first
 * time.
 */
const NEXT_FILE_NUMBER = `
with next as (
  update result_numbers
     set last_number = last_number + 1
   where connector = $1
     and input_name = '/refills'
  returning last_number),
first as (
  insert into result_numbers as n (connector, input_name, last_number)
  select $1, '/refills', coalesce(max(r.last_number), 0) + 1
    from result_numbers r
   where r.input_name = '/refills'
  having not exists (select 1 from next)
  on conflict (connector, input_name) do update set last_number = n.last_number + 1
  returning last_number)
select last_number from next
 union all
select last_number from first`;

/** $1 connector, $2 file name, $3 bytes. */
const INSERT_DELIVERY = `
insert into deliveries (connector, file_name, bytes)
values ($1, $2, $3)
returning id`;

/**
 * Keeps what became of a facility's refills, what happened, and the files that tell the lab, in one transaction: a step
 * is told exactly where it is recorded.
 *
 * @throws Failure LEDGER_CONTENDED when another process has recorded one of them meanwhile; nothing is kept then.
 */
export async function recordRefills(
  pool: pg.Pool,
  facility: RefillFacility,
  changes: readonly RefillChange[],
  telling: RefillTelling | undefined,
): Promise<void> {
  if (changes.length === 0) return;
  await inTransaction(pool, async (client) => {
    const ledgerIdByProcedure = await keepRefills(client, facility, changes);
    const steps = changes.flatMap(({ refill, steps: each }) => each.map((step) => ({ refill, step })));
    if (steps.length === 0) return;
    const { rows: numbers } = await client.query<{ number: number }>(NEXT_NUMBERS, [steps.length]);
    const numbered = steps.map((each, index) => ({ ...each, number: numbers[index]?.number ?? 0 }));
    const deliveryIdByNumber = telling
      ? await keepFiles(client, facility, numbered, telling)
      : new Map<number, number>();
    const rows = numbered.map(({ refill, step, number }) => ({
      id: number,
      refill_id: ledgerIdByProcedure.get(refill.id),
      kind: step.kind,
      status: step.status,
      is_history: step.isHistory,
      delivery_id: deliveryIdByNumber.get(number),
    }));
    await client.query(INSERT_STEPS, [JSON.stringify(rows)]);
    const reached = numbered.flatMap(({ step: { kind, isHistory, status } }) =>
      kind === "status" && !isHistory && status !== undefined
        ? [isRefillStatus(status) ? status : "OTHER"]
        : [],
    );
    if (reached.length > 0) await client.query(COUNT_STEPS, [facility.facilityId, reached]);
  });
}

async function keepRefills(
  client: pg.PoolClient,
  { facilityId, facilityCode, surface }: RefillFacility,
  changes: readonly RefillChange[],
): Promise<ReadonlyMap<number, number>> {
  type Kept = { id: number; procedure_id: number };
  const parameters = (some: readonly RefillChange[]) => JSON.stringify(some.map(toParameter));
  const updates = changes.filter(({ known }) => known !== undefined);
  const inserts = changes.filter(({ known }) => known === undefined);
  const updated =
    updates.length > 0
      ? await client.query<Kept>(UPDATE_REFILLS, [parameters(updates), facilityId, facilityCode])
      : { rows: [] };
  const insertion = [parameters(inserts), facilityId, facilityCode, surface];
  const inserted = inserts.length > 0 ? await client.query<Kept>(INSERT_REFILLS, insertion) : { rows: [] };
  const kept = [...updated.rows, ...inserted.rows];
  if (kept.length !== changes.length)
    throw new Failure("LEDGER_CONTENDED", "another process has recorded the same refills at this moment");
  return new Map(kept.map((row) => [row.procedure_id, row.id]));
}

/** Composes the files of the steps that are told; gives the delivery of each by its number. */
async function keepFiles(
  client: pg.PoolClient,
  { facilityCode }: RefillFacility,
  steps: readonly { readonly refill: Refill; readonly step: RefillStep; readonly number: number }[],
  { connector, compose }: RefillTelling,
): Promise<ReadonlyMap<number, number>> {
  const toTell = steps.filter(({ step }) => step.isTold);
  const deliveryIdByNumber = new Map<number, number>();
  if (toTell.length === 0) return deliveryIdByNumber;
  const { rows } = await client.query<{ instance_code: string; at: Date }>(
    "select instance_code, now() as at from ledger",
  );
  const told = toTell.map(({ refill, step, number }): ToldRefill => {
    return {
      facilityCode,
      refill: { ...refill, status: step.status ?? refill.status },
      number,
      controlId: `CR${rows[0]?.instance_code}${encodeCrockfordNumber(number).padStart(8, "0")}`,
      occurredAt: rows[0]?.at ?? new Date(0),
    };
  });
  const taken = await client.query<{ last_number: number }>(NEXT_FILE_NUMBER, [connector]);
  for (const { fileName, bytes, numbers } of compose(told, taken.rows[0]?.last_number ?? 1)) {
    const inserted = await client.query<{ id: number }>(INSERT_DELIVERY, [connector, fileName, bytes]);
    for (const number of numbers) deliveryIdByNumber.set(number, inserted.rows[0]?.id ?? 0);
  }
  return deliveryIdByNumber;
}

function toParameter(change: RefillChange) {
  const { known, refill, reached, remoteStatus, isMissing, steps } = change;
  const timeOf = (text: string | undefined) => {
    const ms = serviceTimeMs(text);
    return ms === undefined ? undefined : new Date(ms).toISOString();
  };
  return {
    id: known?.ledgerId,
    known_status: known?.refill.status,
    known_remote_status: known?.remoteStatus,
    procedure_id: refill.id,
    code: refill.code,
    storage_id: refill.storageId,
    storage_name: refill.storageName,
    status: refill.status,
    reached,
    remote_status: remoteStatus,
    created_at: refill.createdAt,
    started_at: refill.startedAt,
    completed_at: refill.completedAt,
    created_time: timeOf(refill.createdAt),
    completed_time: timeOf(refill.completedAt),
    error: refill.error,
    is_missing: isMissing,
    has_news: steps.length > 0,
    is_another: change.isAnother ?? false,
  };
}
