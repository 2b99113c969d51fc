import { type Queryable, run } from "./database.ts";

/** A fact about how the service behaves, as it was last seen. */
export interface StoredFinding {
  /** `envelope`, `pageCap`, `filter`, `fields`, `status`, `type` or `ids`. */
  readonly kind: string;
  /** The list's path. */
  readonly list: string;
  /** The filter's name; empty for other kinds. */
  readonly name: string;
  readonly value: string;
}

/** A fact that changed, so that an operator should know. */
export interface DriftedFinding extends StoredFinding {
  /** What was seen before; undefined when it was a departure from the start. */
  readonly before: string | undefined;
  readonly drifts: number;
  /** When it last changed. */
  readonly driftedAt: Date;
}

/** $1 service. A few dozen rows at most. */
const LIST_FINDINGS = `
select kind,
       list,
       name,
       value
  from service_findings
 where service = $1
 order by found_at, kind, list, name`;

/** Newest first; $1 service. */
const LIST_DRIFTED = `
select kind,
       list,
       name,
       value,
       before,
       drifts,
       drifted_at as "driftedAt"
  from service_findings
 where service = $1
   and drifts > 0
 order by drifted_at desc, kind, list, name`;

/** $1 service, $2 kind, $3 list, $4 name, $5 value, $6 before, $7 whether it is a drift. */
const RECORD_FINDING = `
insert into service_findings as f (service, kind, list, name, value, before, drifts, drifted_at)
values ($1, $2, $3, $4, $5, $6, case when $7 then 1 else 0 end, case when $7 then now() end)
on conflict (service, kind, list, name) do update
   set value = excluded.value,
       before = excluded.before,
       drifts = f.drifts + excluded.drifts,
       drifted_at = coalesce(excluded.drifted_at, f.drifted_at)`;

/** What is known of a service from earlier runs. */
export function listFindings(pool: Queryable, service: string): Promise<StoredFinding[]> {
  return run<StoredFinding>(pool, LIST_FINDINGS, [service]);
}

/** What of a service changed at any time, latest first. */
export async function listDrifted(pool: Queryable, service: string): Promise<DriftedFinding[]> {
  const rows = await run<DriftedFinding & { readonly before: string | null }>(pool, LIST_DRIFTED, [service]);
  return rows.map((row) => ({ ...row, before: row.before ?? undefined }));
}

/** Keeps a finding that is new or differs. */
export async function recordFinding(
  pool: Queryable,
  service: string,
  finding: StoredFinding & { readonly before: string | undefined; readonly isDrift: boolean },
): Promise<void> {
  const { kind, list, name, value, before, isDrift } = finding;
  await run(pool, RECORD_FINDING, [service, kind, list, name, value, before ?? null, isDrift]);
}
