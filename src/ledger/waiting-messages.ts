import type pg from "pg";
import { run } from "./database.ts";

/** What waiting messages wait for: a code of a facility or an operation, or an earlier message of the same subject. */
export type WaitingKind = "facility" | "operation" | "earlier";

/** Messages of one connector that wait for the same. A message with two unknown codes is counted with each. */
export interface WaitingCode {
  readonly kind: WaitingKind;
  /** The code that no table knows; undefined for those that wait behind an earlier message. */
  readonly code: string | undefined;
  readonly connector: string;
  readonly messages: number;
  readonly since: Date;
}

/** By code, oldest first. Index: messages_waiting. */
const WAITING_CODES = `
select case p.problem ->> 'code'
         when 'MAPPING_FACILITY_UNKNOWN' then 'facility'
         when 'MAPPING_OPERATION_UNKNOWN' then 'operation'
         else 'earlier'
       end as kind,
       p.problem ->> 'unknownCode' as code,
       m.connector,
       count(distinct m.id)::integer as messages,
       min(m.received_at) as since
  from messages m
 cross join lateral jsonb_array_elements(m.problems) as p(problem)
 where m.verdict = 'waiting'
 group by 1, 2, 3
 order by since, kind, code, connector`;

/** What messages wait for, by code and connector. */
export async function listWaitingCodes(pool: pg.Pool): Promise<WaitingCode[]> {
  const rows = await run<{
    kind: WaitingKind;
    code: string | null;
    connector: string;
    messages: number;
    since: Date;
  }>(pool, WAITING_CODES);
  return rows.map((row) => ({ ...row, code: row.code ?? undefined }));
}
